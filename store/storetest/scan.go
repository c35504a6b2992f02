package storetest

import (
	"slices"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

func (s *suite) fill(operation string, n int) {
	s.Helper()
	records := make([]store.Record, n)
	for i := range records {
		records[i] = claim(id(operation, i))
	}
	s.put(records...)
}

func scanPages(s *suite) {
	s.equal("an empty store", s.scan(store.Query{}), []store.Record(nil))
	s.fill("a", 1001)
	s.fill("b", 30)
	all := ids(s.scan(store.Query{}))
	s.equal("all records", len(all), 1031)
	for _, limit := range []int{1, 7, 500} {
		s.equal("the order of other pages", ids(s.scan(store.Query{Operation: "b", Limit: limit})), ids(s.scan(store.Query{Operation: "b"})))
	}
	s.equal("large pages", ids(s.scan(store.Query{Limit: 500})), all)

	for _, c := range []struct{ limit, most int }{{0, 100}, {-1, 100}, {10, 10}, {5000, 1000}} {
		page, err := s.store.Scan(s.ctx, store.Query{Limit: c.limit})
		if err != nil {
			s.Fatalf("Scan: %v", err)
		}
		if len(page.Records) == 0 || len(page.Records) > c.most || page.Next == "" {
			s.Errorf("limit %d: %d records, next %q; want 1 to %d and a next page", c.limit, len(page.Records), page.Next, c.most)
		}
	}
	if _, err := s.store.Scan(s.ctx, store.Query{After: "no cursor!"}); err == nil {
		s.Error("a cursor that is none was taken")
	}
}

func scanFilters(s *suite) {
	waits := claim(id("a", 1))
	done := completed(claim(id("a", 2)))
	lost := claim(id("a", 3))
	lost.State, lost.Reason, lost.SettledAt = store.Ambiguous, "timeout", noon.Add(10*time.Minute)
	retried := claim(id("a", 4)) // settled once, claimed again since
	retried.SettledAt, retried.ClaimedAt = noon.Add(time.Minute), noon.Add(time.Hour)
	other := claim(id("ab", 1))
	other.State, other.Reason, other.SettledAt = store.FailedRetryable, "refused", noon.Add(time.Minute)
	s.put(waits, done, lost, retried, other)

	for _, c := range []struct {
		name string
		q    store.Query
		want []store.ID
	}{
		{"nothing", store.Query{}, []store.ID{waits.ID, done.ID, lost.ID, retried.ID, other.ID}},
		{"operation", store.Query{Operation: "a"}, []store.ID{waits.ID, done.ID, lost.ID, retried.ID}},
		{"operation that only begins so", store.Query{Operation: "ab"}, []store.ID{other.ID}},
		{"unknown operation", store.Query{Operation: "b"}, nil},
		{"state", store.Query{States: []store.State{store.Ambiguous}}, []store.ID{lost.ID}},
		{"states", store.Query{States: []store.State{store.Completed, store.FailedRetryable}}, []store.ID{done.ID, other.ID}},
		{"reason", store.Query{Reason: "timeout"}, []store.ID{lost.ID}},
		{"older: claim of what is processing, settling of the rest", store.Query{OlderThan: noon.Add(2 * time.Minute)}, []store.ID{waits.ID, done.ID, other.ID}},
		{"older, to the instant", store.Query{OlderThan: noon.Add(time.Minute)}, []store.ID{waits.ID}},
		{"all together", store.Query{Operation: "a", States: []store.State{store.Ambiguous}, Reason: "timeout", OlderThan: noon.Add(time.Hour)}, []store.ID{lost.ID}},
		{"all but one", store.Query{Operation: "a", States: []store.State{store.Ambiguous}, Reason: "reset"}, nil},
	} {
		for _, limit := range []int{0, 1} {
			c.q.Limit = limit
			got := ids(s.scan(c.q))
			slices.SortFunc(got, compareIDs)
			s.equal(c.name, got, c.want)
		}
	}
}

func scanWhileWriting(s *suite) {
	s.fill("a", 100)
	seen := make(map[store.ID]int)
	q := store.Query{Limit: 9}
	for n := 0; ; n++ {
		page, err := s.store.Scan(s.ctx, q)
		if err != nil {
			s.Fatalf("Scan: %v", err)
		}
		for _, r := range page.Records {
			seen[r.ID]++
		}
		if page.Next == "" {
			break
		}
		q.After = page.Next
		// One with an odd number goes, even the last one seen; a new one comes in front.
		odd := s.get(id("a", 10*n+7))[0]
		if n < 9 {
			s.apply(store.Change{Was: odd.Version, Now: store.Record{ID: odd.ID}}, store.Change{Now: claim(id("Z", n))})
		}
	}
	for n := range 100 {
		if of := id("a", n); seen[of] != 1 && (n%10 != 7 || seen[of] != 0) {
			s.Errorf("%v was seen %d times", of, seen[of])
		}
	}
}

func hidden(s *suite) {
	s.put(claim(id(".rule", 1)), claim(id(".note", 1)), claim(id("!", 1)), claim(id("-", 1)), claim(id("/", 1)), claim(id("a", 1)))
	for _, limit := range []int{0, 1, 2} {
		got := ids(s.scan(store.Query{Limit: limit}))
		slices.SortFunc(got, compareIDs)
		s.equal("a scan over everything", got, []store.ID{id("!", 1), id("-", 1), id("/", 1), id("a", 1)})
	}
	s.equal("a scan that names it", ids(s.scan(store.Query{Operation: ".rule"})), []store.ID{id(".rule", 1)})
	s.equal("Get", s.get(id(".note", 1))[0].State, store.Processing)
	s.sameAsRecount("!", "-", "/", "a")
}
