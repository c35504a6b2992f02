package storetest

import "github.com/n8n-gate/n8n-gate/store"

// has is a claim with execution ids as its aliases.
func has(of store.ID, values ...string) store.Record {
	r := claim(of)
	for _, v := range values {
		r.Aliases = append(r.Aliases, execution(v))
	}
	return r
}

func execution(v string) store.Alias { return store.Alias{Kind: store.AliasExecution, Value: v} }

func aliasFind(s *suite) {
	r := claim(id("a", 1))
	for _, kind := range []store.AliasKind{store.AliasToken, store.AliasExecution, store.AliasFingerprint} {
		r.Aliases = append(r.Aliases, store.Alias{Kind: kind, Value: "same value"})
	}
	s.put(r, has(id("b", 1), "x", "xy", "\x00\xff", ""))
	for _, a := range r.Aliases {
		s.equal("one value in three name spaces", s.find(a), r.ID)
	}
	for _, v := range []string{"x", "xy", "\x00\xff", ""} {
		s.equal("value "+v, s.find(execution(v)), id("b", 1))
	}
	s.equal("a part of a value", s.find(execution("same")), store.ID{})
	s.equal("another kind", s.find(store.Alias{Kind: store.AliasToken, Value: "x"}), store.ID{})
}

func aliasUnique(s *suite) {
	owner := s.put(has(id("a", 1), "x", "y"))[0]

	c := s.conflict(store.Change{Now: has(id("a", 2), "free", "x")})
	s.equal("taken", c.Taken, map[store.Alias]store.ID{execution("x"): owner.ID})
	s.equal("present", c.Present, []store.Record{{ID: id("a", 2)}})
	s.equal("alias of what was refused", s.find(execution("free")), store.ID{})

	c = s.conflict(store.Change{Now: has(id("b", 1), "n")}, store.Change{Now: has(id("b", 2), "n", "y")})
	s.equal("taken by a change of the same call", c.Taken, map[store.Alias]store.ID{execution("n"): id("b", 1), execution("y"): owner.ID})

	c = s.conflict(store.Change{Now: has(id("b", 1), "x")}, store.Change{Was: owner.Version, Now: has(owner.ID, "x")})
	s.equal("taken by a change that keeps it", c.Taken, map[store.Alias]store.ID{execution("x"): owner.ID})

	c = s.conflict(store.Change{Now: has(id("b", 1), "x")}, store.Change{Now: has(id("b", 2), "x")})
	s.equal("wanted by two, and another record's", c.Taken, map[store.Alias]store.ID{execution("x"): owner.ID})

	// A version that does not fit comes first: its aliases belong to a view of
	// the world that is out of date.
	c = s.conflict(store.Change{Was: owner.Version + 1, Now: has(id("a", 2), "x")})
	s.equal("taken beside a wrong version", len(c.Taken), 0)

	kept := s.apply(store.Change{Was: owner.Version, Now: has(owner.ID, "y", "x", "z", "z")})[0]
	for _, v := range []string{"x", "y", "z"} {
		s.equal("own aliases kept and given twice", s.find(execution(v)), kept.ID)
	}
}

func aliasMoves(s *suite) {
	a := s.put(has(id("a", 1), "x", "y"))[0]
	a = s.apply(store.Change{Was: a.Version, Now: has(a.ID, "y")})[0]
	s.equal("given up", s.find(execution("x")), store.ID{})
	b := s.apply(store.Change{Now: has(id("a", 2), "x")})[0]
	s.equal("taken up", s.find(execution("x")), b.ID)

	swapped := s.apply(
		store.Change{Was: a.Version, Now: has(a.ID, "x")},
		store.Change{Was: b.Version, Now: has(b.ID, "y")},
	)
	s.equal("swapped x", s.find(execution("x")), a.ID)
	s.equal("swapped y", s.find(execution("y")), b.ID)

	s.apply(
		store.Change{Now: has(id("a", 3), "x", "y")},
		store.Change{Was: swapped[0].Version, Now: store.Record{ID: a.ID}},
		store.Change{Was: swapped[1].Version, Now: claim(b.ID)},
	)
	s.equal("from a deleted record", s.find(execution("x")), id("a", 3))
	s.equal("from one that gives it up", s.find(execution("y")), id("a", 3))
}
