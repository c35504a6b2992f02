package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// filled is the file of a closed store with n records of each state.
func filled(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate.db")
	s := open(t, path)
	for _, state := range store.States() {
		var cs []store.Change
		for i := range n {
			cs = append(cs, store.Change{Now: recordOf(fmt.Sprintf("%v_%05d", state, i), state)})
		}
		mustApply(t, s, cs...)
	}
	check(t, s.Close())
	return path
}

func copyFile(t *testing.T, from string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	check(t, err)
	to := filepath.Join(t.TempDir(), "copy.db")
	check(t, os.WriteFile(to, b, fileMode))
	return to
}

// The mark of a clean stop stands in the file only while nobody has it open.
func TestCleanStop(t *testing.T) {
	path := filled(t, 10)
	s := open(t, path)
	if s.Inspected() != nil {
		t.Error("a store that was closed is looked at as if it had been killed")
	}
	killed := copyFile(t, path) // what a kill would leave
	check(t, s.Close())
	if c, err := Check(t.Context(), path, Options{}); err != nil || !c.Clean || c.Records != 40 || c.Bytes == 0 {
		t.Errorf("the closed file: %+v, %v", c, err)
	}
	for n, want := range []bool{true, false} {
		k := open(t, killed)
		if got := k.Inspected(); (got != nil) != want || want && !got.Whole {
			t.Errorf("opened for the %d. time: %+v", n+1, got)
		}
		check(t, k.Close())
	}
}

func TestCheckNeedsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	if _, err := Check(t.Context(), path, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if names := entries(t, path); len(names) != 0 {
		t.Errorf("made: %v", names)
	}
	for name, c := range map[string]struct {
		make func(*testing.T, string)
		want error
	}{
		"text": {text(10), ErrForeign}, "foreign": {foreign, ErrForeign}, "newer": {format(schema + 1), ErrNewerFormat}, "damaged": {damaged, ErrDamaged},
	} {
		path := filepath.Join(t.TempDir(), "gate.db")
		c.make(t, path)
		if _, err := Check(t.Context(), path, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	s := opened(t)
	if _, err := Check(t.Context(), s.Path(), Options{Timeout: 10 * time.Millisecond}); !errors.Is(err, ErrInUse) {
		t.Errorf("in use: got %v", err)
	}
}

// Whatever page is lost, and wherever the file is cut off: it is said, with the path,
// and the process lives. A page that is in use is never lost unseen.
func TestDamage(t *testing.T) {
	path := filled(t, 60)
	whole, err := os.ReadFile(path)
	check(t, err)
	page := os.Getpagesize()
	used := usedPages(t, path)
	if len(used) < 20 {
		t.Fatalf("only %d pages to damage", len(used))
	}
	try := func(name string, content []byte) {
		t.Helper()
		spoilt := filepath.Join(t.TempDir(), "gate.db")
		check(t, os.WriteFile(spoilt, content, fileMode))
		_, err := Check(t.Context(), spoilt, Options{})
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), spoilt) {
			t.Errorf("%s: got %v, want ErrDamaged, and the path", name, err)
		}
		if s, err := Open(spoilt, Options{}); err == nil {
			_ = s.Close()
		}
	}
	branches := 0
	for i, n := range used {
		spoilt := bytes.Clone(whole)
		copy(spoilt[n*page:], bytes.Repeat([]byte{byte(i % 2 * 0x55)}, page))
		try(fmt.Sprintf("page %d", n), spoilt)
		// Where its first element points to: astray.
		spoilt = bytes.Clone(whole)
		switch spoilt[n*page+8] { // flags (bbolt 1.5.0, internal/common)
		case 1: // branch: the number of a page
			binary.NativeEndian.PutUint64(spoilt[n*page+24:], 1<<24)
			branches++
		case 2: // leaf: where the key stands
			binary.NativeEndian.PutUint32(spoilt[n*page+20:], 0xffffff00)
		default:
			continue
		}
		try(fmt.Sprintf("first element of page %d", n), spoilt)
	}
	if branches == 0 {
		t.Error("no branch page was damaged")
	}
	for n := 1; n <= used[len(used)-1]; n += 5 {
		try(fmt.Sprintf("cut before page %d", n), whole[:n*page])
		try(fmt.Sprintf("cut in page %d", n), whole[:n*page+100])
	}
}

// usedPages are the numbers of pages in use behind the meta pages.
func usedPages(t *testing.T, path string) (used []int) {
	t.Helper()
	db, err := bbolt.Open(path, fileMode, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	check(t, err)
	defer db.Close()
	check(t, db.View(func(tx *bbolt.Tx) error {
		for n := 2; ; n++ {
			info, err := tx.Page(n)
			if err != nil || info == nil {
				return err
			}
			if info.Type == "leaf" || info.Type == "branch" || info.Type == "freelist" {
				used = append(used, n)
			}
		}
	}))
	return used
}

// A record that contradicts itself, a count and an alias that are wrong are found.
func TestCheckReadsRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	s := open(t, path)
	odd := recordOf("evt_1", store.Completed)
	odd.Deadline = odd.ExpiresAt
	mustApply(t, s, store.Change{Now: odd})
	check(t, s.Close())
	if _, err := Check(t.Context(), path, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a completed record with a deadline: got %v", err)
	}
}

// The walk through a large file that has lost a page notices it.
func TestWalk(t *testing.T) {
	path := filled(t, 500)
	db, err := bbolt.Open(path, fileMode, nil)
	check(t, err)
	defer db.Close()
	check(t, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			if done, err := walkBack(name, b, time.Now().Add(time.Hour)); !done || err != nil {
				t.Errorf("bucket %q: %t, %v", name, done, err)
			}
			return nil
		})
	}))
}
