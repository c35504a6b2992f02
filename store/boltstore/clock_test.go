package boltstore

import (
	"errors"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// TestClock follows a store through days, hour by hour.
func TestClock(t *testing.T) {
	type hour struct {
		at      int  // of the clock
		expires bool // whether what is old enough goes
	}
	for name, c := range map[string]struct {
		hours   []hour
		deliver bool // something, at each hour after the first, before Expire is called
	}{
		"day after day":              {hours: []hour{{0, true}, {24, true}, {47, true}, {90, true}, {130, true}}, deliver: true},
		"idle, but expired each day": {hours: []hour{{0, true}, {24, true}, {48, true}, {72, true}, {96, true}}},
		"a leap":                     {hours: []hour{{0, true}, {1000, false}, {1001, false}, {1047, false}, {1048, true}}},
		"a leap, and deliveries":     {hours: []hour{{0, true}, {1000, false}, {1001, false}, {1047, false}, {1048, true}}, deliver: true},
		"a leap and a further one":   {hours: []hour{{0, true}, {1000, false}, {9000, false}, {9001, false}, {9048, true}}},
		"a leap that is set right":   {hours: []hour{{0, true}, {1000, false}, {2, true}, {3, true}}, deliver: true},
		"one that goes back":         {hours: []hour{{0, true}, {-100, true}, {-99, true}}, deliver: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t)
			begin := time.Now()
			for n, h := range c.hours {
				now := begin.Add(time.Duration(h.at) * time.Hour)
				check(t, s.submit(t.Context(), &op{})) // the writer rests
				s.clock = func() time.Time { return now }
				old := claim(n)
				old.Now.State, old.Now.ExpiresAt = store.Completed, begin.Add(-1000*time.Hour)
				if n == 0 || c.deliver {
					mustApply(t, s, old)
				}
				gone, err := s.Expire(t.Context(), now, 10)
				if held := errors.Is(err, store.ErrClock); held == h.expires || !held && err != nil {
					t.Errorf("hour %d: %d gone, %v; want it to work: %t", h.at, gone, err, h.expires)
				}
				if (n == 0 || c.deliver) && (stands(t, s, n) == 0) != h.expires {
					t.Errorf("hour %d: gone: %t", h.at, stands(t, s, n) == 0)
				}
			}
		})
	}
}
