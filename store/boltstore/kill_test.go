package boltstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

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

// killsEnv is how often TestKill kills: 500 in the long run, before a release.
// Without it, 40 times; with -short, 5 times.
const killsEnv = "BOLTSTORE_KILLS"

// workOnce makes one record, completes it and carries it forward. It makes another
// one and deletes it.
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
	if err := age(context.Background(), s, r.ID); err != nil {
		return err
	}
	if _, err := s.Expire(context.Background(), time.Now(), 10); err != nil {
		return err
	}
	fmt.Println(r.EventKey, r.Version)

	other := store.Record{ID: store.ID{Operation: "op", EventKey: "gone" + r.EventKey}, State: store.Ambiguous}
	other.Aliases = []store.Alias{{Kind: store.AliasToken, Value: other.EventKey}}
	stored, err := s.Apply(context.Background(), store.Change{Now: other, Payload: []byte(other.EventKey)})
	if err != nil {
		return err
	}
	gone := store.Change{Was: stored[0].Version, Now: store.Record{ID: other.ID}}
	if _, err := s.Apply(context.Background(), gone); err != nil {
		return err
	}
	fmt.Println(other.EventKey, 0)
	return nil
}

// TestKill: whatever is acknowledged is there after a kill -9, and the file is whole.
func TestKill(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	if kills := os.Getenv(killsEnv); kills != "" {
		var err error
		rounds, err = strconv.Atoi(kills)
		check(t, err)
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
		body, bodyErr := s.Payload(t.Context(), id)
		owner, aliasErr := s.Find(t.Context(), store.Alias{Kind: store.AliasToken, Value: key})
		if version == 0 { // it was deleted
			if got[0].Version != 0 || !errors.Is(bodyErr, store.ErrNotFound) || !errors.Is(aliasErr, store.ErrNotFound) {
				t.Errorf("%s: deleted, and there is version %d, payload %q, alias %v", key, got[0].Version, body, owner)
			}
			continue
		}
		if got[0].Version < version {
			t.Errorf("%s: version %d was acknowledged, %d is there", key, version, got[0].Version)
		}
		if bodyErr != nil || string(body) != key || aliasErr != nil || owner != id {
			t.Errorf("%s: payload %q, %v; alias %v, %v", key, body, bodyErr, owner, aliasErr)
		}
	}
}
