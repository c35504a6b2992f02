package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// Random carries out random operations, one after the other, on s and on a model
// of a store that is too simple to be wrong, and compares all that they say. An
// engine that is made to fail may answer with ErrNotStored at any time; after an
// ErrUnknown, heal must make it able to say what became of the commit. Without
// heal, both are failures. The same seed makes the same choices.
func Random(t *testing.T, s store.Store, seed uint64, steps int, heal func()) {
	t.Helper()
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &random{
		suite: &suite{T: t, ctx: t.Context(), store: s},
		rng:   rand.New(rand.NewPCG(seed, 5)), now: now, heal: heal,
		records: make(map[store.ID]store.Record), bodies: make(map[store.ID]string),
	}
	for range steps {
		r.step()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	r.compareAll()
}

// random is the model and what the choices are made with.
type random struct {
	*suite
	rng     *rand.Rand
	now     time.Time // of the model; the engine's own clock stands behind it
	heal    func()
	version uint64 // the greatest so far

	records map[store.ID]store.Record
	bodies  map[store.ID]string
}

func (r *random) chance(n int) bool { return r.rng.IntN(n) == 0 }

func (r *random) step() {
	switch n := r.rng.IntN(20); {
	case n < 12:
		r.change()
	case n < 14:
		r.expireSome()
	case n < 18:
		r.compare(r.someIDs(4))
	case n < 19:
		r.compareAlias(r.someAlias())
	default:
		r.compareAll()
	}
}

// someIDs are different ones, seldom the gate's own.
func (r *random) someIDs(most int) []store.ID {
	var out []store.ID
	for range 1 + r.rng.IntN(most) {
		of := id([]string{"a", "b", "c"}[r.rng.IntN(3)], r.rng.IntN(5))
		if r.chance(8) {
			of = id(".note", r.rng.IntN(3))
		}
		if !slices.Contains(out, of) {
			out = append(out, of)
		}
	}
	return out
}

func (r *random) someAlias() store.Alias {
	return store.Alias{Kind: store.AliasKind(1 + r.rng.IntN(2)), Value: fmt.Sprint(r.rng.IntN(8))}
}

// someRecord is one in any state; Gone now and then.
func (r *random) someRecord(of store.ID) store.Record {
	if r.chance(6) {
		return store.Record{ID: of}
	}
	days := func(n int) time.Duration { return time.Duration(r.rng.IntN(24*60*n)) * time.Minute }
	out := claim(of)
	out.ClaimedAt, out.Retention = r.now, []time.Duration{0, days(3), days(40)}[r.rng.IntN(3)]
	out.State = store.States()[r.rng.IntN(4)]
	switch out.State {
	case store.Processing:
		if out.Deadline = r.now.Add(days(2)); r.chance(5) {
			out.Deadline = time.Time{}
		}
	case store.Completed:
		out = completed(out)
		if out.ExpiresAt = r.now.Add(out.Retention); r.chance(10) {
			out.ExpiresAt = time.Time{}
		}
	}
	for !isOwn(of) && len(out.Aliases) < 4 && !r.chance(3) {
		out.Aliases = append(out.Aliases, r.someAlias())
	}
	return out
}

func isOwn(of store.ID) bool { return of.Operation[0] == '.' }

// change applies one to three changes, most of which fit.
func (r *random) change() {
	r.Helper()
	var cs []store.Change
	var of []store.ID
	for _, i := range r.someIDs(3) {
		c := store.Change{Was: r.records[i].Version, Now: r.someRecord(i)}
		if r.chance(12) {
			c.Was = uint64(r.rng.IntN(3)) * r.version / 2
		}
		switch r.rng.IntN(5) {
		case 0:
			c.Payload = []byte{}
		case 1:
			c.Payload = fmt.Append(nil, i.EventKey, r.rng.Uint64())
		}
		cs, of = append(cs, c), append(of, i)
	}
	want := r.judge(cs)
	stored, err := r.store.Apply(r.ctx, cs...)
	var have *store.Conflict
	switch {
	case errors.As(err, &have):
		if want == nil {
			r.Errorf("Apply: a conflict: %+v", have)
			return
		}
		r.equal("present", have.Present, want.Present)
		r.equal("taken", len(have.Taken), len(want.Taken))
		if len(want.Taken) > 0 {
			r.equal("taken", have.Taken, want.Taken)
		}
	case err == nil && want != nil:
		r.Errorf("Apply: no conflict, want %+v", want)
	case err == nil:
		r.accept(cs, stored)
	case r.heal != nil && errors.Is(err, store.ErrNotStored):
		r.compare(of)
	case r.heal != nil && errors.Is(err, store.ErrUnknown) && want == nil:
		r.heal()
		if stored = r.get(of...); !sameVersions(stored, r.present(cs)) {
			r.accept(cs, stored)
		}
		r.compare(of)
	default:
		r.Errorf("Apply: %v", err)
	}
}

func sameVersions(a, b []store.Record) bool {
	return slices.EqualFunc(a, b, func(a, b store.Record) bool { return a.Version == b.Version })
}

func (r *random) present(cs []store.Change) []store.Record {
	out := make([]store.Record, len(cs))
	for i, c := range cs {
		out[i] = r.records[c.Now.ID]
		out[i].ID = c.Now.ID
	}
	return out
}

// judge is the conflict that the model sees in cs.
func (r *random) judge(cs []store.Change) *store.Conflict {
	present := r.present(cs)
	owners := make(map[store.Alias]store.ID)
	for _, held := range r.records {
		i := slices.IndexFunc(cs, func(c store.Change) bool { return c.Now.ID == held.ID })
		for _, a := range held.Aliases {
			if i < 0 || slices.Contains(cs[i].Now.Aliases, a) {
				owners[a] = held.ID
			}
		}
	}
	taken := make(map[store.Alias]store.ID)
	for i, c := range cs {
		if c.Was != present[i].Version {
			return &store.Conflict{Present: present}
		}
		for _, a := range c.Now.Aliases {
			if owner, owned := owners[a]; owned && owner != c.Now.ID {
				taken[a] = owner
			} else {
				owners[a] = c.Now.ID
			}
		}
	}
	if len(taken) > 0 {
		return &store.Conflict{Present: present, Taken: taken}
	}
	return nil
}

// accept makes the model what cs make of it. Versions are the engine's.
func (r *random) accept(cs []store.Change, stored []store.Record) {
	r.Helper()
	before := r.version
	for i, c := range cs {
		want := c.Now
		want.Version = stored[i].Version
		if want.State == store.Gone {
			want.Version = 0
			delete(r.records, want.ID)
			delete(r.bodies, want.ID)
		} else {
			if want.Version <= before {
				r.Errorf("%v: version %d does not come after %d", want.ID, want.Version, before)
			}
			r.version = max(r.version, want.Version)
			r.records[want.ID] = want
			if c.Payload != nil {
				delete(r.bodies, want.ID)
			}
			if len(c.Payload) > 0 {
				r.bodies[want.ID] = string(c.Payload)
			}
		}
		r.equal("what is stored", stored[i], want)
	}
}

// expireSome lets time pass. What expired two days ago must go, and what has not
// expired must stay; in between, the engine is free.
func (r *random) expireSome() {
	r.Helper()
	r.now = r.now.Add(time.Duration(r.rng.IntN(3*24*60)) * time.Minute)
	limit := 1 + r.rng.IntN(40)
	n, err := r.store.Expire(r.ctx, r.now, limit)
	if err != nil && r.heal == nil {
		r.Fatalf("Expire: %v", err)
	}
	if errors.Is(err, store.ErrUnknown) {
		r.heal()
	}
	gone := 0
	for _, held := range slices.Collect(maps.Values(r.records)) {
		expired := func(at time.Time) bool {
			return held.State == store.Completed && !held.ExpiresAt.IsZero() && !held.ExpiresAt.After(at)
		}
		there := r.get(held.ID)[0].Version != 0
		switch {
		case !there && !expired(r.now):
			r.Errorf("%+v is gone before its time, at %v", held, r.now)
		case there && expired(r.now.Add(-48*time.Hour)) && n < limit && err == nil:
			r.Errorf("%+v is still there, at %v", held, r.now)
		case !there:
			delete(r.records, held.ID)
			delete(r.bodies, held.ID)
			gone++
		}
	}
	if err == nil {
		r.equal("how many are gone", n, gone)
	}
}

func (r *random) compare(of []store.ID) {
	r.Helper()
	for i, have := range r.get(of...) {
		want := r.records[of[i]]
		want.ID = of[i]
		r.equal("record", have, want)
		r.equal("payload", string(r.body(of[i])), r.bodies[of[i]])
	}
}

func (r *random) compareAlias(a store.Alias) {
	r.Helper()
	var want store.ID
	for _, held := range r.records {
		if slices.Contains(held.Aliases, a) {
			want = held.ID
		}
	}
	r.equal(fmt.Sprintf("owner of %v", a), r.find(a), want)
}

// compareAll compares the whole store.
func (r *random) compareAll() {
	r.Helper()
	for _, q := range []store.Query{
		{Limit: 1 + r.rng.IntN(20)},
		{Operation: "a", Limit: 3}, {Operation: ".note", Limit: 1},
		{States: []store.State{store.Ambiguous, store.Processing}, Limit: 1 + r.rng.IntN(5)},
		{States: []store.State{store.Completed, store.FailedRetryable}, Operation: "b"},
	} {
		want := make(map[store.ID]store.Record)
		for of, held := range r.records {
			if (q.Operation == of.Operation || q.Operation == "" && !isOwn(of)) && (len(q.States) == 0 || slices.Contains(q.States, held.State)) {
				want[of] = held
			}
		}
		found := r.scan(q)
		r.equal(fmt.Sprintf("how many %+v finds", q), len(found), len(want))
		for _, have := range found {
			r.equal(fmt.Sprintf("found by %+v", q), have, want[have.ID])
		}
	}
	for kind := range store.AliasKind(2) {
		for value := range 8 {
			r.compareAlias(store.Alias{Kind: kind + 1, Value: fmt.Sprint(value)})
		}
	}
	r.compareDue()
	want := make(map[string]map[store.State]int64)
	for of, held := range r.records {
		if isOwn(of) {
			continue
		}
		if want[of.Operation] == nil {
			want[of.Operation] = make(map[store.State]int64)
		}
		want[of.Operation][held.State]++
	}
	stats, err := r.store.Stats(r.ctx)
	if err != nil {
		r.Fatalf("Stats: %v", err)
	}
	r.equal("counts", stats.Records, want)
}

func (r *random) compareDue() {
	r.Helper()
	at := r.now.Add(24 * time.Hour)
	var want []store.Record
	for _, held := range r.records {
		if held.State == store.Processing && !held.Deadline.IsZero() && !held.Deadline.After(at) {
			want = append(want, held)
		}
	}
	have := r.due(at, 1000)
	if !slices.IsSortedFunc(have, func(a, b store.Record) int { return a.Deadline.Compare(b.Deadline) }) {
		r.Errorf("due, not the oldest first: %+v", have)
	}
	byID := func(a, b store.Record) int { return compareIDs(a.ID, b.ID) }
	slices.SortFunc(want, byID)
	slices.SortFunc(have, byID)
	if len(want)+len(have) > 0 && !reflect.DeepEqual(have, want) {
		r.Errorf("due:\ngot  %+v\nwant %+v", have, want)
	}
}

func asTheModel(s *suite) {
	for seed := range uint64(3) {
		s.dir = s.TempDir()
		s.stop()
		s.start()
		Random(s.T, s.store, seed, 300, nil)
	}
}
