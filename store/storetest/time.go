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

// expire: a completed record goes at the latest two days after its ExpiresAt, and
// never before; an engine may do so by whole days.
func expire(s *suite) {
	at := func(of store.ID, state store.State, d time.Duration) store.Record {
		r := completed(claim(of))
		r.State, r.ExpiresAt = state, noon.Add(d)
		r.Aliases = []store.Alias{execution(of.EventKey + of.Operation)}
		return r
	}
	latest := noon.Add(48 * time.Hour)
	gone := at(id("a", 1), store.Completed, time.Second)
	kept := []store.Record{
		at(id("a", 2), store.Completed, 49*time.Hour),
		at(id("b", 1), store.Processing, time.Second),
		at(id("b", 2), store.FailedRetryable, time.Second),
		at(id("b", 3), store.Ambiguous, time.Second),
	}
	kept[1].Deadline = noon
	endless := at(id("a", 3), store.Completed, 0)
	endless.ExpiresAt = time.Time{}
	kept = s.put(append(kept, endless)...)
	s.apply(store.Change{Now: gone, Payload: []byte("body")})
	kept[1] = s.apply(store.Change{Was: kept[1].Version, Now: kept[1], Payload: []byte("kept")})[0]

	s.equal("too early", s.expire(noon.Add(time.Second-time.Microsecond), 10), 0)
	s.equal("none asked for", s.expire(latest.Add(time.Second), 0), 0)
	s.equal("two days later", s.expire(latest.Add(time.Second), 10), 1)
	s.equal("nothing left", s.expire(latest.Add(time.Second), 10), 0)
	s.equal("the record", s.get(gone.ID)[0].Version, uint64(0))
	s.equal("its alias", s.find(gone.Aliases[0]), store.ID{})
	s.equal("its payload", s.body(gone.ID), []byte(nil))
	years := noon.Add(20 * 365 * 24 * time.Hour)
	for n, now := range []time.Time{latest.Add(time.Second), years, years.Add(365 * 24 * time.Hour)} {
		s.equal("once more", s.expire(now, 10), []int{0, 1, 0}[n])
		for _, r := range kept[min(n, 1):] { // all but one are not completed, or never expire
			s.equal("another record", s.get(r.ID)[0], r)
			s.equal("its alias", s.find(r.Aliases[0]), r.ID)
		}
		s.equal("its payload", string(s.body(kept[1].ID)), "kept")
		s.equal("due", ids(s.due(latest, 10)), []store.ID{id("b", 1)})
		s.equal("unsettled", len(s.scan(store.Query{States: []store.State{store.FailedRetryable, store.Ambiguous}})), 2)
		s.sameAsRecount("a", "b")
	}

	// One that was carried over its time is kept from its settling on.
	late := kept[2]
	late.State, late.ExpiresAt = store.Completed, years.Add(10*24*time.Hour)
	late = s.put(late)[0]
	s.equal("settled late, too early", s.expire(late.ExpiresAt.Add(-time.Second), 10), 0)
	s.equal("settled late", s.expire(late.ExpiresAt.Add(48*time.Hour), 10), 1)

	// One that is claimed again does not expire by what it was before.
	again := at(id("c", 1), store.Completed, time.Second)
	again = s.put(again)[0]
	s.apply(store.Change{Was: again.Version, Now: claim(again.ID)})
	s.equal("claimed again", s.expire(years, 10), 0)

	// One that was to be kept for longer, and is not any more.
	short := claim(id("c", 2))
	short.Retention = 5 * 365 * 24 * time.Hour
	short = s.put(short)[0]
	settled := at(short.ID, store.Completed, time.Second)
	s.apply(store.Change{Was: short.Version, Now: settled})
	s.equal("kept for shorter", s.expire(latest.Add(time.Second), 10), 1)

	many := make([]store.Record, 250)
	for i := range many {
		many[i] = at(id("many", i), store.Completed, time.Second)
	}
	s.put(many...)
	for _, want := range []int{7, 120, 123, 0} {
		s.equal(fmt.Sprintf("%d at most", max(want, 7)), s.expire(latest.Add(time.Second), max(want, 7)), want)
	}
	s.sameAsRecount("a", "b", "c", "many")
}

// expireOwn: the gate's own records too.
func expireOwn(s *suite) {
	stored := s.put(completed(claim(id(".note", 1))), completed(claim(id(".note", 2))), claim(id(".rule", 1)))
	later := stored[1]
	later.ExpiresAt = later.ExpiresAt.Add(96 * time.Hour)
	s.put(later)
	expires := stored[0].ExpiresAt
	s.equal("too early", s.expire(expires.Add(-time.Second), 10), 0)
	s.equal("two days later", s.expire(expires.Add(48*time.Hour), 10), 1)
	s.equal("what is left", ids(s.scan(store.Query{Operation: ".note"})), []store.ID{id(".note", 2)})
	s.equal("the later one", s.expire(expires.Add(96*time.Hour+48*time.Hour), 10), 1)
	s.equal("what is not completed", s.get(stored[2].ID)[0], stored[2])
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
