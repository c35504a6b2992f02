//go:build linux

package main

import (
	"fmt"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

const (
	many   = 64 // clients
	little = 10_000
)

// storeRows measure the store alone: claim and receipt, 64 clients.
func (b *bench) storeRows() error {
	var running []*process
	defer func() {
		for _, p := range running {
			_ = p.stop()
		}
	}()
	open := func(kind string, path string, err error) (*process, error) {
		if err != nil {
			return nil, err
		}
		p, err := b.child(kind, path)
		if err != nil {
			return nil, err
		}
		running = append(running, p)
		return p, p.ready()
	}
	copied := func(kind string, records int) (string, error) {
		filled, err := b.filled(kind, records)
		if err != nil {
			return "", err
		}
		return b.copyOf(filled, fmt.Sprintf("%s-%d.db", kind, records))
	}
	deliver := work.Command{Clients: many, Lasts: b.lasts}
	var variants []variant
	for _, v := range []struct {
		kind    string
		records int
		path    func() (string, error)
	}{
		{"store", b.records, func() (string, error) { return copied("store", b.records) }},
		{"store", b.large, b.largeCopy},
		{"plain", b.records, func() (string, error) { return copied("plain", b.records) }},
	} {
		path, err := v.path()
		p, err := open(v.kind, path, err)
		if err != nil {
			return err
		}
		variants = append(variants, variant{
			name: fmt.Sprintf("%s, %s records", v.kind, thousands(v.records)), pid: p.pid(),
			take: func() (work.Measured, error) { return p.ask(deliver) },
		})
	}
	// A small store grows while it is measured: each turn gets a new one.
	variants = append(variants, variant{
		name: fmt.Sprintf("store, %s records", thousands(little)),
		take: func() (work.Measured, error) {
			path, err := copied("store", little)
			p, err := open("store", path, err)
			if err != nil {
				return work.Measured{}, err
			}
			m, err := p.ask(deliver)
			_ = p.stop()
			return m, err
		},
	})
	taken, err := b.turns(variants)
	if err != nil {
		return err
	}
	store, large, plain, small := taken[0], taken[1], taken[2], taken[3]
	add := func(rows ...row) { b.report.rows = append(b.report.rows, rows...) }
	add(compare("store alone, claim + receipt, against one `db.Update` each", goal{least: 7, aim: 12}, store, plain,
		"both with "+thousands(b.records)+" records"))
	add(compare("store at "+thousands(b.records)+" records against "+thousands(little), goal{least: 0.85, aim: 0.95}, store, small, ""))
	add(compare("store at "+thousands(b.large)+" records against "+thousands(little), goal{least: 0.85, aim: 0.95}, large, small, ""))
	add(row{
		what: "bytes written per delivery at " + thousands(b.records) + " records", unit: "KB",
		goal:   goal{least: 5, aim: 3, atMost: true},
		values: collect(store, func(t turn) float64 { return t.bytes() / 1000 }), disturbed: disturbed(store),
		remark: fmt.Sprintf("at %s: %s KB", thousands(b.large), number(median(collect(large, func(t turn) float64 { return t.bytes() / 1000 })))),
	})
	for i, v := range variants {
		b.report.details = append(b.report.details, detail{v.name + ", 64 clients", taken[i]})
	}
	return nil
}

// thousands prints n for people.
func thousands(n int) string {
	switch {
	case n%1_000_000 == 0:
		return fmt.Sprintf("%d million", n/1_000_000)
	case n >= 1000:
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return fmt.Sprint(n)
}
