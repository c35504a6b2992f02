package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/n8n-gate/n8n-gate/store"
)

// memory is a tiny Store that keeps the contract of the calls that Update and a
// Ledger make. The others are nil and panic.
type memory struct {
	Store
	// script says what happens to the first Applies, one entry each; nil, and
	// all that come after, are carried out.
	script []func(commit func() ([]Record, error)) ([]Record, error)
	getErr error
	nowErr error

	mu      sync.Mutex
	applies int
	gets    int
	ticks   int
	seq     uint64
	records map[ID]Record
	owners  map[Alias]ID
}

func newMemory() *memory { return &memory{records: map[ID]Record{}, owners: map[Alias]ID{}} }

func (m *memory) Now(context.Context) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ticks++
	return epoch.Add(time.Duration(m.ticks) * time.Second), m.nowErr
}

func (m *memory) Get(_ context.Context, ids ...ID) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gets++
	if m.getErr != nil {
		return nil, m.getErr
	}
	out := make([]Record, len(ids))
	for i, id := range ids {
		out[i] = m.stands(id)
	}
	return out, nil
}

func (m *memory) stands(id ID) Record {
	if r, ok := m.records[id]; ok {
		return deepCopy(r)
	}
	return Record{ID: id}
}

func (m *memory) Apply(ctx context.Context, cs ...Change) ([]Record, error) {
	m.mu.Lock()
	n := m.applies
	m.applies++
	m.mu.Unlock()
	commit := func() ([]Record, error) { return m.commit(ctx, cs) }
	if n < len(m.script) && m.script[n] != nil {
		return m.script[n](commit)
	}
	return commit()
}

func (m *memory) commit(ctx context.Context, cs []Change) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStored, ctx.Err())
	}
	conflict := &Conflict{Taken: map[Alias]ID{}}
	fits := true
	for _, c := range cs {
		present := m.stands(c.Now.ID)
		conflict.Present = append(conflict.Present, present)
		fits = fits && present.Version == c.Was
		for _, a := range c.Now.Aliases {
			if id, ok := m.owners[a]; ok && id != c.Now.ID && c.Now.State != Gone {
				conflict.Taken[a] = id
			}
		}
	}
	if !fits || len(conflict.Taken) > 0 {
		return nil, conflict
	}
	out := make([]Record, len(cs))
	for i, c := range cs {
		for _, a := range m.records[c.Now.ID].Aliases {
			delete(m.owners, a)
		}
		if delete(m.records, c.Now.ID); c.Now.State == Gone {
			out[i] = Record{ID: c.Now.ID}
			continue
		}
		m.seq++
		r := deepCopy(c.Now)
		r.Version = m.seq
		m.records[r.ID], out[i] = r, deepCopy(r)
		for _, a := range r.Aliases {
			m.owners[a] = r.ID
		}
	}
	return out, nil
}

// put stores r as somebody else would.
func (m *memory) put(t testing.TB, r Record) Record {
	t.Helper()
	m.mu.Lock()
	was := m.records[r.ID].Version
	m.mu.Unlock()
	stored, err := m.commit(t.Context(), []Change{{Was: was, Now: r}})
	if err != nil {
		t.Fatal(err)
	}
	return stored[0]
}

func named(key string) ID { return ID{event.Operation, key} }

// processing is a record that token's attempt owns.
func processing(t testing.TB, key, token string) Record {
	t.Helper()
	c := claimed(token)
	c.Aliases = nil
	r, err := Claim(Record{ID: named(key)}, c, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// claims is the rule of a delivery: it claims what can be claimed, and is
// content with what is its own, or in flight, already. It writes down what it saw.
type claims struct {
	token string
	saw   [][]Record
	at    []time.Time
}

func (c *claims) rule(now time.Time, have []Record) (changes []Change, err error) {
	c.saw, c.at = append(c.saw, slices.Clone(have)), append(c.at, now)
	for _, r := range have {
		if r.State == Processing {
			continue
		}
		as := claimed(c.token + r.EventKey)
		as.Aliases = nil
		next, err := Claim(r, as, now)
		if err != nil {
			return nil, err
		}
		changes = append(changes, Change{Was: r.Version, Now: next})
	}
	return changes, nil
}

var errCause = errors.New("cause")

func TestUpdate(t *testing.T) {
	type outcome = func(commit func() ([]Record, error)) ([]Record, error)
	fails := func(err error) outcome {
		return func(func() ([]Record, error)) ([]Record, error) { return nil, fmt.Errorf("%w: %w", err, errCause) }
	}
	storedUnknown := func(commit func() ([]Record, error)) ([]Record, error) {
		if _, err := commit(); err != nil {
			return nil, err
		}
		return nil, ErrUnknown
	}
	for _, tc := range []struct {
		name  string
		setup func(t *testing.T, m *memory)
		keys  []string // of the records that the caller read: absent, all of them
		// want: whose attempt owns each record that is returned ("" = absent)
		want           []string
		err            error
		asked, applies int
		gets           int
	}{
		{name: "stored at once", keys: []string{"a"}, want: []string{"me"}, asked: 1, applies: 1},
		{name: "several records at once", keys: []string{"a", "b"}, want: []string{"me", "me"}, asked: 1, applies: 1},
		{name: "conflict, then content",
			setup: func(t *testing.T, m *memory) { m.put(t, processing(t, "a", "other")) },
			keys:  []string{"a"}, want: []string{"other"}, asked: 2, applies: 1},
		{name: "conflict, then claimed from what stands there",
			setup: func(t *testing.T, m *memory) {
				r := m.put(t, processing(t, "a", "other"))
				r, err := Settle(r, settlement("other", FailedRetryable, ByResponse, false), epoch)
				if err != nil {
					t.Fatal(err)
				}
				m.put(t, r)
			},
			keys: []string{"a"}, want: []string{"me"}, asked: 2, applies: 2},
		{name: "conflict over one of several, all or none",
			setup: func(t *testing.T, m *memory) { m.put(t, processing(t, "b", "other")) },
			keys:  []string{"a", "b", "c"}, want: []string{"me", "other", "me"}, asked: 2, applies: 2},
		{name: "conflict, then the rule's own error",
			setup: func(t *testing.T, m *memory) {
				r := m.put(t, processing(t, "a", "other"))
				r, err := Settle(r, settlement("other", Completed, ByResponse, false), epoch)
				if err != nil {
					t.Fatal(err)
				}
				m.put(t, r)
			},
			keys: []string{"a"}, want: []string{"other"}, err: ErrIllegalMove, asked: 2, applies: 1},
		{name: "unknown, but stored", setup: func(t *testing.T, m *memory) { m.script = []outcome{storedUnknown} },
			keys: []string{"a", "b"}, want: []string{"me", "me"}, asked: 2, applies: 1, gets: 1},
		{name: "unknown, and not stored", setup: func(t *testing.T, m *memory) { m.script = []outcome{fails(ErrUnknown)} },
			keys: []string{"a"}, want: []string{"me"}, asked: 2, applies: 2, gets: 1},
		{name: "unknown twice, stored at last",
			setup: func(t *testing.T, m *memory) { m.script = []outcome{fails(ErrUnknown), storedUnknown} },
			keys:  []string{"a"}, want: []string{"me"}, asked: 3, applies: 2, gets: 2},
		{name: "unknown, and another came first",
			setup: func(t *testing.T, m *memory) {
				m.script = []outcome{func(func() ([]Record, error)) ([]Record, error) {
					m.put(t, processing(t, "a", "other"))
					return nil, ErrUnknown
				}}
			},
			keys: []string{"a"}, want: []string{"other"}, asked: 2, applies: 1, gets: 1},
		{name: "unknown, and not to be read",
			setup: func(t *testing.T, m *memory) { m.script, m.getErr = []outcome{storedUnknown}, errCause },
			keys:  []string{"a"}, want: []string{""}, err: ErrUnknown, asked: 1, applies: 1, gets: 1},
		{name: "not stored", setup: func(t *testing.T, m *memory) { m.script = []outcome{fails(ErrNotStored)} },
			keys: []string{"a"}, want: []string{""}, err: ErrNotStored, asked: 1, applies: 1},
		{name: "not stored after a conflict",
			setup: func(t *testing.T, m *memory) {
				m.put(t, processing(t, "b", "other"))
				m.script = []outcome{nil, fails(ErrNotStored)}
			},
			keys: []string{"a", "b"}, want: []string{"", "other"}, err: ErrNotStored, asked: 2, applies: 2},
		{name: "an error of no known kind", setup: func(t *testing.T, m *memory) { m.script = []outcome{fails(errCause)} },
			keys: []string{"a"}, want: []string{""}, err: errCause, asked: 1, applies: 1},
		{name: "no clock", setup: func(t *testing.T, m *memory) { m.nowErr = errCause },
			keys: []string{"a"}, want: []string{""}, err: errCause},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, c := newMemory(), &claims{token: "me"}
			if tc.setup != nil {
				tc.setup(t, m)
			}
			var have []Record
			for _, key := range tc.keys {
				have = append(have, Record{ID: named(key)})
			}
			got, err := Update(t.Context(), m, have, c.rule)
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if len(c.saw) != tc.asked || m.applies != tc.applies || m.gets != tc.gets {
				t.Errorf("asked %d times, %d applies, %d reads; want %d, %d, %d",
					len(c.saw), m.applies, m.gets, tc.asked, tc.applies, tc.gets)
			}
			if len(got) != len(tc.keys) {
				t.Fatalf("%d records, want %d", len(got), len(tc.keys))
			}
			for i, r := range got {
				if r.ID != named(tc.keys[i]) || have[i].Version != 0 {
					t.Errorf("record %d is %v; what the caller read has version %d", i, r.ID, have[i].Version)
				}
				switch owner := tc.want[i]; owner {
				case "":
					if r.Version != 0 {
						t.Errorf("%s: version %d, want none", r.EventKey, r.Version)
					}
				case "me":
					owner += r.EventKey
					fallthrough
				default:
					if stored := m.records[r.ID]; !r.Owned(hashed(owner)) || stored.Version != r.Version {
						t.Errorf("%s is not owned by %q, or not what is stored (%d, %d)", r.EventKey, owner, r.Version, stored.Version)
					}
				}
			}
			for i, now := range c.at {
				if want := epoch.Add(time.Duration(i+1) * time.Second); !now.Equal(want) {
					t.Errorf("asked at %v, want the store's clock: %v", now, want)
				}
			}
		})
	}
}

func TestUpdateReadingBackKeepsBothErrors(t *testing.T) {
	m := newMemory()
	m.getErr = errCause
	m.script = []func(func() ([]Record, error)) ([]Record, error){
		func(func() ([]Record, error)) ([]Record, error) { return nil, ErrUnknown },
	}
	_, err := Update(t.Context(), m, []Record{{ID: event}}, (&claims{token: "me"}).rule)
	if !errors.Is(err, ErrUnknown) || !errors.Is(err, errCause) {
		t.Error(err)
	}
}

func TestUpdateWithNothingToDo(t *testing.T) {
	m := newMemory()
	have := []Record{m.put(t, processing(t, "a", "other"))}
	for name, want := range map[string]error{"no changes": nil, "the rule's error": errCause} {
		got, err := Update(t.Context(), m, have, func(time.Time, []Record) ([]Change, error) { return nil, want })
		if !errors.Is(err, want) || m.applies != 0 || len(got) != 1 || got[0].Version != have[0].Version {
			t.Errorf("%s: %v, %d applies", name, err, m.applies)
		}
	}
}

func TestUpdateReturnsTakenAliases(t *testing.T) {
	m := newMemory()
	fingerprint := Alias{AliasFingerprint, "body"}
	other := processing(t, "other", "other")
	other.Aliases = append(other.Aliases, fingerprint)
	m.put(t, other)
	m.put(t, processing(t, "b", "first"))
	c := &claims{token: "me"}
	got, err := Update(t.Context(), m, []Record{{ID: named("a")}, {ID: named("b")}},
		func(now time.Time, have []Record) ([]Change, error) {
			changes, err := c.rule(now, have)
			changes[0].Now.Aliases = append(changes[0].Now.Aliases, fingerprint)
			return changes, err
		})
	var conflict *Conflict
	if !errors.As(err, &conflict) || len(conflict.Taken) != 1 || conflict.Taken[fingerprint] != named("other") {
		t.Fatalf("%v", err)
	}
	if len(c.saw) != 1 || m.applies != 1 {
		t.Errorf("asked %d times: to ask again does not free an alias", len(c.saw))
	}
	if got[0].Version != 0 || !got[1].Owned(hashed("first")) || m.records[named("a")].Version != 0 {
		t.Errorf("returned %d, %d; want what stands there", got[0].Version, got[1].Version)
	}
}

func TestUpdateDeletes(t *testing.T) {
	m := newMemory()
	have := []Record{m.put(t, processing(t, "a", "me"))}
	got, err := Update(t.Context(), m, have, func(now time.Time, have []Record) ([]Change, error) {
		next, err := Undo(have[0], hashed("me"), now)
		return []Change{{Was: have[0].Version, Now: next}}, err
	})
	if err != nil || got[0].Version != 0 || got[0].ID != named("a") || len(m.records) != 0 || len(m.owners) != 0 {
		t.Errorf("%v, version %d, %d records, %d aliases", err, got[0].Version, len(m.records), len(m.owners))
	}
}

func TestUpdateGivesUp(t *testing.T) {
	m := newMemory()
	r := m.put(t, processing(t, "a", "other"))
	asked := 0
	got, err := Update(t.Context(), m, []Record{r}, func(_ time.Time, have []Record) ([]Change, error) {
		if want := m.records[r.ID].Version; have[0].Version != want {
			t.Errorf("asked with version %d, but %d stands there", have[0].Version, want)
		}
		asked++
		m.put(t, have[0]) // somebody is always faster
		return []Change{{Was: have[0].Version, Now: have[0]}}, nil
	})
	if !errors.Is(err, ErrContended) || asked != MaxTries || m.applies != MaxTries {
		t.Errorf("%v, asked %d times, %d applies; want %d", err, asked, m.applies, MaxTries)
	}
	if got[0].Version != m.records[r.ID].Version {
		t.Errorf("returned version %d, but %d stands there", got[0].Version, m.records[r.ID].Version)
	}
}

func TestUpdateStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := newMemory()
	_, err := Update(ctx, m, []Record{{ID: event}}, (&claims{token: "me"}).rule)
	if !errors.Is(err, ErrNotStored) || !errors.Is(err, context.Canceled) || len(m.records) != 0 {
		t.Errorf("%v, %d records", err, len(m.records))
	}
}

// Many deliveries of one event, all of which read that there is none.
func TestUpdateLetsOneWin(t *testing.T) {
	const deliveries = 24 // fewer than MaxTries: every loss is a change by another
	m := newMemory()
	won := make(chan string, deliveries)
	var group sync.WaitGroup
	for i := range deliveries {
		group.Go(func() {
			c := &claims{token: fmt.Sprint("delivery ", i, " ")}
			got, err := Update(t.Context(), m, []Record{{ID: named("a")}}, c.rule)
			if err != nil {
				t.Error(err)
			} else if got[0].Owned(hashed(c.token + "a")) {
				won <- c.token
			}
		})
	}
	group.Wait()
	if len(won) != 1 || m.records[named("a")].Attempt != 1 {
		t.Errorf("%d deliveries won, attempt %d", len(won), m.records[named("a")].Attempt)
	}
}
