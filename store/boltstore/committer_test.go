package boltstore

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// halted is a store whose writer stops before each transaction until released.
type halted struct {
	*Store
	begun   chan struct{} // gets one for each transaction
	release chan struct{}
	commits int // that succeeded; to be read when the writer rests
}

func halt(s *Store) *halted {
	h := &halted{Store: s, begun: make(chan struct{}), release: make(chan struct{})}
	real := s.update
	s.update = func(fn func(*bbolt.Tx) error) error {
		h.begun <- struct{}{}
		<-h.release
		err := real(fn)
		if err == nil {
			h.commits++
		}
		return err
	}
	return h
}

// outcome is what an Apply in the background returned.
type outcome struct {
	stored []store.Record
	err    error
}

func (h *halted) start(ctx context.Context, cs ...store.Change) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		stored, err := h.Apply(ctx, cs...)
		out <- outcome{stored, err}
	}()
	return out
}

// queued waits until n operations are in the queue.
func (h *halted) queued(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(h.queue) != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d operations in the queue, want %d", len(h.queue), n)
		}
	}
}

func TestGroupCommit(t *testing.T) {
	s := opened(t)
	h := halt(s)
	first := h.start(t.Context(), claim(0))
	<-h.begun

	var group []<-chan outcome
	for n := range 10 {
		group = append(group, h.start(t.Context(), claim(n)))
		h.queued(t, n+1)
	}
	again := h.start(t.Context(), claim(5)) // sees the claim before it, in the same group
	h.queued(t, 11)
	h.release <- struct{}{}
	if o := <-first; o.err != nil {
		t.Fatal(o.err)
	}
	<-h.begun
	h.release <- struct{}{}
	for n, out := range group {
		o := <-out
		var c *store.Conflict
		if n == 0 && errors.As(o.err, &c) {
			continue // had been claimed by the group before
		}
		if o.err != nil || stands(t, s, n) != o.stored[0].Version {
			t.Errorf("claim %d: %v", n, o.err)
		}
	}
	var c *store.Conflict
	if o := <-again; !errors.As(o.err, &c) || c.Present[0].Version != stands(t, s, 5) {
		t.Errorf("the second claim in a group: got %v, want a conflict that shows the first", o.err)
	}
	if h.commits != 2 {
		t.Errorf("%d commits, want 2", h.commits)
	}
}

func TestConflictsCostNoCommit(t *testing.T) {
	s := opened(t)
	before := mustApply(t, s, claim(1))[0].Version
	for range 3 {
		if _, err := s.Apply(t.Context(), claim(1)); err == nil {
			t.Fatal("claimed twice")
		}
	}
	if after := mustApply(t, s, claim(2))[0].Version; after != before+2 { // one is the commit's own
		t.Errorf("version %d after %d", after, before)
	}
}

func TestContextEndsInTheQueue(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "gate.db"), Options{Queue: 1})
	check(t, err)
	defer s.Close()
	h := halt(s)
	ctx, cancel := context.WithCancel(t.Context())
	taken := h.start(ctx, claim(1))
	<-h.begun
	queued := h.start(ctx, claim(2))
	h.queued(t, 1)
	outside := h.start(ctx, claim(3)) // no room
	cancel()
	for _, out := range []<-chan outcome{queued, outside} {
		if o := <-out; !errors.Is(o.err, store.ErrNotStored) || !errors.Is(o.err, context.Canceled) {
			t.Errorf("not taken: got %v, want ErrNotStored because of the context", o.err)
		}
	}
	h.release <- struct{}{}
	if o := <-taken; o.err != nil || stands(t, s, 1) == 0 {
		t.Errorf("taken: got %v, want the outcome", o.err)
	}
	if stands(t, s, 2) != 0 || stands(t, s, 3) != 0 {
		t.Error("what was given up was stored")
	}
}

func TestOneSpoiltOperationAmongOthers(t *testing.T) {
	s := opened(t)
	h := halt(s)
	first := h.start(t.Context(), claim(0))
	<-h.begun
	good := h.start(t.Context(), claim(1))
	h.queued(t, 1)
	bad := make(chan error, 1)
	go func() { bad <- s.submit(t.Context(), &op{run: func(*batch) error { panic("page 7: invalid") }}) }()
	h.queued(t, 2)
	go func() { // the group, and then each alone
		for range 3 {
			<-h.begun
			h.release <- struct{}{}
		}
	}()
	h.release <- struct{}{}
	<-first
	if o := <-good; o.err != nil || stands(t, s, 1) == 0 {
		t.Errorf("the others: %v", o.err)
	}
	if err := <-bad; !errors.Is(err, store.ErrNotStored) || !errors.Is(err, ErrDamaged) {
		t.Errorf("the one: got %v, want ErrNotStored because of ErrDamaged", err)
	}
}

func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	s := open(t, path)
	h := halt(s)
	first := h.start(t.Context(), claim(1))
	<-h.begun
	second := h.start(t.Context(), claim(2))
	h.queued(t, 1)
	var closing sync.WaitGroup
	for range 2 {
		closing.Go(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	h.release <- struct{}{}
	<-h.begun
	h.release <- struct{}{}
	for _, out := range []<-chan outcome{first, second} {
		if o := <-out; o.err != nil {
			t.Errorf("what was queued: %v", o.err)
		}
	}
	closing.Wait()

	if _, err := s.Apply(t.Context(), claim(3)); !errors.Is(err, ErrClosed) || !errors.Is(err, store.ErrNotStored) {
		t.Errorf("Apply: got %v, want ErrClosed and ErrNotStored", err)
	}
	_, getErr := s.Get(t.Context(), claim(1).Now.ID)
	_, scanErr := s.Scan(t.Context(), store.Query{})
	_, expireErr := s.Expire(t.Context(), time.Now(), 1)
	for _, err := range []error{getErr, scanErr, expireErr} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	s = open(t, path)
	defer s.Close()
	if stands(t, s, 1) == 0 || stands(t, s, 2) == 0 {
		t.Error("what was queued was not stored")
	}
}

// TestScanIsBounded: a page ends after so many looks, whatever the filter finds.
func TestScanIsBounded(t *testing.T) {
	s := opened(t)
	for chunk := range 11 {
		cs := make([]store.Change, 1000)
		for i := range cs {
			cs[i] = claim(chunk*1000 + i)
		}
		mustApply(t, s, cs...)
	}
	q := store.Query{Reason: "no record's"}
	page, err := s.Scan(t.Context(), q)
	if err != nil || len(page.Records) != 0 || page.Next == "" {
		t.Fatalf("got %d records, next %q, %v", len(page.Records), page.Next, err)
	}
	q.After = page.Next
	if page, err = s.Scan(t.Context(), q); err != nil || page.Next != "" {
		t.Errorf("second page: next %q, %v", page.Next, err)
	}
	// Of what is not completed, those in other states are not even looked at.
	if page, err = s.Scan(t.Context(), store.Query{States: []store.State{store.Ambiguous, store.FailedRetryable}}); err != nil || page.Next != "" {
		t.Errorf("a scan of other states: next %q, %v", page.Next, err)
	}
	big := claim(0)
	big.Was = stands(t, s, 0)
	big.Now.Receipt = &store.Receipt{Body: make([]byte, maxBytes)}
	mustApply(t, s, big)
	if page, err = s.Scan(t.Context(), store.Query{}); err != nil || len(page.Records) != 1 || page.Next == "" {
		t.Errorf("a page with a big record: %d records, next %q, %v", len(page.Records), page.Next, err)
	}
}
