package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestOpenCreates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "n8n_gate")
	path := filepath.Join(dir, "gate.db")
	s := open(t, path)
	if !s.Created() || s.Path() != path {
		t.Errorf("created %t at %s", s.Created(), s.Path())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]fs.FileMode{dir: dirMode | fs.ModeDir, path: fileMode} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != want {
				t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
			}
		}
	}
	s = open(t, path)
	defer s.Close()
	if s.Created() {
		t.Error("a store that was there counts as new")
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want error
		says string
	}{
		{"text", text(10), ErrForeign, "not a store of n8n-gate"},
		{"more text", text(100_000), ErrForeign, "not a store of n8n-gate"},
		{"another program's database", foreign, ErrForeign, "not a store of n8n-gate"},
		{"newer format", format(schema + 1), ErrNewerFormat, "format is 3"},
		{"format of before the first release", format(1), ErrOldFormat, "never released: its format is 1, and this version reads 2"},
		{"damaged", damaged, ErrDamaged, "damaged"},
		{"a directory", func(t *testing.T, path string) { check(t, os.Mkdir(path, dirMode)) }, nil, "is a directory"},
		{"in use", func(t *testing.T, path string) {
			s := open(t, path)
			t.Cleanup(func() { check(t, s.Close()) })
		}, ErrInUse, "is in use by another process"},
		{"not writable", func(t *testing.T, path string) {
			if os.Geteuid() == 0 || runtime.GOOS == "windows" {
				t.Skip("no rights are missing")
			}
			check(t, os.Chmod(filepath.Dir(path), 0o500))
		}, fs.ErrPermission, "not writable by this user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "gate.db")
			c.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := Open(path, Options{Timeout: 10 * time.Millisecond})
			if err == nil || (c.want != nil && !errors.Is(err, c.want)) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %v, with %q and the path", err, c.want, c.says)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("what was there has changed")
			}
		})
	}
	t.Run("no directory", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		text(1)(t, path)
		if _, err := Open(filepath.Join(path, "gate.db"), Options{}); err == nil || !strings.Contains(err.Error(), "creating the directory") {
			t.Errorf("got %v", err)
		}
	})
}

func text(size int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		check(t, os.WriteFile(path, bytes.Repeat([]byte("x"), size), fileMode))
	}
}

func foreign(t *testing.T, path string) {
	edit(t, path, func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("another"))
		return err
	})
}

func format(number uint64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		check(t, open(t, path).Close())
		edit(t, path, func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketMeta).Put(metaSchema, encodeUint(number))
		})
	}
}

// damaged overwrites everything behind the meta pages.
func damaged(t *testing.T, path string) {
	check(t, open(t, path).Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	check(t, err)
	defer f.Close()
	_, err = f.WriteAt(bytes.Repeat([]byte{0x55}, 14*os.Getpagesize()), 2*int64(os.Getpagesize()))
	check(t, err)
}

func edit(t *testing.T, path string, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, fileMode, nil)
	check(t, err)
	check(t, db.Update(fn))
	check(t, db.Close())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holdTheLock opens the store, says so, and keeps it until its input ends.
func holdTheLock(path string) error {
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

func TestOpenWhileAnotherProcessHasIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	other := process(t, "hold the lock", path)
	in, err := other.StdinPipe()
	check(t, err)
	out, err := other.StdoutPipe()
	check(t, err)
	check(t, other.Start())
	if _, err := io.ReadFull(out, make([]byte, len("open\n"))); err != nil {
		t.Fatalf("the other process did not open the store: %v", err)
	}
	if _, err := Open(path, Options{Timeout: 10 * time.Millisecond}); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	check(t, in.Close())
	s := open(t, path) // waits for the other one
	check(t, other.Wait())
	check(t, s.Close())
}
