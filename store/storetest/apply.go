package storetest

import (
	"context"
	"errors"
	"strings"

	"github.com/n8n-gate/n8n-gate/store"
)

func absent(s *suite) {
	want := []store.Record{{ID: id("a", 1)}, {ID: id("b", 1)}}
	s.equal("absent records", s.get(id("a", 1), id("b", 1)), want)
	s.equal("no IDs", len(s.get()), 0)
	if _, err := s.store.Find(s.ctx, store.Alias{Kind: store.AliasToken, Value: "x"}); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Find: got %v, want ErrNotFound", err)
	}
	if _, err := s.store.Payload(s.ctx, id("a", 1)); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Payload: got %v, want ErrNotFound", err)
	}
	s.equal("no changes", len(s.apply()), 0)
}

func createAndRead(s *suite) {
	for _, r := range []store.Record{
		{ID: id("bare", 1), State: store.Processing},
		claim(id("claim", 1)),
		completed(claim(id("completed", 1))),
		full(id("full", 1)),
		// One is the other's beginning, and the parts meet elsewhere.
		claim(store.ID{Operation: "ab", EventKey: "c"}),
		claim(store.ID{Operation: "a", EventKey: "bc"}),
		claim(store.ID{Operation: "a", EventKey: "b"}),
		claim(store.ID{Operation: "GET shop/*", EventKey: "%00:a%3Ab"}),
	} {
		stored := s.apply(store.Change{Now: r})[0]
		if stored.Version == 0 {
			s.Errorf("%v: stored without a version", r.ID)
		}
		r.Version = stored.Version
		s.equal("what Apply returned", stored, r)
		s.equal("what Get returned", s.get(r.ID)[0], r)
	}
}

func getOrder(s *suite) {
	stored := s.put(claim(id("a", 1)), claim(id("a", 2)))
	got := s.get(id("a", 2), id("a", 3), id("a", 1), id("a", 2))
	s.equal("records", got, []store.Record{stored[1], {ID: id("a", 3)}, stored[0], stored[1]})
}

func ownCopies(s *suite) {
	r := full(id("a", 1))
	want := full(id("a", 1))
	body := []byte("body")
	stored := s.apply(store.Change{Now: r, Payload: body})[0]
	want.Version = stored.Version

	spoil := func(r store.Record) {
		r.Aliases[0].Value, r.History[0].Note, r.Receipt.Header[0].Value = "spoilt", "spoilt", "spoilt"
		r.Receipt.Body[0], r.Receipt.Result[0], r.Prior.Reason = '!', '!', "spoilt"
	}
	check := func(when string) {
		s.Helper()
		s.equal("record after the caller wrote into "+when, s.get(r.ID)[0], want)
		s.equal("payload after the caller wrote into "+when, string(s.body(r.ID)), "body")
	}
	spoil(r)
	body[0] = '!'
	check("what it gave")
	spoil(s.get(r.ID)[0])
	s.body(r.ID)[0] = '!'
	check("what Get and Payload returned")
	spoil(s.conflict(store.Change{Now: claim(r.ID)}).Present[0])
	check("a conflict")
	spoil(s.scan(store.Query{})[0])
	check("a page")
}

func conflicts(s *suite) {
	stands := s.put(full(id("a", 1)))[0]
	for name, change := range map[string]store.Change{
		"absent expected":        {Was: 0, Now: claim(id("a", 1))},
		"another version":        {Was: stands.Version + 1, Now: claim(id("a", 1))},
		"deleting another one":   {Was: stands.Version + 1, Now: store.Record{ID: id("a", 1)}},
		"deleting what is there": {Was: 0, Now: store.Record{ID: id("a", 1)}},
	} {
		c := s.conflict(change)
		s.equal(name+": present", c.Present, []store.Record{stands})
		s.equal(name+": taken", len(c.Taken), 0)
	}
	c := s.conflict(store.Change{Was: 1, Now: claim(id("a", 2))})
	s.equal("a version of what is absent", c.Present, []store.Record{{ID: id("a", 2)}})

	c = s.conflict(
		store.Change{Now: claim(id("a", 2))},
		store.Change{Was: stands.Version, Now: claim(id("a", 1))},
		store.Change{Was: 99, Now: claim(id("a", 3))},
	)
	s.equal("every change's record", c.Present, []store.Record{{ID: id("a", 2)}, stands, {ID: id("a", 3)}})
}

func allOrNone(s *suite) {
	first := full(id("a", 1))
	stands := s.apply(store.Change{Now: first, Payload: []byte("body")})[0]

	other := claim(id("a", 2))
	other.Aliases = []store.Alias{{Kind: store.AliasExecution, Value: "other"}}
	next := claim(id("a", 1))
	next.Aliases = []store.Alias{{Kind: store.AliasExecution, Value: "next"}}
	s.conflict(
		store.Change{Now: other, Payload: []byte("other")},
		store.Change{Was: stands.Version, Now: next, Payload: []byte{}},
		store.Change{Was: 7, Now: claim(id("a", 3))},
	)
	s.equal("records", s.get(id("a", 1), id("a", 2), id("a", 3)), []store.Record{stands, {ID: id("a", 2)}, {ID: id("a", 3)}})
	s.equal("alias of the one", s.find(other.Aliases[0]), store.ID{})
	s.equal("alias of the other", s.find(next.Aliases[0]), store.ID{})
	s.equal("alias that stays", s.find(first.Aliases[0]), first.ID)
	s.equal("payload that stays", string(s.body(first.ID)), "body")
	s.equal("payload that must not come", s.body(other.ID), []byte(nil))
	s.sameAsRecount("a")

	stored := s.apply(
		store.Change{Now: other},
		store.Change{Was: stands.Version, Now: next},
		store.Change{Now: claim(id("b", 1))},
	)
	s.equal("records", s.get(id("a", 2), id("a", 1), id("b", 1)), stored)
	s.sameAsRecount("a", "b")
}

func deleteRecord(s *suite) {
	stands := s.apply(store.Change{Now: full(id("a", 1)), Payload: []byte("body")})[0]
	gone := s.apply(store.Change{Was: stands.Version, Now: store.Record{ID: id("a", 1)}})[0]
	s.equal("deleted", [2]any{gone.ID, gone.Version}, [2]any{id("a", 1), uint64(0)})
	s.equal("Get", s.get(id("a", 1))[0], store.Record{ID: id("a", 1)})
	s.equal("alias", s.find(stands.Aliases[0]), store.ID{})
	s.equal("payload", s.body(id("a", 1)), []byte(nil))
	s.equal("Scan", len(s.scan(store.Query{})), 0)
	s.sameAsRecount("a")
	s.conflict(store.Change{Was: stands.Version, Now: claim(id("a", 1))})
	s.apply(store.Change{Now: store.Record{ID: id("a", 1)}}) // what is absent may stay absent

	again := s.apply(store.Change{Now: full(id("a", 1))})[0]
	s.equal("payload of the next one", s.body(id("a", 1)), []byte(nil))
	s.equal("alias of the next one", s.find(again.Aliases[0]), id("a", 1))
}

func versions(s *suite) {
	last := uint64(0)
	newer := func(what string, r store.Record) store.Record {
		s.Helper()
		if r.Version <= last {
			s.Errorf("%s: version %d does not come after %d", what, r.Version, last)
		}
		last = max(last, r.Version)
		return r
	}
	r := newer("created", s.apply(store.Change{Now: claim(id("a", 1))})[0])
	r = newer("replaced", s.apply(store.Change{Was: r.Version, Now: r})[0])
	for _, pair := range s.put(claim(id("a", 2)), claim(id("b", 2))) {
		newer("two at once", pair)
	}
	s.apply(store.Change{Was: r.Version, Now: store.Record{ID: r.ID}})
	r = newer("created again", s.apply(store.Change{Now: claim(id("a", 1))})[0])
	s.conflict(store.Change{Was: 0, Now: claim(id("a", 1))})
	s.apply(store.Change{Was: r.Version, Now: store.Record{ID: r.ID}})
	s.stop()
	s.start()
	newer("created after a restart", s.apply(store.Change{Now: claim(id("a", 1))})[0])
}

func refused(s *suite) {
	for name, cs := range map[string][]store.Change{
		"one ID twice":         {{Now: claim(id("a", 1))}, {Now: claim(id("a", 1))}},
		"no operation":         {{Now: claim(id("a", 2))}, {Now: claim(store.ID{EventKey: "k"})}},
		"no event key":         {{Now: claim(store.ID{Operation: "a"})}},
		"zero byte, operation": {{Now: claim(store.ID{Operation: "a\x00b", EventKey: "k"})}},
		"zero byte, event key": {{Now: claim(store.ID{Operation: "a", EventKey: "k\x00"})}},
		"event key too long":   {{Now: claim(store.ID{Operation: "a", EventKey: strings.Repeat("k", 1<<16)})}},
	} {
		_, err := s.store.Apply(s.ctx, cs...)
		var c *store.Conflict
		if !errors.Is(err, store.ErrNotStored) || errors.As(err, &c) {
			s.Errorf("%s: got %v, want ErrNotStored", name, err)
		}
	}
	s.equal("stored all the same", len(s.scan(store.Query{})), 0)
}

func cancelled(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.store.Apply(ctx, store.Change{Now: claim(id("a", 1))})
	if !errors.Is(err, store.ErrNotStored) || !errors.Is(err, context.Canceled) {
		s.Errorf("Apply: got %v, want ErrNotStored because of the context", err)
	}
	s.equal("Get", s.get(id("a", 1))[0].Version, uint64(0))
}

func payload(s *suite) {
	of := id("a", 1)
	r := s.apply(store.Change{Now: claim(of)})[0]
	for _, step := range []struct {
		name string
		give []byte
		want string
	}{
		{"none leaves none", nil, ""},
		{"given", []byte("one"), "one"},
		{"nil leaves it", nil, "one"},
		{"replaced", []byte("\x00two"), "\x00two"},
		{"empty removes it", []byte{}, ""},
		{"empty removes nothing", []byte{}, ""},
		{"given again", []byte("three"), "three"},
	} {
		r = s.apply(store.Change{Was: r.Version, Now: r, Payload: step.give})[0]
		s.equal(step.name, string(s.body(of)), step.want)
	}
	s.equal("another record's", s.body(id("a", 2)), []byte(nil))
}
