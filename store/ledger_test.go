package store_test

import (
	"fmt"
	"sync"
	"testing"

	. "github.com/n8n-gate/n8n-gate/store"
)

// woken looks without waiting.
func woken(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	default:
		return false
	}
}

func TestLedgerWakesAtTheChange(t *testing.T) {
	type outcome = func(commit func() ([]Record, error)) ([]Record, error)
	failing := func(err error) outcome {
		return func(func() ([]Record, error)) ([]Record, error) { return nil, err }
	}
	for _, tc := range []struct {
		name    string
		outcome outcome
		gone    bool // the change deletes the record
		was     uint64
		wakes   bool
		told    int // observe calls
	}{
		{name: "stored", wakes: true, told: 2},
		{name: "deleted", gone: true, wakes: true, told: 2},
		{name: "unknown: may have changed", outcome: failing(fmt.Errorf("%w: fsync", ErrUnknown)), wakes: true},
		{name: "not stored", outcome: failing(ErrNotStored)},
		{name: "conflict", was: 99},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMemory()
			a := m.put(t, processing(t, "a", "one"))
			b := m.put(t, processing(t, "b", "two"))
			type observed struct {
				ID
				Move
			}
			var told []observed
			l := NewLedger(m, func(id ID, move Move) { told = append(told, observed{id, move}) })

			arrived, goOn := make(chan struct{}), make(chan struct{})
			m.script = []outcome{func(commit func() ([]Record, error)) ([]Record, error) {
				close(arrived)
				<-goOn
				if tc.outcome != nil {
					return tc.outcome(commit)
				}
				return commit()
			}}
			first, stopFirst := l.Watch(a.ID)
			second, stopSecond := l.Watch(a.ID)
			third, stopThird := l.Watch(b.ID)
			other, stopOther := l.Watch(named("other"))

			changes := []Change{{Was: a.Version + tc.was, Now: moved(t, a, tc.gone)}, {Was: b.Version, Now: moved(t, b, false)}}
			done := make(chan error)
			go func() {
				_, err := l.Apply(t.Context(), changes...)
				done <- err
			}()
			<-arrived
			if woken(first) || woken(second) || woken(third) || len(told) > 0 {
				t.Error("woken before it was stored")
			}
			close(goOn)
			if err := <-done; (err == nil) != (tc.told > 0) {
				t.Errorf("error %v", err)
			}
			if woken(first) != tc.wakes || woken(second) != tc.wakes || woken(third) != tc.wakes {
				t.Errorf("woken %v, %v, %v; want %v", woken(first), woken(second), woken(third), tc.wakes)
			}
			if woken(other) {
				t.Error("woken by a change of another record")
			}
			if len(told) != tc.told {
				t.Errorf("observed %d records, want %d", len(told), tc.told)
			}
			for i, r := range told {
				if r.ID != changes[i].Now.ID || r.From != Processing || r.To != changes[i].Now.State {
					t.Errorf("observed %v, %v -> %v", r.ID, r.From, r.To)
				}
			}
			for _, stop := range []func(){stopFirst, stopSecond, stopThird, stopOther} {
				stop()
			}
			if n := LedgerEntries(l); n != 0 {
				t.Errorf("%d entries left behind", n)
			}
		})
	}
}

// moved is a processing record after a move of its own: undone, or in doubt.
func moved(t *testing.T, r Record, gone bool) Record {
	t.Helper()
	next, err := Lapse(r, false, r.ClaimedAt)
	if gone {
		next, err = Undo(r, r.TokenHash, r.ClaimedAt)
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// A change without a move is none to count, however the record came about.
func TestLedgerObservesEachMoveOnce(t *testing.T) {
	m := newMemory()
	moves := 0
	l := NewLedger(m, func(ID, Move) { moves++ })
	stored, err := l.Apply(t.Context(), Change{Now: processing(t, "a", "one")})
	if err != nil || moves != 1 {
		t.Fatalf("%v, %d moves", err, moves)
	}
	stored[0].Aliases = append(stored[0].Aliases, Alias{AliasFingerprint, "x"})
	if _, err := l.Apply(t.Context(), Change{Was: stored[0].Version, Now: stored[0]}); err != nil || moves != 1 {
		t.Fatalf("%v, %d moves", err, moves)
	}
}

func TestLedgerWithoutObserver(t *testing.T) {
	m := newMemory()
	l := NewLedger(m, nil)
	changed, stop := l.Watch(named("a"))
	defer stop()
	if _, err := l.Apply(t.Context(), Change{Now: processing(t, "a", "one")}); err != nil || !woken(changed) {
		t.Errorf("%v, woken %v", err, woken(changed))
	}
}

func TestLedgerWatch(t *testing.T) {
	id := named("a")
	apply := func(t *testing.T, l *Ledger) {
		t.Helper()
		have, err := l.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Apply(t.Context(), Change{Was: have[0].Version, Now: processing(t, id.EventKey, "one")}); err != nil {
			t.Fatal(err)
		}
	}
	for name, run := range map[string]func(t *testing.T, l *Ledger){
		"one that stops takes no other along": func(t *testing.T, l *Ledger) {
			_, stopped := l.Watch(id)
			stays, stop := l.Watch(id)
			stopped()
			apply(t, l)
			if !woken(stays) {
				t.Error("not woken")
			}
			stop()
		},
		"stopped twice takes no other along": func(t *testing.T, l *Ledger) {
			_, stopped := l.Watch(id)
			stays, stop := l.Watch(id)
			stopped()
			stopped()
			apply(t, l)
			if !woken(stays) {
				t.Error("not woken: the second stop of one gave the watch of another up")
			}
			stop()
		},
		"a watch is of the next change only": func(t *testing.T, l *Ledger) {
			before, stopBefore := l.Watch(id)
			apply(t, l)
			after, stopAfter := l.Watch(id)
			if !woken(before) || woken(after) {
				t.Errorf("woken %v, %v", woken(before), woken(after))
			}
			stopBefore() // of a change that was, while another waits for the next
			apply(t, l)
			if !woken(after) {
				t.Error("not woken: the stop of an old watch gave a new one up")
			}
			stopAfter()
		},
		"a stopped watch is not woken": func(t *testing.T, l *Ledger) {
			changed, stop := l.Watch(id)
			stop()
			apply(t, l)
			if woken(changed) {
				t.Error("woken")
			}
		},
		"update through the ledger": func(t *testing.T, l *Ledger) {
			changed, stop := l.Watch(id)
			if _, err := Update(t.Context(), l, []Record{{ID: id}}, (&claims{token: "me"}).rule); err != nil || !woken(changed) {
				t.Errorf("%v, woken %v", err, woken(changed))
			}
			stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(newMemory(), nil)
			run(t, l)
			if n := LedgerEntries(l); n != 0 {
				t.Errorf("%d entries left behind", n)
			}
		})
	}
}

// Watch first, then read, then wait: no change may fall in between, whatever else
// comes and goes. A lost one would hang this test.
func TestLedgerLosesNoChange(t *testing.T) {
	const watchers, changes, keys = 64, 50, 3
	m := newMemory()
	l := NewLedger(m, nil)
	var group sync.WaitGroup
	for i := range watchers {
		id := named(fmt.Sprint(i % keys))
		group.Go(func() {
			for {
				changed, stop := l.Watch(id)
				have, err := l.Get(t.Context(), id)
				if err != nil || have[0].Attempt >= changes {
					stop()
					return
				}
				<-changed
				stop()
			}
		})
		group.Go(func() { // and those who do not stay
			for range changes {
				_, stop := l.Watch(id)
				stop()
			}
		})
	}
	for k := range keys {
		group.Go(func() {
			r := Record{ID: named(fmt.Sprint(k))}
			for range changes {
				next := r
				next.State = Processing
				next.Attempt++
				stored, err := l.Apply(t.Context(), Change{Was: r.Version, Now: next})
				if err != nil {
					t.Error(err)
					return
				}
				r = stored[0]
			}
		})
	}
	group.Wait()
	if n := LedgerEntries(l); n != 0 {
		t.Errorf("%d entries left behind", n)
	}
}
