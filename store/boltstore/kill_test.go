package boltstore

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/n8n-gate/n8n-gate/store"
)

// workUntilKilled makes and changes records from several goroutines, and prints
// the key and the version of each as soon as it is acknowledged.
func workUntilKilled(path string) error {
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for {
				if err := workOnce(s); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		})
	}
	workers.Wait()
	return nil
}

// workOnce makes one record and completes it.
func workOnce(s *Store) error {
	r := store.Record{ID: store.ID{Operation: "op", EventKey: fmt.Sprint(rand.Uint64())}, State: store.Processing}
	r.Aliases = []store.Alias{{Kind: store.AliasToken, Value: r.EventKey}}
	for _, state := range []store.State{store.Processing, store.Completed} {
		r.State = state
		r.Receipt = &store.Receipt{Body: make([]byte, rand.IntN(3000))}
		stored, err := s.Apply(context.Background(), store.Change{Was: r.Version, Now: r, Payload: []byte(r.EventKey)})
		if err != nil {
			return err
		}
		r = stored[0]
		fmt.Println(r.EventKey, r.Version) // one write, so that a kill cuts no line of another
	}
	return nil
}

// TestKill: whatever is acknowledged is there after a kill -9, and the file is whole.
func TestKill(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	path := filepath.Join(t.TempDir(), "gate.db")
	acknowledged := make(map[string]uint64)
	for range rounds {
		killAfter(t, path, rand.IntN(60), acknowledged)
		checkFile(t, path)
		checkAcknowledged(t, path, acknowledged)
	}
	if len(acknowledged) < rounds {
		t.Errorf("only %d records in %d rounds", len(acknowledged), rounds)
	}
}

// killAfter lets another process work and kills it after some acknowledgements.
func killAfter(t *testing.T, path string, lines int, acknowledged map[string]uint64) {
	t.Helper()
	worker := process(t, "work until killed", path)
	out, err := worker.StdoutPipe()
	check(t, err)
	check(t, worker.Start())
	scanner := bufio.NewScanner(out)
	for n := 0; scanner.Scan(); n++ {
		if n == lines {
			check(t, worker.Process.Kill())
		}
		var key string
		var version uint64
		if _, err := fmt.Sscan(scanner.Text(), &key, &version); err != nil {
			t.Fatalf("line %q: %v", scanner.Text(), err)
		}
		acknowledged[key] = version
	}
	_ = worker.Wait() // it was killed
}

func checkAcknowledged(t *testing.T, path string, acknowledged map[string]uint64) {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	for key, version := range acknowledged {
		id := store.ID{Operation: "op", EventKey: key}
		got, err := s.Get(t.Context(), id)
		check(t, err)
		if got[0].Version < version {
			t.Errorf("%s: version %d was acknowledged, %d is there", key, version, got[0].Version)
		}
		if body, err := s.Payload(t.Context(), id); err != nil || string(body) != key {
			t.Errorf("%s: payload %q, %v", key, body, err)
		}
	}
}
