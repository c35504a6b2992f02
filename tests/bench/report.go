//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// goal is what a row is to reach. Zero values are none.
type goal struct {
	least, aim float64
	atMost     bool // less is better
}

func (g goal) mark(v float64) string {
	reached := func(limit float64) bool { return g.atMost && v <= limit || !g.atMost && v >= limit }
	switch {
	case g.least == 0:
		return ""
	case reached(g.aim):
		return "**aim**"
	case reached(g.least):
		return "reached"
	}
	return "**MISSED**"
}

func (g goal) column(v float64) string {
	switch {
	case g.least == 0:
		return ""
	case g.atMost:
		return "≤ " + number(v)
	}
	return "≥ " + number(v)
}

// row is one line of the report's first table.
type row struct {
	what, unit string
	goal       goal
	values     []float64 // of the rounds
	disturbed  int       // of them
	worst      bool      // the largest of the values counts, not the one in the middle
	remark     string
}

// detail is one line of the second: a variant that took turns.
type detail struct {
	what  string
	turns []turn
}

type report struct {
	facts   []string
	rows    []row
	details []detail
	others  []detail // the other stores
	faults  []string
}

func (r *report) fault(part string, err error) {
	r.faults = append(r.faults, fmt.Sprintf("%s: %v", part, err))
}

func (r *report) write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Benchmark of n8n-gate\n\n")
	for _, fact := range r.facts {
		b.WriteString("- " + fact + "\n")
	}
	for _, fault := range r.faults {
		b.WriteString("- **not measured**: " + cellText(fault) + "\n")
	}
	if len(r.rows) > 0 {
		b.WriteString("\n| what | unit | at least | aim | measured | | rounds | spread | |\n|---|---|---|---|---|---|---|---|---|\n")
	}
	for _, row := range r.rows {
		v := row.value()
		remark := row.remark
		if row.disturbed > 0 {
			remark = strings.TrimPrefix(remark+fmt.Sprintf("; %d of %d rounds disturbed: the machine never got quiet", row.disturbed, len(row.values)), "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d | %s | %s |\n", row.what, row.unit,
			row.goal.column(row.goal.least), row.goal.column(row.goal.aim), number(v), row.goal.mark(v), len(row.values), spread(row.values), cellText(remark))
	}
	writeDetails(&b, "Turns", r.details)
	writeDetails(&b, "Other stores, the same work; all begin empty", r.others)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeDetails(b *strings.Builder, title string, details []detail) {
	if len(details) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| variant | per second | spread | p50 ms | p99 ms | longest ms | CPU µs | bytes written | other load |\n|---|---|---|---|---|---|---|---|---|\n", title)
	for _, d := range details {
		column := func(f func(turn) float64) float64 { return median(collect(d.turns, f)) }
		rates := collect(d.turns, func(t turn) float64 { return t.PerSecond() })
		fmt.Fprintf(b, "| %s | %.0f | %s | %s | %s | %s | %s | %s | %.0f %% |\n", d.what, median(rates), spread(rates),
			number(column(func(t turn) float64 { return t.Delivery.P50 })), number(column(func(t turn) float64 { return t.Delivery.P99 })),
			number(column(func(t turn) float64 { return t.Delivery.Max })), known(column(func(t turn) float64 { return t.cpu })),
			known(column(turn.bytes)), 100*slices.Max(collect(d.turns, func(t turn) float64 { return t.others })))
	}
}

// value is the row's one number.
func (r row) value() float64 {
	if r.worst && len(r.values) > 0 {
		return slices.Max(r.values)
	}
	return median(r.values)
}

func median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	vs = slices.Sorted(slices.Values(vs))
	if n := len(vs); n%2 == 0 {
		return (vs[n/2-1] + vs[n/2]) / 2
	}
	return vs[len(vs)/2]
}

func spread(vs []float64) string {
	if len(vs) == 0 {
		return ""
	}
	return number(slices.Min(vs)) + " – " + number(slices.Max(vs))
}

func collect[T any](from []T, f func(T) float64) []float64 {
	vs := make([]float64, len(from))
	for i, v := range from {
		vs[i] = f(v)
	}
	return vs
}

// number prints three digits that mean something.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0:
		return "-" + number(-v)
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// known leaves out what was not measured.
func known(v float64) string {
	if v == 0 {
		return "–"
	}
	return number(v)
}

// cellText keeps a text within its cell.
func cellText(s string) string {
	return strings.NewReplacer("\n", " ", "|", "\\|").Replace(s)
}
