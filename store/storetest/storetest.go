// Package storetest is the conformance suite of store.Store: what the contract
// says in words, it asks of an engine. A fault found in one engine becomes a case
// here first.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// Factory opens the store that lives at dir and makes a new one if there is
// none. The suite closes what it opens, and opens a dir again only after that.
// An engine without files takes dir as a name.
type Factory func(t *testing.T, dir string) store.Store

// Run asks an engine for everything that a Store promises.
func Run(t *testing.T, open Factory) {
	cases := []struct {
		name string
		run  func(*suite)
	}{
		{"absent records", absent},
		{"create and read", createAndRead},
		{"one snapshot in the order asked", getOrder},
		{"records belong to the caller", ownCopies},
		{"conflicts show what stands there", conflicts},
		{"all changes or none", allOrNone},
		{"delete", deleteRecord},
		{"versions are never used twice", versions},
		{"refused changes", refused},
		{"a context that has ended", cancelled},
		{"payload", payload},
		{"aliases find", aliasFind},
		{"aliases are unique", aliasUnique},
		{"aliases are freed and move", aliasMoves},
		{"scan pages", scanPages},
		{"scan filters", scanFilters},
		{"scan while others write", scanWhileWriting},
		{"the gate's own records are hidden", hidden},
		{"due in order", due},
		{"expire", expire},
		{"the gate's own records expire", expireOwn},
		{"stats", stats},
		{"claims race", claimRace},
		{"aliases race", aliasRace},
		{"fencing", fencing},
		{"linearizable", linearizable},
		{"as a simple model", asTheModel},
		{"reopen", reopen},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{T: t, ctx: t.Context(), open: open, dir: t.TempDir()}
			s.start()
			t.Cleanup(s.stop)
			c.run(s)
		})
	}
}

// suite is one case's store and the ways to ask it.
type suite struct {
	*testing.T
	ctx   context.Context
	open  Factory
	dir   string
	store store.Store
}

func (s *suite) start() { s.store = s.open(s.T, s.dir) }

func (s *suite) stop() {
	if err := s.store.Close(); err != nil {
		s.Errorf("Close: %v", err)
	}
}

// noon is the hour in which the records of the suite live.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func id(operation string, n int) store.ID {
	return store.ID{Operation: operation, EventKey: fmt.Sprintf("evt_%04d", n)}
}

// claim is a first claim.
func claim(of store.ID) store.Record {
	return store.Record{
		ID: of, State: store.Processing, Holder: store.HolderForward, Attempt: 1, Generation: 1,
		FirstSeenAt: noon, ClaimedAt: noon, Deadline: noon.Add(2 * time.Minute),
	}
}

// completed is what a settled claim becomes.
func completed(r store.Record) store.Record {
	r.State, r.Holder, r.Evidence = store.Completed, 0, store.ByResponse
	r.SettledAt, r.Deadline = r.ClaimedAt.Add(time.Minute), time.Time{}
	r.ExpiresAt = r.SettledAt.Add(30 * 24 * time.Hour)
	r.Receipt = &store.Receipt{Status: 200, Body: []byte("done")}
	return r
}

// failed is what a claim becomes whose attempt did not act.
func failed(r store.Record) store.Record {
	r.State, r.Holder, r.Evidence = store.FailedRetryable, 0, store.ByResponse
	r.SettledAt, r.Deadline = r.ClaimedAt.Add(time.Minute), time.Time{}
	return r
}

// full has something in every field.
func full(of store.ID) store.Record {
	r := claim(of)
	r.Incarnation, r.Attempt, r.Refused, r.Reported, r.Generation = "incarnation", 4, 1, 2, 3
	r.MaxAttempts, r.Retention = 10, 30*24*time.Hour
	r.SettledAt, r.ExpiresAt = noon.Add(time.Second), noon.Add(time.Hour)
	r.KeyedAt, r.RepeatUntil, r.Doubt, r.Covers = noon.Add(time.Minute), noon.Add(time.Hour), true, "orders"
	r.Fingerprint, r.TokenHash, r.HeaderHash = store.Hash{1, 2}, store.Hash{3, 4}, store.Hash{6, 7}
	r.Execution = "instance/4711"
	r.Aliases = []store.Alias{
		{Kind: store.AliasToken, Value: of.EventKey + "\x00\xff"},
		{Kind: store.AliasExecution, Value: of.EventKey},
	}
	r.Reason, r.Evidence, r.ActionID = "timeout", store.ByPerson, "inv_456"
	r.Receipt = &store.Receipt{
		Status: 201, Header: []store.Field{{Name: "Content-Type", Value: "text/plain"}},
		Body: []byte("\x00body\xff"), BodyDropped: true, Result: []byte(`{"ok":true}`),
	}
	r.Prior = &store.Record{State: store.FailedRetryable, Attempt: 3, SettledAt: noon, ClaimedAt: noon, TokenHash: store.Hash{5}, Reason: "refused"}
	r.History = []store.Move{
		{At: noon, To: store.Processing, Attempt: 1},
		{At: noon.Add(time.Second), From: store.Processing, To: store.Ambiguous, Attempt: 4, Reason: "timeout", By: "ada", Note: "looked it up"},
	}
	return r
}

// put replaces whatever stands at the records' IDs.
func (s *suite) put(records ...store.Record) []store.Record {
	s.Helper()
	ids := make([]store.ID, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	changes := make([]store.Change, len(records))
	for i, was := range s.get(ids...) {
		changes[i] = store.Change{Was: was.Version, Now: records[i]}
	}
	return s.apply(changes...)
}

func (s *suite) apply(cs ...store.Change) []store.Record {
	s.Helper()
	stored, err := s.store.Apply(s.ctx, cs...)
	if err != nil {
		s.Fatalf("Apply: %v", err)
	}
	if len(stored) != len(cs) {
		s.Fatalf("Apply returned %d records for %d changes", len(stored), len(cs))
	}
	return stored
}

func (s *suite) conflict(cs ...store.Change) *store.Conflict {
	s.Helper()
	_, err := s.store.Apply(s.ctx, cs...)
	var c *store.Conflict
	if !errors.As(err, &c) {
		s.Fatalf("Apply: got %v, want a conflict", err)
	}
	return c
}

func (s *suite) get(ids ...store.ID) []store.Record {
	s.Helper()
	got, err := s.store.Get(s.ctx, ids...)
	if err != nil {
		s.Fatalf("Get: %v", err)
	}
	if len(got) != len(ids) {
		s.Fatalf("Get returned %d records for %d IDs", len(got), len(ids))
	}
	return got
}

// find returns the zero ID if nobody has the alias.
func (s *suite) find(a store.Alias) store.ID {
	s.Helper()
	got, err := s.store.Find(s.ctx, a)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.Fatalf("Find: %v", err)
	}
	return got
}

// body returns nil if there is no payload.
func (s *suite) body(of store.ID) []byte {
	s.Helper()
	got, err := s.store.Payload(s.ctx, of)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.Fatalf("Payload: %v", err)
	}
	if err == nil && got == nil {
		s.Fatal("Payload: no body and no error")
	}
	return got
}

// scan follows the pages to the end.
func (s *suite) scan(q store.Query) []store.Record {
	s.Helper()
	var all []store.Record
	for {
		page, err := s.store.Scan(s.ctx, q)
		if err != nil {
			s.Fatalf("Scan: %v", err)
		}
		all = append(all, page.Records...)
		if page.Next == "" {
			return all
		}
		q.After = page.Next
	}
}

func (s *suite) equal(what string, got, want any) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
	}
}

func ids(records []store.Record) []store.ID {
	var out []store.ID
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}
