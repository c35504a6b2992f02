package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/n8n-gate/n8n-gate/store"
)

// claimRace lets many claim the same events at once: each has one winner, and
// every loser is shown the winner's record.
func claimRace(s *suite) {
	const racers, events = 16, 25
	wins := make([]atomic.Int32, events)
	var group sync.WaitGroup
	for racer := range racers {
		group.Go(func() {
			for n := range events {
				r := claim(id("a", n))
				r.Execution = fmt.Sprint(racer)
				_, err := s.store.Apply(s.ctx, store.Change{Now: r})
				var lost *store.Conflict
				switch {
				case err == nil:
					wins[n].Add(1)
				case errors.As(err, &lost):
					if p := lost.Present[0]; p.Version == 0 || p.Execution == r.Execution {
						s.Errorf("%v: a loser was shown %+v", r.ID, p)
					}
				default:
					s.Errorf("Apply: %v", err)
				}
			}
		})
	}
	group.Wait()
	for n := range wins {
		s.equal(fmt.Sprintf("winners of event %d", n), wins[n].Load(), int32(1))
	}
	s.sameAsRecount("a")
}

// fencing: whoever holds an older view of a record changes nothing any more, and
// is shown who came after. All tokens of a record lead to it.
func fencing(s *suite) {
	attempt := func(n int) store.Alias { return store.Alias{Kind: store.AliasToken, Value: fmt.Sprint("attempt ", n)} }
	first := claim(id("a", 1))
	first.Aliases = []store.Alias{attempt(1)}
	first = s.apply(store.Change{Now: first})[0]
	failed := first
	failed.State = store.FailedRetryable
	failed = s.apply(store.Change{Was: first.Version, Now: failed})[0]
	second := failed
	second.State, second.Attempt, second.Aliases = store.Processing, 2, []store.Alias{attempt(1), attempt(2)}
	second = s.apply(store.Change{Was: failed.Version, Now: second})[0]
	for n, stale := range []store.Record{first, failed} {
		c := s.conflict(store.Change{Was: stale.Version, Now: completed(stale)})
		s.equal("what an older attempt is shown", c.Present, []store.Record{second})
		s.equal("whose token it is", s.find(attempt(n+1)), second.ID)
	}
	s.conflict(store.Change{Was: first.Version, Now: store.Record{ID: first.ID}})
	s.equal("after that", s.get(second.ID), []store.Record{second})

	// Of many who settle what they all have read, one does.
	var wins atomic.Int32
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			done := completed(second)
			done.ActionID = fmt.Sprint(n)
			_, err := s.store.Apply(s.ctx, store.Change{Was: second.Version, Now: done})
			var lost *store.Conflict
			switch {
			case err == nil:
				wins.Add(1)
			case !errors.As(err, &lost) || lost.Present[0].ActionID == done.ActionID || lost.Present[0].State != store.Completed:
				s.Errorf("a loser was told %v", err)
			}
		})
	}
	group.Wait()
	s.equal("winners", wins.Load(), int32(1))
}

// aliasRace lets many claim events of their own with one alias: each alias has one
// owner, and every loser is shown it.
func aliasRace(s *suite) {
	const racers, rounds = 8, 20
	owners := make([]atomic.Int32, rounds)
	var group sync.WaitGroup
	for racer := range racers {
		group.Go(func() {
			for n := range rounds {
				r := has(id(fmt.Sprint("racer", racer), n), fmt.Sprint(n))
				_, err := s.store.Apply(s.ctx, store.Change{Now: r})
				var lost *store.Conflict
				switch {
				case err == nil:
					owners[n].Add(1)
				case !errors.As(err, &lost) || lost.Taken[r.Aliases[0]].EventKey != r.EventKey || lost.Taken[r.Aliases[0]] == r.ID:
					s.Errorf("a loser was told %v", err)
				}
			}
		})
	}
	group.Wait()
	for n := range owners {
		s.equal(fmt.Sprintf("owners of alias %d", n), owners[n].Load(), int32(1))
	}
	s.equal("records", len(s.scan(store.Query{})), rounds)
}

// world is the versions of the records that the linearizability check works on.
type world [3]uint64

// step is what one client did and saw. A read has no changes.
type step struct {
	changes map[int]uint64 // record -> the version that it was expected to have
	deletes bool
}

type saw struct {
	conflict bool
	versions world // read: all; conflict: those of the changes; else: the new ones
}

// linearizable compares a history of reads and of Applys over one to three
// records with a model: some order of the calls, in which none is moved before
// its beginning or behind its end, must explain all that was seen.
func linearizable(s *suite) {
	const clients, steps = 5, 40
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		group   sync.WaitGroup
		begin   = time.Now()
	)
	for client := range clients {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(client), 1))
			known := world{}
			for range steps {
				in := randomStep(rng, known)
				call := time.Since(begin)
				out, err := s.do(in)
				end := time.Since(begin)
				if err != nil {
					s.Errorf("client %d: %v", client, err)
					return
				}
				known = out.learn(in, known)
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(call), Return: int64(end)})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if got := porcupine.CheckOperationsTimeout(model, history, time.Minute); got != porcupine.Ok {
		s.Errorf("the history of %d calls: %v", len(history), got)
	}
}

func randomStep(rng *rand.Rand, known world) step {
	in := step{deletes: rng.IntN(5) == 0}
	if rng.IntN(3) == 0 {
		return in
	}
	in.changes = make(map[int]uint64)
	for range 1 + rng.IntN(len(known)) {
		n := rng.IntN(len(known))
		in.changes[n] = known[n]
	}
	return in
}

// do carries a step out.
func (s *suite) do(in step) (out saw, err error) {
	if in.changes == nil {
		records, err := s.store.Get(s.ctx, id("a", 0), id("a", 1), id("a", 2))
		for n, r := range records {
			out.versions[n] = r.Version
		}
		return out, err
	}
	var cs []store.Change
	var of []int
	for n, was := range in.changes {
		now := claim(id("a", n))
		if in.deletes {
			now = store.Record{ID: now.ID}
		}
		cs, of = append(cs, store.Change{Was: was, Now: now}), append(of, n)
	}
	records, err := s.store.Apply(s.ctx, cs...)
	var c *store.Conflict
	if errors.As(err, &c) {
		out.conflict, records, err = true, c.Present, nil
	}
	for i, r := range records {
		out.versions[of[i]] = r.Version
	}
	return out, err
}

// learn is what the client believes afterwards.
func (out saw) learn(in step, known world) world {
	for n := range known {
		if _, changed := in.changes[n]; changed || in.changes == nil {
			known[n] = out.versions[n]
		}
	}
	return known
}

var model = porcupine.Model{
	Init: func() any { return world{} },
	Step: func(state, input, output any) (bool, any) {
		is, in, out := state.(world), input.(step), output.(saw)
		if in.changes == nil {
			return out.versions == is, is
		}
		fits, next := true, is
		for n, was := range in.changes {
			fits = fits && is[n] == was
			next[n] = out.versions[n]
		}
		if out.conflict { // it shows what is there, and that is not what was expected
			return !fits && next == is, is
		}
		for n := range in.changes {
			if (next[n] == 0) != in.deletes || (next[n] != 0 && next[n] == is[n]) {
				return false, is
			}
		}
		return fits, next
	},
}
