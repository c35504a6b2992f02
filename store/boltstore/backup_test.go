package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// recordOf is one as the moves make it, in any state.
func recordOf(key string, to store.State) store.Record {
	now := time.Unix(1_800_000_000, 5).UTC()
	_, token := store.NewToken()
	r, err := store.Claim(store.Record{ID: store.ID{Operation: "op", EventKey: key}}, store.Claimed{
		Token: token, Holder: store.HolderReceipt, Incarnation: "another", Lasts: 100 * 365 * 24 * time.Hour, Retention: time.Hour,
	}, now)
	if err == nil && to != store.Processing {
		r, err = store.Settle(r, store.Settlement{Token: token, To: to, Evidence: store.ByReceipt, Reason: "receipt", Receipt: &store.Receipt{
			Status: 200, Header: []store.Field{{Name: "X-Name", Value: "J\xfcrgen"}}, Body: []byte("\x00done\xff"),
		}}, now)
	}
	if err != nil {
		panic(err)
	}
	return r
}

func quarantined(t *testing.T, s *Store) bool {
	t.Helper()
	q, err := store.QuarantineOf(t.Context(), s)
	check(t, err)
	return q.Active
}

// entries are the names in the directory of path.
func entries(t *testing.T, path string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(filepath.Dir(path))
	check(t, err)
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

// A copy that is made while others write holds what stood there at one moment: of
// what was stored together, all or nothing; and of what one writer stored one after
// the other, all up to some point.
func TestBackupWhileServing(t *testing.T) {
	s := opened(t)
	const pairs = 4
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for p := range pairs {
		left, right := recordOf(fmt.Sprintf("left_%d", p), store.Processing), recordOf(fmt.Sprintf("right_%d", p), store.Processing)
		have := mustApply(t, s, store.Change{Now: left}, store.Change{Now: right})
		writers.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				have[0].Reported, have[1].Reported = n, n
				mark := recordOf(fmt.Sprintf("mark_%d_%06d", p, n), store.Completed)
				stored, err := s.Apply(context.Background(), store.Change{Was: have[0].Version, Now: have[0]},
					store.Change{Was: have[1].Version, Now: have[1]}, store.Change{Now: mark})
				if err != nil {
					t.Errorf("Apply: %v", err)
					return
				}
				have = stored[:2]
			}
		})
	}
	for n := range 5 {
		before, err := s.Stats(t.Context())
		check(t, err)
		path := filepath.Join(t.TempDir(), "copy.db")
		made, err := s.Backup(t.Context(), path, "ann", "nightly")
		check(t, err)
		info, err := os.Stat(path)
		check(t, err)
		if made.Path != path || made.Bytes != info.Size() || made.At.IsZero() || (runtime.GOOS != "windows" && info.Mode() != fileMode) {
			t.Errorf("copy %d: %+v, %v", n, made, info.Mode())
		}
		if names := entries(t, path); len(names) != 1 {
			t.Errorf("copy %d left %v behind", n, names)
		}
		checkCopy(t, path, pairs, before.Records["op"][store.Completed])
	}
	close(stop)
	writers.Wait()
	if quarantined(t, s) {
		t.Error("the store that was copied is in quarantine")
	}
}

func checkCopy(t *testing.T, path string, pairs int, atLeast int64) {
	t.Helper()
	if checked, err := Check(t.Context(), path, Options{}); err != nil || !checked.Clean {
		t.Fatalf("the copy: %+v, %v", checked, err)
	}
	c := open(t, path)
	defer c.Close()
	if !quarantined(t, c) {
		t.Error("the copy is not in quarantine")
	}
	marks := int64(0)
	for p := range pairs {
		id := func(name string) store.ID { return store.ID{Operation: "op", EventKey: name} }
		both, err := c.Get(t.Context(), id(fmt.Sprintf("left_%d", p)), id(fmt.Sprintf("right_%d", p)))
		check(t, err)
		n := both[0].Reported
		if both[1].Reported != n {
			t.Errorf("a pair is torn: %d and %d", n, both[1].Reported)
		}
		for m := 1; m <= n+1; m++ {
			have, err := c.Get(t.Context(), id(fmt.Sprintf("mark_%d_%06d", p, m)))
			check(t, err)
			if there := have[0].Version != 0; there != (m <= n) {
				t.Fatalf("record %d is there: %t, where %d were stored", m, there, n)
			}
		}
		marks += int64(n)
	}
	if marks < atLeast {
		t.Errorf("the copy holds %d records, and %d were stored before it was begun", marks, atLeast)
	}
}

func TestBackupRefuses(t *testing.T) {
	s := opened(t)
	mustApply(t, s, claim(1))
	taken := filepath.Join(t.TempDir(), "copy.db")
	text(3)(t, taken)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		path string
		want error
	}{
		"to overwrite":                  {t.Context(), taken, fs.ErrExist},
		"to overwrite the store":        {t.Context(), s.Path(), fs.ErrExist},
		"a directory that is not there": {t.Context(), filepath.Join(taken, "x", "copy.db"), nil},
		"when nobody waits any more":    {gone, filepath.Join(t.TempDir(), "copy.db"), context.Canceled},
	} {
		if _, err := s.Backup(c.ctx, c.path, "ann", ""); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if b, err := os.ReadFile(taken); err != nil || string(b) != "xxx" {
		t.Errorf("what was there is %q now, %v", b, err)
	}
	// Who wants the readers out (a failed commit, Close) need not wait for a copy.
	path := filepath.Join(t.TempDir(), "copy.db")
	s.leaving.Add(1)
	_, err := s.Backup(t.Context(), path, "ann", "")
	s.leaving.Add(-1)
	if !errors.Is(err, errGivenWay) {
		t.Errorf("got %v, want %v", err, errGivenWay)
	}
	// Nor may a copy make the store grow without end.
	f, err := os.CreateTemp(t.TempDir(), "")
	check(t, err)
	defer f.Close()
	c := &copier{ctx: t.Context(), store: s, to: f, limit: 1}
	if _, err := c.Write(make([]byte, syncEvery)); !errors.Is(err, errGrown) {
		t.Errorf("got %v, want %v", err, errGrown)
	}
	if names := entries(t, path); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// A backup of a copy, and of a store that was accepted, are copies too.
func TestBackupOfABackup(t *testing.T) {
	s := opened(t)
	mustApply(t, s, store.Change{Now: recordOf("evt_1", store.FailedRetryable)})
	path := filepath.Join(t.TempDir(), "copy.db")
	_, err := s.Backup(t.Context(), path, "ann", "")
	check(t, err)
	for _, accept := range []bool{false, true} {
		c := open(t, path)
		if accept {
			_, err := store.Accept(t.Context(), c, store.Verdict{By: "ann", Note: "seen"})
			check(t, err)
		}
		next := filepath.Join(t.TempDir(), "copy.db")
		_, err := c.Backup(t.Context(), next, "ben", "again")
		check(t, err)
		if quarantined(t, c) == accept {
			t.Errorf("accepted: %t, in quarantine: %t", accept, !accept)
		}
		check(t, c.Close())
		if c = open(t, next); !quarantined(t, c) {
			t.Error("a copy of a copy is not in quarantine")
		}
		check(t, c.Close())
	}
}
