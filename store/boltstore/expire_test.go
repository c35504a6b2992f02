package boltstore

import (
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// TestLastDay: a claim is planned for as long as it would be kept if it were
// settled now, and one day for settling it.
func TestLastDay(t *testing.T) {
	const date = 24 * time.Hour
	now := time.Unix(0, 0).UTC().Add(20_000*date + 23*time.Hour)
	for name, c := range map[string]struct {
		r    store.Record
		want uint16
	}{
		"claim":                      {store.Record{State: store.Processing, Retention: 30 * date}, 20_031},
		"claim, over midnight":       {store.Record{State: store.Processing, Retention: 2 * time.Hour}, 20_002},
		"claim, kept for no time":    {store.Record{State: store.Processing}, 20_001},
		"claim, of a time before":    {store.Record{State: store.Ambiguous, Retention: -1000 * date}, 20_001},
		"completed":                  {store.Record{State: store.Completed, ExpiresAt: now.Add(-5 * date)}, 19_996},
		"completed, never expires":   {store.Record{State: store.Completed}, never},
		"completed, before 1970":     {store.Record{State: store.Completed, ExpiresAt: time.Unix(-1e9, 0)}, 1},
		"completed, in other worlds": {store.Record{State: store.Completed, ExpiresAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, never - 1},
	} {
		if got := lastDay(c.r, now); got != c.want {
			t.Errorf("%s: day %d, want %d", name, got, c.want)
		}
	}
}

// TestExpireIsBounded: each commit takes so many records, and what cannot go does
// not keep the rest from it, nor Expire from ending.
func TestExpireIsBounded(t *testing.T) {
	const unsettled, gone = 2*expireChunk + 7, expireChunk + 9
	s := opened(t)
	var cs []store.Change
	for n := range unsettled + gone {
		c := claim(n)
		c.Now.Retention = -1000 * time.Hour
		if n >= unsettled {
			c.Now.State, c.Now.ExpiresAt = store.Completed, time.Now().Add(-72*time.Hour)
		}
		cs = append(cs, c)
	}
	mustApply(t, s, cs...)
	check(t, s.submit(t.Context(), &op{run: func(b *batch) error {
		for n := range unsettled {
			r, err := b.record(claim(n).Now.ID)
			if err != nil {
				return err
			}
			b.carry(r, r.Record, 1)
		}
		return nil
	}}))
	h := halt(s)
	done := make(chan int)
	go func() {
		n, err := s.Expire(t.Context(), time.Now(), gone)
		if err != nil {
			t.Errorf("Expire: %v", err)
		}
		done <- n
	}()
	for {
		select {
		case <-h.begun:
			h.release <- struct{}{}
			continue
		case n := <-done:
			if n != gone {
				t.Errorf("%d records are gone, want %d", n, gone)
			}
		}
		break
	}
	if least := (unsettled + gone) / expireChunk; h.commits < least {
		t.Errorf("%d commits, want %d at least", h.commits, least)
	}
	go func() {
		n, err := s.Expire(t.Context(), time.Now(), 10)
		if n != 0 || err != nil {
			t.Errorf("nothing is left to expire, and got %d, %v", n, err)
		}
		done <- n
	}()
	for {
		select {
		case <-h.begun:
			h.release <- struct{}{}
			continue
		case <-done:
		}
		break
	}
	for _, n := range []int{0, unsettled - 1} {
		if stands(t, s, n) == 0 {
			t.Errorf("record %d, which is not completed, is gone", n)
		}
	}
}
