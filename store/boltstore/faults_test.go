package boltstore

import (
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

var errDisk = errors.New("input/output error (injected)")

// disk is what bbolt writes through. It can be told to fail.
type disk struct {
	real func(b []byte, off int64) (int, error)
	fail func(meta bool) fault
}

type fault int

const (
	works       fault = iota
	failsBefore       // nothing is written
	failsTorn         // the first bytes are written
	failsAfter        // all is written, and an error reported all the same
)

// onDisk puts a disk under s. fail is asked before each write of a page.
func onDisk(s *Store, fail func(meta bool) fault) {
	// A failed sync of the meta page takes the same way through Tx.Commit as a
	// write that reports an error when it is done; and this one can be made.
	ops := reflect.ValueOf(s.file.db).Elem().FieldByName("ops").FieldByName("writeAt")
	hook := (*func([]byte, int64) (int, error))(unsafe.Pointer(ops.UnsafeAddr()))
	d := &disk{*hook, fail}
	*hook = d.writeAt
}

func (d *disk) writeAt(b []byte, off int64) (int, error) {
	meta := off < 2*int64(os.Getpagesize())
	switch d.fail(meta) {
	case failsBefore:
		return 0, errDisk
	case failsTorn:
		n, _ := d.real(b[:40], off) // a part of the meta page, which is shorter than 100 bytes
		return n, errDisk
	case failsAfter:
		n, _ := d.real(b, off)
		return n, errDisk
	}
	return d.real(b, off)
}

func TestFailedCommit(t *testing.T) {
	on := func(wantMeta bool, f fault) func(bool) fault {
		return func(meta bool) fault {
			if meta == wantMeta {
				return f
			}
			return works
		}
	}
	for _, c := range []struct {
		name    string
		disk    func(meta bool) fault
		persist error
		want    error // of Apply
		stored  bool
	}{
		{name: "data pages", disk: on(false, failsBefore), want: store.ErrNotStored},
		{name: "data pages, in the end", disk: on(false, failsAfter), want: store.ErrNotStored},
		{name: "meta page", disk: on(true, failsBefore), want: store.ErrNotStored},
		{name: "meta page, torn", disk: on(true, failsTorn), want: store.ErrNotStored},
		{name: "meta page, in the end", disk: on(true, failsAfter), stored: true},
		{name: "meta page, in the end, and it stays so", disk: on(true, failsAfter), persist: errDisk, want: store.ErrUnknown, stored: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := opened(t)
			first := mustApply(t, s, claim(1))[0]
			var failing atomic.Bool
			failing.Store(true)
			onDisk(s, func(meta bool) fault {
				if failing.Load() {
					return c.disk(meta)
				}
				return works
			})
			persist := s.persist
			s.persist = func() error {
				if failing.Load() && c.persist != nil {
					return c.persist
				}
				return persist()
			}
			_, err := s.Apply(t.Context(), claim(2))
			if !errors.Is(err, c.want) || (c.want != nil && !errors.Is(err, errDisk)) {
				t.Fatalf("Apply: got %v, want %v", err, c.want)
			}
			if errors.Is(c.want, store.ErrUnknown) {
				inDoubt(t, s)
			}
			if _, err := s.Apply(t.Context(), claim(3)); err == nil && c.want != nil {
				t.Error("Apply worked on a disk that does not")
			}
			failing.Store(false) // and without a restart:
			if got := stands(t, s, 2) != 0; got != c.stored {
				t.Errorf("stored: %t, want %t", got, c.stored)
			}
			last := mustApply(t, s, claim(4))[0]
			if stands(t, s, 1) != first.Version || stands(t, s, 4) != last.Version {
				t.Error("what was acknowledged is not there")
			}
		})
	}
}

// inDoubt: nobody may read what could be gone again, nor write on top of it.
func inDoubt(t *testing.T, s *Store) {
	t.Helper()
	id := claim(1).Now.ID
	_, getErr := s.Get(t.Context(), id)
	_, findErr := s.Find(t.Context(), store.Alias{})
	_, scanErr := s.Scan(t.Context(), store.Query{})
	_, payloadErr := s.Payload(t.Context(), id)
	_, statsErr := s.Stats(t.Context())
	for _, err := range []error{getErr, findErr, scanErr, payloadErr, statsErr} {
		if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, errDisk) {
			t.Errorf("a read in doubt: got %v, want ErrUnknown", err)
		}
	}
	_, err := s.Apply(t.Context(), claim(9))
	if !errors.Is(err, store.ErrNotStored) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("a write in doubt: got %v, want ErrNotStored", err)
	}
}

// TestFailedTransaction injects failures around the whole transaction.
func TestFailedTransaction(t *testing.T) {
	for _, c := range []struct {
		name   string
		update func(real func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx) error) error
		want   error
	}{
		{"before it begins", func(_ func(func(*bbolt.Tx) error) error, _ func(*bbolt.Tx) error) error { return errDisk }, store.ErrNotStored},
		{"before the commit", func(real func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx) error) error {
			return real(func(tx *bbolt.Tx) error { return errors.Join(fn(tx), errDisk) })
		}, store.ErrNotStored},
		{"after the commit", func(real func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx) error) error {
			return errors.Join(real(fn), errDisk)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := opened(t)
			real, failed := s.update, false
			s.update = func(fn func(*bbolt.Tx) error) error {
				if failed {
					return real(fn)
				}
				failed = true
				return c.update(real, fn)
			}
			stored, err := s.Apply(t.Context(), claim(1))
			if !errors.Is(err, c.want) || (c.want == nil && stored[0].Version != stands(t, s, 1)) {
				t.Errorf("got %v %v, want %v", stored, err, c.want)
			}
			if got := stands(t, s, 1) != 0; got != (c.want == nil) {
				t.Errorf("stored: %t", got)
			}
			mustApply(t, s, claim(2))
		})
	}
}

// TestReopen: bbolt has lost its mapping of the file, as when it could not map
// more of it.
func TestReopen(t *testing.T) {
	s := opened(t)
	mustApply(t, s, claim(1))
	check(t, s.file.db.Close())
	if _, err := s.Apply(t.Context(), claim(2)); !errors.Is(err, store.ErrNotStored) {
		t.Errorf("got %v, want ErrNotStored", err)
	}
	mustApply(t, s, claim(3))
	if stands(t, s, 1) == 0 || stands(t, s, 2) != 0 || stands(t, s, 3) == 0 {
		t.Error("the wrong records are there")
	}
}

// TestPanic: nobody waits for ever because bbolt fell over the file.
func TestPanic(t *testing.T) {
	s := opened(t)
	mustApply(t, s, claim(1))
	s.update = func(func(*bbolt.Tx) error) error { panic("page 4 already freed") }
	for range 2 {
		if _, err := s.Apply(t.Context(), claim(2)); !errors.Is(err, store.ErrNotStored) || !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v, want ErrNotStored because of ErrDamaged", err)
		}
	}
	if stands(t, s, 1) == 0 {
		t.Error("reads do not work any more")
	}
	err := s.view(t.Context(), func(*bbolt.Tx) error { panic("no such page") })
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("a read that panics: got %v, want ErrDamaged", err)
	}
}

// TestDiskComesAndGoes works on pairs of records that always change together,
// while the disk fails every so often in every way it can.
func TestDiskComesAndGoes(t *testing.T) {
	const pairs, rounds = 4, 150
	s := opened(t)
	var failing atomic.Bool
	chance := func(n int) bool { return failing.Load() && rand.IntN(n) == 0 }
	onDisk(s, func(meta bool) fault {
		if meta && chance(3) {
			return []fault{failsBefore, failsTorn, failsAfter, failsAfter}[rand.IntN(4)]
		}
		if !meta && chance(40) {
			return failsBefore
		}
		return works
	})
	persist := s.persist
	s.persist = func() error {
		if chance(2) {
			return errDisk
		}
		return persist()
	}
	for n := range pairs {
		mustApply(t, s, claim(2*n), claim(2*n+1))
	}
	failing.Store(true)
	var readers, writers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() { readPairs(t, s, pairs, done) })
	}
	for n := range pairs {
		writers.Go(func() { writePair(t, s, n, rounds) })
	}
	writers.Wait()
	failing.Store(false)
	close(done)
	readers.Wait()
	for n := range pairs {
		mustApply(t, s, claim(100+n))
	}
}

// readPairs checks in every snapshot that both halves of each pair are of one age.
func readPairs(t *testing.T, s *Store, pairs int, done chan struct{}) {
	for n := 0; ; n = (n + 1) % pairs {
		select {
		case <-done:
			return
		default:
		}
		got, err := s.Get(t.Context(), claim(2*n).Now.ID, claim(2*n+1).Now.ID)
		if err != nil && !errors.Is(err, store.ErrUnknown) {
			t.Errorf("Get: %v", err)
			return
		}
		if err == nil && got[0].ActionID != got[1].ActionID {
			t.Errorf("pair %d: %q beside %q", n, got[0].ActionID, got[1].ActionID)
			return
		}
	}
}

// writePair changes pair n and follows what must stand there: its last change
// that was stored, or one whose outcome was unknown.
func writePair(t *testing.T, s *Store, n, rounds int) {
	one, two := claim(2*n).Now, claim(2*n+1).Now
	stored := ""
	maybe := map[string]bool{}
	for round := range rounds {
		have, err := s.Get(t.Context(), one.ID, two.ID)
		if err != nil {
			continue // in doubt
		}
		if at := have[0].ActionID; at != stored && !maybe[at] {
			t.Errorf("pair %d: %q is there, want %q or one of %v", n, at, stored, maybe)
			return
		}
		stored, maybe = have[0].ActionID, map[string]bool{}
		one.ActionID = strconv.Itoa(round)
		one.Receipt = &store.Receipt{Body: make([]byte, rand.IntN(9000))}
		two.ActionID = one.ActionID
		_, err = s.Apply(t.Context(), store.Change{Was: have[0].Version, Now: one}, store.Change{Was: have[1].Version, Now: two})
		switch {
		case err == nil:
			stored = one.ActionID
		case errors.Is(err, store.ErrUnknown):
			maybe[one.ActionID] = true
		case !errors.Is(err, store.ErrNotStored):
			t.Errorf("Apply: %v", err)
		}
	}
}

// TestReadersAreLetOutFirst: bbolt would overwrite the pages that they read.
func TestReadersAreLetOutFirst(t *testing.T) {
	s := opened(t)
	mustApply(t, s, claim(1))
	var failing atomic.Bool
	onDisk(s, func(meta bool) fault {
		if meta && failing.Swap(false) {
			return failsAfter
		}
		return works
	})
	answered := make(chan error, 1)
	err := s.view(t.Context(), func(tx *bbolt.Tx) error {
		failing.Store(true)
		go func() {
			_, err := s.Apply(t.Context(), claim(2))
			answered <- err
		}()
		for s.gate.TryRLock() { // until somebody waits at the gate
			s.gate.RUnlock()
			if len(answered) > 0 {
				t.Error("the writer went on")
				break
			}
			runtime.Gosched()
		}
		return nil
	})
	check(t, err)
	check(t, <-answered)
}
