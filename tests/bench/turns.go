//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// tooBusy is the share of the machine that others may use during a turn. Above it the
// turn is void: under foreign load every p99 rises tenfold.
const tooBusy = 0.12

// maxVoid bounds how often one turn is repeated.
const maxVoid = 5

// turn is what one variant did in one round.
type turn struct {
	work.Measured
	cpu    float64 // microseconds of the measured process for each delivery
	others float64 // share of the machine that others used
}

func (t turn) disturbed() bool { return t.others > tooBusy }

// bytes that were written for each delivery.
func (t turn) bytes() float64 {
	if t.Deliveries == 0 {
		return 0
	}
	return float64(t.Written) / float64(t.Deliveries)
}

// variant takes part in a comparison.
type variant struct {
	name string
	take func() (work.Measured, error)
	pid  int // whose CPU time counts; 0: nobody's
}

// turns has the variants take turns, round by round, and returns the turns of each.
func (b *bench) turns(variants []variant) ([][]turn, error) {
	taken := make([][]turn, len(variants))
	for round := range b.rounds {
		for i, v := range variants {
			t, err := b.turn(v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
			say("round %d: %-42s %8.0f/s  p50 %.2f ms  others %.0f %%", round+1, v.name, t.PerSecond(), t.Delivery.P50, 100*t.others)
			taken[i] = append(taken[i], t)
		}
	}
	return taken, nil
}

// turn lets v take one, again if it was void, as long as there is patience. The last
// one counts, disturbed or not: the report says which it was.
func (b *bench) turn(v variant) (turn, error) {
	for try := 1; ; try++ {
		b.awaitQuiet()
		if err := b.ctx.Err(); err != nil {
			return turn{}, err
		}
		begin := time.Now()
		before, cpu := machineNow(), cpuOf(v.pid)
		m, err := v.take()
		if err == nil && m.Err != "" {
			err = fmt.Errorf("%s", m.Err)
		}
		if err != nil {
			return turn{}, err
		}
		t := turn{Measured: m, others: machineNow().othersSince(before)}
		if m.Deliveries > 0 {
			t.cpu = float64((cpuOf(v.pid) - cpu).Microseconds()) / float64(m.Deliveries)
		}
		if !t.disturbed() || b.patience <= 0 || try == maxVoid {
			return t, nil
		}
		say("void: %s, others used %.0f %% of the machine", v.name, 100*t.others)
		b.patience -= time.Since(begin)
	}
}

// glance is how long one look at the machine takes.
const glance = 200 * time.Millisecond

// awaitQuiet waits until the others let the machine be, its processors and its disk.
func (b *bench) awaitQuiet() {
	for b.patience > 0 && b.ctx.Err() == nil {
		begin := time.Now()
		before := machineNow()
		time.Sleep(glance)
		if machineNow().othersSince(before) <= tooBusy && !b.diskIsBusy() {
			return
		}
		b.patience -= time.Since(begin)
	}
}

// compare is a row of ratios: of the rounds of one variant over those of another.
func compare(what string, g goal, of, over []turn, remark string) row {
	r := row{what: what, unit: "ratio", goal: g, remark: remark}
	for i := range of {
		if rate := over[i].PerSecond(); rate > 0 {
			r.values = append(r.values, of[i].PerSecond()/rate)
		}
		if of[i].disturbed() || over[i].disturbed() {
			r.disturbed++
		}
	}
	return r
}

// disturbed counts the turns that were.
func disturbed(turns []turn) (n int) {
	for _, t := range turns {
		if t.disturbed() {
			n++
		}
	}
	return n
}
