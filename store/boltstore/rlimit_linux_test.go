package boltstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/n8n-gate/n8n-gate/store"
)

func init() { parts["fill the disk"] = fillTheDisk }

// TestFullDisk lets another process run into a limit on the size of its files,
// which bbolt meets in its system calls as it meets a full disk.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	check(t, process(t, "fill the disk", path).Run())
	checkFile(t, path)
	s := open(t, path)
	defer s.Close()
	for n, want := range []bool{true, false, true, false, true} {
		if got := stands(t, s, n) != 0; got != want {
			t.Errorf("record %d is there: %t, want %t", n, got, want)
		}
	}
}

func fillTheDisk(path string) error {
	s, err := openSmall(path)
	if err != nil {
		return err
	}
	if err := storeBig(s, 0); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	for n, limit := range map[int]int64{1: info.Size(), 3: 2 * int64(os.Getpagesize())} {
		if err := hitTheLimit(s, n, uint64(limit)); err != nil {
			return fmt.Errorf("limit of %d bytes: %w", limit, err)
		}
	}
	return s.Close()
}

// hitTheLimit tries to store record n under a limit, which fails: the file cannot
// grow, or no page but the meta pages can be written. Then, without it, n+1.
func hitTheLimit(s *Store, n int, limit uint64) error {
	if err := limitFiles(limit); err != nil {
		return err
	}
	for range 3 {
		// bbolt does not wrap every cause, so it is known by its words.
		err := storeBig(s, n)
		if !errors.Is(err, store.ErrNotStored) || !strings.Contains(err.Error(), unix.EFBIG.Error()) {
			return fmt.Errorf("Apply: got %w, want ErrNotStored because of %w", err, unix.EFBIG)
		}
		got, err := s.Get(context.Background(), claim(0).Now.ID, claim(n).Now.ID)
		if err != nil || got[0].Version == 0 || got[1].Version != 0 {
			return fmt.Errorf("Get: %v, %w", got, err)
		}
	}
	if err := limitFiles(unix.RLIM_INFINITY); err != nil {
		return err
	}
	return storeBig(s, n+1)
}

// allocSize is what bbolt grows its file by here. The default is 16 MiB, which
// would have to be filled first.
const allocSize = 64 << 10

// openSmall opens a new store whose file has no room.
func openSmall(path string) (*Store, error) {
	s, err := Open(path, Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	if err := os.Truncate(path, 2*allocSize); err != nil { // behind the pages in use
		return nil, err
	}
	if s, err = Open(path, Options{}); err == nil {
		s.file.db.AllocSize = allocSize
	}
	return s, err
}

// storeBig stores record n with a payload for which the file must grow.
func storeBig(s *Store, n int) error {
	c := claim(n)
	c.Payload = make([]byte, 4*allocSize)
	_, err := s.Apply(context.Background(), c)
	return err
}

func limitFiles(size uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, nil, &now); err != nil {
		return err
	}
	now.Cur = min(size, now.Max)
	return unix.Prlimit(0, unix.RLIMIT_FSIZE, &now, nil)
}
