package boltstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/storetest"
)

// A test binary that finds these in its environment plays another process: the
// part that is named, on the file that is named.
const (
	partEnv = "BOLTSTORE_TEST_PART"
	pathEnv = "BOLTSTORE_TEST_PATH"
)

var parts = map[string]func(path string) error{
	"work until killed": workUntilKilled,
	"hold the lock":     holdTheLock,
}

func TestMain(m *testing.M) {
	if part := os.Getenv(partEnv); part != "" {
		if err := parts[part](os.Getenv(pathEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// process is another process that plays a part; it is not started yet.
func process(t *testing.T, part, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), partEnv+"="+part, pathEnv+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, dir string) store.Store {
		return open(t, filepath.Join(dir, "n8n_gate", "gate.db"))
	})
}

// TestConformanceWithCollisions: the same, where all names have a few hashes.
func TestConformanceWithCollisions(t *testing.T) {
	storetest.Run(t, func(t *testing.T, dir string) store.Store {
		s := open(t, filepath.Join(dir, "gate.db"))
		s.index = &index{seed: s.index.seed, mask: few}
		check(t, s.rebuild())
		return s
	})
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened is a new store that is closed, checked and opened once more at the end.
func opened(t *testing.T) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate.db")
	s := open(t, path)
	t.Cleanup(func() {
		checkIndex(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		checkFile(t, path)
	})
	return s
}

// checkFile has bbolt check the structure of the file, and compares the counts
// and indexes with the records.
func checkFile(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, fileMode, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("structure of the file: %v", err)
		}
		return checkBuckets(t, tx)
	})
	if err != nil {
		t.Error(err)
	}
}

func checkBuckets(t *testing.T, tx *bbolt.Tx) error {
	t.Helper()
	want, have := make(map[string]bool), make(map[string]bool)
	payloads := make(map[string]bool) // keys that may have one
	counts := make(map[string]uint64)
	visit := func(at spot, v []byte) error {
		r, err := decode(v)
		if err != nil {
			return err
		}
		if at.own != nil && string(ownKey(r.ID)) != string(at.own) || isOwn(r.Operation) != (at.own != nil) {
			t.Errorf("record %v stands at %q", r.ID, at.key())
		}
		if last := lastDay(*r, time.Now()); r.State == store.Completed && last < at.place.day() {
			t.Errorf("record %v stays until day %d, want %d", r.ID, at.place.day(), last)
		}
		if key := at.unsettledKey(r.State); key != nil {
			want["unsettled"+string(key)+string(dueTime(*r))] = true
		}
		if key := at.ownExpiryKey(*r); key != nil {
			want["own_expiry"+string(key)] = true
		}
		payloads[string(at.payloadKey())] = true
		counts[string(countKey(r.Operation, r.State))]++
		return nil
	}
	err := errors.Join(
		tx.Bucket(bucketRecords).ForEach(func(k, v []byte) error { return visit(spot{place: place(decodeUint(k))}, v) }),
		tx.Bucket(bucketOwn).ForEach(func(k, v []byte) error { return visit(spot{own: k}, v) }),
	)
	for _, name := range [][]byte{bucketUnsettled, bucketOwnExpiry} {
		err = errors.Join(err, tx.Bucket(name).ForEach(func(k, v []byte) error {
			have[string(name)+string(k)+string(v)] = true
			return nil
		}))
	}
	for entry := range want {
		if !have[entry] {
			t.Errorf("missing: %q", entry)
		}
	}
	for entry := range have {
		if !want[entry] {
			t.Errorf("left behind: %q", entry)
		}
	}
	stored := 0
	return errors.Join(err, tx.Bucket(bucketPayloads).ForEach(func(k, _ []byte) error {
		if !payloads[string(k)] {
			t.Errorf("a payload without a record: %q", k)
		}
		return nil
	}), tx.Bucket(bucketCounts).ForEach(func(k, v []byte) error {
		if stored++; counts[string(k)] != decodeUint(v) {
			t.Errorf("count %q is %d, want %d", k, decodeUint(v), counts[string(k)])
		}
		return nil
	}), func() error {
		if stored != len(counts) {
			t.Errorf("%d counts, want %d", stored, len(counts))
		}
		return nil
	}())
}

// entries are all of an index, sorted.
func (x *index) entries() (all []entry) {
	for i := range x.shards {
		for _, e := range x.shards[i].slots {
			if !e.empty() {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.place(), b.place()))
	})
	return all
}

// checkIndex compares the index of s with one that is made anew. Nobody writes
// meanwhile.
func checkIndex(t *testing.T, s *Store) {
	t.Helper()
	fresh := &Store{file: s.file, index: &index{seed: s.index.seed, mask: s.index.mask}}
	if err := fresh.rebuild(); err != nil {
		t.Errorf("rebuilding: %v", err)
	}
	if have, want := s.index.entries(), fresh.index.entries(); !slices.Equal(have, want) {
		t.Errorf("the index has %d entries, one that is made anew %d, or others", len(have), len(want))
	}
}

// claim is a change that makes the n-th claim.
func claim(n int) store.Change {
	return store.Change{Now: store.Record{
		ID:    store.ID{Operation: "op", EventKey: fmt.Sprintf("evt_%05d", n)},
		State: store.Processing, Attempt: 1, Deadline: time.Unix(1_800_000_000, 0).UTC(),
	}}
}

func mustApply(t *testing.T, s *Store, cs ...store.Change) []store.Record {
	t.Helper()
	stored, err := s.Apply(t.Context(), cs...)
	if err != nil {
		t.Fatalf("Apply: %v", err)
	}
	return stored
}

// stands reports the version that the n-th claim's record has.
func stands(t *testing.T, s *Store, n int) uint64 {
	t.Helper()
	got, err := s.Get(t.Context(), claim(n).Now.ID)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return got[0].Version
}
