package boltstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/storetest"
)

// These tests hold the rules that index.go states, each alone; and all of them at
// random.

// named is the n-th claim with one alias.
func named(n int, alias string) store.Change {
	c := claim(n)
	c.Now.Aliases = []store.Alias{token(alias)}
	return c
}

func token(value string) store.Alias { return store.Alias{Kind: store.AliasToken, Value: value} }

// within has during called inside the next transaction: when everything is
// written but not committed, or when it is committed but its callers do not know.
func within(s *Store, committed bool, during func()) {
	real, done := s.update, false
	s.update = func(fn func(*bbolt.Tx) error) error {
		if done {
			return real(fn)
		}
		done = true
		if committed {
			err := real(fn)
			during()
			return err
		}
		return real(func(tx *bbolt.Tx) error {
			err := fn(tx)
			during()
			return err
		})
	}
}

func finds(t *testing.T, s *Store, a store.Alias) store.ID {
	t.Helper()
	id, err := s.Find(t.Context(), a)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Find: %v", err)
	}
	return id
}

// TestEntriesComeBeforeTheCommit: who reads a commit finds what it brought, though
// the writer has not said so yet.
func TestEntriesComeBeforeTheCommit(t *testing.T) {
	s := opened(t)
	other := mustApply(t, s, claim(2))[0]
	within(s, true, func() {
		if stands(t, s, 1) == 0 || finds(t, s, token("new")) != claim(1).Now.ID {
			t.Error("a new record is in the file and is not found")
		}
		if finds(t, s, token("added")) != other.ID {
			t.Error("a new alias is in the file and is not found")
		}
	})
	add := named(2, "added")
	add.Was = other.Version
	mustApply(t, s, named(1, "new"), add)
}

// TestEntriesStayUntilTheCommit: what a transaction takes away is found until it
// is committed, and if it never is.
func TestEntriesStayUntilTheCommit(t *testing.T) {
	for _, fails := range []bool{false, true} {
		s := opened(t)
		stored := mustApply(t, s, named(1, "one"), named(2, "two"), named(3, "three"))
		past(t, s, 3)
		there := func() bool {
			return stands(t, s, 1) != 0 && finds(t, s, token("one")) == stored[0].ID &&
				finds(t, s, token("two")) == stored[1].ID && stands(t, s, 3) != 0 && finds(t, s, token("three")) == stored[2].ID
		}
		within(s, false, func() {
			if !there() {
				t.Error("what is not committed has an effect")
			}
			if fails {
				panic(errDisk)
			}
		})
		gives := claim(2)
		gives.Was = stored[1].Version
		_, err := s.Apply(t.Context(), store.Change{Was: stored[0].Version, Now: store.Record{ID: stored[0].ID}}, gives)
		if fails == (err == nil) || fails != there() {
			t.Errorf("the commit fails: %t; Apply: %v; all is still there: %t", fails, err, there())
		}
		s.broken = nil // bbolt gave way before it committed, and holds no lock
		within(s, false, func() {
			if stands(t, s, 3) == 0 {
				t.Error("what is being carried forward is not found")
			}
			if fails {
				panic(errDisk)
			}
		})
		if _, err := s.Expire(t.Context(), time.Now(), 10); fails == (err == nil) {
			t.Errorf("Expire: %v", err)
		}
		s.broken = nil
		if stands(t, s, 3) == 0 || finds(t, s, token("three")) != stored[2].ID {
			t.Error("what was carried forward, or not, is not found")
		}
	}
}

// past lets the planned day of the n-th claim be over.
func past(t *testing.T, s *Store, n int) {
	t.Helper()
	check(t, age(t.Context(), s, claim(n).Now.ID))
}

// age moves a record to the day before today.
func age(ctx context.Context, s *Store, id store.ID) error {
	return s.submit(ctx, &op{run: func(b *batch) error {
		r, err := b.record(id)
		if err == nil {
			b.carry(r, r.Record, day(time.Now())-1)
		}
		return err
	}})
}

// TestReadersBeginAnew: an entry is removed between the beginning of a snapshot
// and the look-up that needs it.
func TestReadersBeginAnew(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, s *Store, r store.Record){
		"carried forward": func(t *testing.T, s *Store, r store.Record) {
			if _, err := s.Expire(t.Context(), time.Now(), 10); err != nil {
				t.Error(err)
			}
		},
		"deleted and made again": func(t *testing.T, s *Store, r store.Record) {
			mustApply(t, s, store.Change{Was: r.Version, Now: store.Record{ID: r.ID}})
			mustApply(t, s, named(1, "one"))
		},
		"given to another": func(t *testing.T, s *Store, r store.Record) {
			gives := claim(1)
			gives.Was = r.Version
			mustApply(t, s, gives, named(2, "one"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t)
			r := mustApply(t, s, named(1, "one"))[0]
			past(t, s, 1)
			tries := 0
			err := s.look(t.Context(), func(found *snapshot) error {
				if tries++; tries == 1 {
					change(t, s, r)
				}
				byName, err := found.record(r.ID)
				check(t, err)
				byAlias, err := found.owner(token("one"))
				check(t, err)
				if tries > 1 && (byName.Version == 0 || byAlias.Version == 0) {
					t.Error("not found in a new snapshot")
				}
				return nil
			})
			if err != nil || tries != 2 {
				t.Errorf("%d tries, %v", tries, err)
			}
		})
	}
}

// TestEpochComesFirst: when the first entry goes, epoch has counted it.
func TestEpochComesFirst(t *testing.T) {
	s := opened(t)
	r := mustApply(t, s, claim(1))[0]
	epoch := s.index.epoch.Load()
	shard := s.index.shard(s.index.hashID(r.ID))
	shard.mu.RLock()
	done := make(chan error)
	go func() {
		_, err := s.Apply(context.Background(), store.Change{Was: r.Version, Now: store.Record{ID: r.ID}})
		done <- err
	}()
	for shard.mu.TryRLock() { // until the writer waits to remove the entry
		shard.mu.RUnlock()
		runtime.Gosched()
	}
	if s.index.epoch.Load() == epoch {
		t.Error("a reader that misses the entry would not begin anew")
	}
	shard.mu.RUnlock()
	check(t, <-done)
}

// TestOneOfTwo: in each snapshot, one of two records is there, while they take
// turns and while they are carried from day to day.
func TestOneOfTwo(t *testing.T) {
	s := opened(t)
	there := mustApply(t, s, named(2, "turn"))[0]
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := s.Get(context.Background(), claim(1).Now.ID, claim(2).Now.ID)
				if err != nil || len(got) != 2 || (got[0].Version == 0) == (got[1].Version == 0) {
					t.Errorf("not one of two: %v, %v", got, err)
					return
				}
				id, err := s.Find(context.Background(), token("turn"))
				if err != nil {
					t.Errorf("nobody has the alias: %v %v", id, err)
					return
				}
			}
		})
	}
	for n := range 60 {
		cs := []store.Change{named(1+n%2, "turn"), {Was: there.Version, Now: store.Record{ID: there.ID}}}
		there = mustApply(t, s, cs...)[0]
		past(t, s, 1+n%2)
		if _, err := s.Expire(t.Context(), time.Now(), 10); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	readers.Wait()
}

// TestDuplicatesDoNotWait: a claim of what was claimed is answered while the
// writer is busy, and a claim that may win is not.
func TestDuplicatesDoNotWait(t *testing.T) {
	s := opened(t)
	stored := mustApply(t, s, claim(1))[0]
	h := halt(s)
	first := h.start(t.Context(), claim(2))
	<-h.begun
	_, err := s.Apply(t.Context(), claim(1))
	var c *store.Conflict
	if !errors.As(err, &c) || c.Present[0].Version != stored.Version {
		t.Errorf("got %v, want a conflict", err)
	}
	same := h.start(t.Context(), claim(2)) // is in the index, and in no commit
	h.queued(t, 1)
	h.release <- struct{}{}
	if o := <-first; o.err != nil {
		t.Error(o.err)
	}
	<-h.begun
	h.release <- struct{}{}
	if o := <-same; !errors.As(o.err, &c) {
		t.Errorf("got %v, want a conflict", o.err)
	}
}

// TestAliasesInOneGroup: operations of one commit see what those before them did.
func TestAliasesInOneGroup(t *testing.T) {
	s := opened(t)
	stands := mustApply(t, s, named(1, "moves"))[0]
	h := halt(s)
	first := h.start(t.Context(), claim(0))
	<-h.begun
	var group []<-chan outcome
	gives := claim(1)
	gives.Was = stands.Version
	for n, c := range []store.Change{
		named(2, "wanted twice"), named(3, "wanted twice"), // the second loses
		named(4, "moves"),        // still taken
		gives, named(5, "moves"), // now free
		named(6, "gone"),                         // and with its record
		{Now: store.Record{ID: claim(8).Now.ID}}, // what is not there may go
	} {
		group = append(group, h.start(t.Context(), c))
		h.queued(t, n+1)
	}
	h.release <- struct{}{}
	<-first
	<-h.begun
	h.release <- struct{}{}
	for n, loses := range []bool{false, true, true, false, false, false, false} {
		o := <-group[n]
		var c *store.Conflict
		if errors.As(o.err, &c) != loses || loses && len(c.Taken) != 1 || !loses && o.err != nil {
			t.Errorf("operation %d: %v, loses: %t", n, o.err, loses)
		}
	}
	if finds(t, s, token("wanted twice")) != claim(2).Now.ID || finds(t, s, token("moves")) != claim(5).Now.ID {
		t.Error("an alias has another owner")
	}
}

// TestIndexAfterDoubt: what the index does waits until the outcome is known.
func TestIndexAfterDoubt(t *testing.T) {
	for _, stored := range []bool{false, true} {
		s := opened(t)
		was := mustApply(t, s, named(1, "old"))[0]
		persist := s.persist
		s.persist = func() error { return errDisk }
		real := s.update
		var lock func()
		s.update = func(fn func(*bbolt.Tx) error) error {
			s.update = real
			err := real(func(tx *bbolt.Tx) error {
				if err := fn(tx); err != nil || stored {
					return err
				}
				return errDisk
			})
			if !stored { // nobody can look what became of it
				check(t, s.file.db.Close())
				lock = lockFile(t, s.Path())
			}
			return errors.Join(err, errDisk)
		}
		change := named(1, "new")
		change.Was = was.Version
		if _, err := s.Apply(t.Context(), change, named(2, "another")); !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		if !stored {
			lock()
		}
		s.persist = persist
		want := map[bool]string{true: "new", false: "old"}[stored]
		for _, alias := range []string{"old", "new"} {
			if got := finds(t, s, token(alias)); (got == was.ID) != (alias == want) {
				t.Errorf("stored: %t; alias %q: %v", stored, alias, got)
			}
		}
		if (stands(t, s, 2) != 0) != stored {
			t.Errorf("stored: %t; the other record: %d", stored, stands(t, s, 2))
		}
		// opened compares the index with a new one
	}
}

// TestRandom works beside a simple model, on names that collide or do not, and on
// a disk that works or does not.
func TestRandom(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		s := opened(t)
		if seed%2 == 1 {
			s.index.mask = few
		}
		var heal func()
		if seed/2%2 == 1 {
			heal = unreliable(s, seed)
		}
		storetest.Random(t, s, seed, 400, heal)
	}
}

// unreliable has commits fail now and then, before or after; and now and then
// nobody can say which, until heal is called.
func unreliable(s *Store, seed uint64) (heal func()) {
	rng := rand.New(rand.NewPCG(seed, 7))
	real, persist := s.update, s.persist
	var mu sync.Mutex
	sick := false
	s.persist = func() error {
		mu.Lock()
		defer mu.Unlock()
		if sick {
			return errDisk
		}
		return persist()
	}
	s.update = func(fn func(*bbolt.Tx) error) error {
		switch rng.IntN(8) {
		case 0:
			return errDisk
		case 1:
			return real(func(tx *bbolt.Tx) error { return errors.Join(fn(tx), errDisk) })
		case 2:
			return errors.Join(real(fn), errDisk)
		case 3:
			err := real(fn)
			if err == nil {
				mu.Lock()
				sick = true
				mu.Unlock()
			}
			return errors.Join(err, errDisk)
		}
		return real(fn)
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		sick = false
	}
}
