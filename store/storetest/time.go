package storetest

import (
	"cmp"
	"fmt"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

func compareIDs(a, b store.ID) int {
	return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.EventKey, b.EventKey))
}

func (s *suite) due(now time.Time, limit int) []store.Record {
	s.Helper()
	got, err := s.store.Due(s.ctx, now, limit)
	if err != nil {
		s.Fatalf("Due: %v", err)
	}
	return got
}

func due(s *suite) {
	until := func(of store.ID, d time.Duration) store.Record {
		r := claim(of)
		r.Deadline = noon.Add(d)
		return r
	}
	stored := s.put(
		until(id("b", 1), 3*time.Second), until(id("a", 1), 2*time.Second), until(id("c", 1), time.Second),
		until(id("a", 2), 4*time.Second), until(id("d", 1), time.Hour), until(id("e", 1), -60*365*24*time.Hour),
	)
	ambiguous := until(id("a", 3), time.Second)
	ambiguous.State = store.Ambiguous
	endless := claim(id("a", 4))
	endless.Deadline = time.Time{}
	far := claim(id("a", 5))
	far.Deadline = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	proven := failed(claim(id("a", 6)))
	proven.RepeatUntil = noon.Add(time.Second)
	over := completed(claim(id("a", 7)))
	over.Doubt, over.RepeatUntil = true, noon.Add(time.Second)
	endless2 := failed(claim(id("a", 8)))
	endless2.Doubt = true
	s.put(ambiguous, endless, far, proven, over, endless2)

	b, a, c, a2, e := stored[0], stored[1], stored[2], stored[3], stored[5]
	s.equal("before all", s.due(noon, 10), []store.Record{e})
	s.equal("to the instant", s.due(noon.Add(3*time.Second), 10), []store.Record{e, c, a, b})
	s.equal("an instant before", s.due(noon.Add(3*time.Second-time.Microsecond), 10), []store.Record{e, c, a})
	s.equal("the oldest first", s.due(noon.Add(time.Minute), 2), []store.Record{e, c})
	s.equal("none asked for", len(s.due(noon.Add(time.Minute), 0)), 0)

	later := c
	later.Deadline = noon.Add(30 * time.Second)
	moved := s.apply(
		store.Change{Was: c.Version, Now: later},
		store.Change{Was: a.Version, Now: completed(a)},
		store.Change{Was: e.Version, Now: store.Record{ID: e.ID}},
	)
	s.equal("after moving, settling and deleting", s.due(noon.Add(time.Minute), 10), []store.Record{b, a2, moved[0]})

	// A record in doubt is due as well, by its own time.
	doubtful := failed(b)
	doubtful.Doubt, doubtful.RepeatUntil = true, noon.Add(10*time.Second)
	doubtful = s.apply(store.Change{Was: b.Version, Now: doubtful})[0]
	s.equal("in doubt", s.due(noon.Add(time.Minute), 10), []store.Record{a2, doubtful, moved[0]})
	again := claim(b.ID)
	again.Deadline = noon.Add(time.Hour)
	s.apply(store.Change{Was: doubtful.Version, Now: again})
	s.equal("claimed again", s.due(noon.Add(time.Minute), 10), []store.Record{a2, moved[0]})
}

func (s *suite) expire(now time.Time, limit int) int {
	s.Helper()
	n, err := s.store.Expire(s.ctx, now, limit)
	if err != nil {
		s.Fatalf("Expire: %v", err)
	}
	return n
}

func expire(s *suite) {
	at := func(of store.ID, state store.State, d time.Duration) store.Record {
		r := completed(claim(of))
		r.State, r.ExpiresAt = state, noon.Add(d)
		r.Aliases = []store.Alias{execution(of.EventKey + of.Operation)}
		return r
	}
	gone := at(id("a", 1), store.Completed, time.Second)
	kept := []store.Record{
		at(id("a", 2), store.Completed, time.Hour),
		at(id("b", 1), store.Processing, time.Second),
		at(id("b", 2), store.FailedRetryable, time.Second),
		at(id("b", 3), store.Ambiguous, time.Second),
	}
	endless := at(id("a", 3), store.Completed, 0)
	endless.ExpiresAt = time.Time{}
	kept = s.put(append(kept, endless)...)
	s.apply(store.Change{Now: gone, Payload: []byte("body")})

	s.equal("too early", s.expire(noon.Add(time.Second-time.Microsecond), 10), 0)
	s.equal("none asked for", s.expire(noon.Add(time.Minute), 0), 0)
	s.equal("to the instant", s.expire(noon.Add(time.Second), 10), 1)
	s.equal("nothing left", s.expire(noon.Add(time.Minute), 10), 0)
	s.equal("the record", s.get(gone.ID)[0].Version, uint64(0))
	s.equal("its alias", s.find(gone.Aliases[0]), store.ID{})
	s.equal("its payload", s.body(gone.ID), []byte(nil))
	for _, r := range kept {
		s.equal("another record", s.get(r.ID)[0], r)
	}
	s.sameAsRecount("a", "b")

	// One that is claimed again does not expire by what it was before.
	again := claim(kept[0].ID)
	s.apply(store.Change{Was: kept[0].Version, Now: again})
	s.equal("claimed again", s.expire(noon.Add(48*time.Hour), 10), 0)

	many := make([]store.Record, 250)
	for i := range many {
		many[i] = at(id("many", i), store.Completed, time.Second)
	}
	s.put(many...)
	for _, want := range []int{7, 120, 123, 0} {
		s.equal(fmt.Sprintf("%d at most", max(want, 7)), s.expire(noon.Add(time.Minute), max(want, 7)), want)
	}
	s.sameAsRecount("a", "b", "many")
}

// sameAsRecount compares Stats with what a scan of the operations finds.
func (s *suite) sameAsRecount(operations ...string) {
	s.Helper()
	want := make(map[string]map[store.State]int64)
	for _, operation := range operations {
		for _, r := range s.scan(store.Query{Operation: operation}) {
			if want[operation] == nil {
				want[operation] = make(map[store.State]int64)
			}
			want[operation][r.State]++
		}
	}
	got, err := s.store.Stats(s.ctx)
	if err != nil {
		s.Fatalf("Stats: %v", err)
	}
	s.equal("counts", got.Records, want)
}

func stats(s *suite) {
	empty, err := s.store.Stats(s.ctx)
	if err != nil {
		s.Fatalf("Stats: %v", err)
	}
	s.equal("a new store's counts", len(empty.Records), 0)
	s.equal("a new store's last write", empty.LastWrite, time.Time{})

	before, err := s.store.Now(s.ctx)
	if err != nil {
		s.Fatalf("Now: %v", err)
	}
	s.fill("a", 3)
	s.fill("b", 2)
	s.sameAsRecount("a", "b")
	for _, state := range []store.State{store.Completed, store.Ambiguous, store.FailedRetryable, store.Processing, store.Processing} {
		r := claim(id("a", 1))
		r.State = state
		s.put(r)
		s.sameAsRecount("a", "b")
	}
	s.put(store.Record{ID: id("b", 0)}, completed(claim(id("b", 1))), claim(id("b", 2)))
	s.sameAsRecount("a", "b")
	s.put(store.Record{ID: id("b", 1)}, store.Record{ID: id("b", 2)})
	s.sameAsRecount("a", "b")

	after, err := s.store.Now(s.ctx)
	if err != nil {
		s.Fatalf("Now: %v", err)
	}
	got, err := s.store.Stats(s.ctx)
	if err != nil {
		s.Fatalf("Stats: %v", err)
	}
	if got.LastWrite.Before(before) || got.LastWrite.After(after) {
		s.Errorf("last write %v, want between %v and %v", got.LastWrite, before, after)
	}
}

func reopen(s *suite) {
	stored := s.put(full(id("a", 1)), completed(claim(id("a", 2))), claim(id(".rule", 1)))
	stored[1] = s.apply(store.Change{Was: stored[1].Version, Now: stored[1], Payload: []byte("body")})[0]
	before, err := s.store.Stats(s.ctx)
	if err != nil {
		s.Fatalf("Stats: %v", err)
	}
	was := s.store.Incarnation()
	s.alive(was, true)
	s.stop()
	s.start()
	if s.store.Incarnation() == was {
		s.Error("two openings have one name")
	}
	s.alive(was, false)
	s.alive(s.store.Incarnation(), true)

	s.equal("records", s.get(ids(stored)...), stored)
	s.equal("alias", s.find(stored[0].Aliases[0]), stored[0].ID)
	s.equal("payload", string(s.body(stored[1].ID)), "body")
	s.equal("due", ids(s.due(noon.Add(time.Hour), 10)), []store.ID{id(".rule", 1), id("a", 1)})
	s.sameAsRecount("a")
	after, err := s.store.Stats(s.ctx)
	if err != nil {
		s.Fatalf("Stats: %v", err)
	}
	s.equal("last write", after.LastWrite, before.LastWrite)
	s.equal("expiry", s.expire(noon.Add(365*24*time.Hour), 10), 1)
}

func (s *suite) alive(incarnation string, want bool) {
	s.Helper()
	got, err := s.store.Alive(s.ctx, incarnation)
	if err != nil {
		s.Fatalf("Alive: %v", err)
	}
	s.equal("alive", got, want)
}
