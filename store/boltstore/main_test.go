package boltstore

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	want := make(map[string]bool)
	counts := make(map[string]uint64)
	err := tx.Bucket(bucketRecords).ForEach(func(k, v []byte) error {
		r, err := store.DecodeRecord(v)
		if err != nil {
			return err
		}
		if key, err := recordKey(r.ID); err != nil || string(key) != string(k) {
			t.Errorf("record %v stands at %q", r.ID, k)
		}
		if key := dueKey(r, k); key != nil {
			want["due"+string(key)] = true
		}
		if key := expiryKey(r, k); key != nil {
			want["expiry"+string(key)] = true
		}
		for _, a := range r.Aliases {
			want["aliases"+string(aliasKey(a))+"="+string(k)] = true
		}
		counts[string(countKey(r.Operation, r.State))]++
		return nil
	})
	have := make(map[string]bool)
	for _, name := range [][]byte{bucketDue, bucketExpiry, bucketAliases} {
		err = errors.Join(err, tx.Bucket(name).ForEach(func(k, v []byte) error {
			entry := string(name) + string(k)
			if len(v) > 0 {
				entry += "=" + string(v)
			}
			have[entry] = true
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
	return errors.Join(err, tx.Bucket(bucketCounts).ForEach(func(k, v []byte) error {
		if counts[string(k)] != decodeUint(v) {
			t.Errorf("count %q is %d, want %d", k, decodeUint(v), counts[string(k)])
		}
		return nil
	}))
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
