package boltstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	// syncEvery bounds what a copy leaves to be written back at once: commits wait
	// for the same disk.
	syncEvery = 32 << 20
	// mayGrow is by how much the store may grow while it is copied, if that is more
	// than its own size. Pages that commits free meanwhile cannot be used again before
	// the copy is done, and the file never shrinks by itself.
	mayGrow = 1 << 30
	// leaveFree is what a copy must leave on its disk, which is mostly the store's too.
	leaveFree = 64 << 20
)

var (
	errGivenWay = errors.New("the copy gave way to the store, which is being closed or has to settle a failed commit; try again")
	errGrown    = errors.New("the store grows faster than it can be copied; try again when there are fewer deliveries, or onto a faster disk")
)

// Backup describes a copy that was made.
type Backup struct {
	Path  string        `json:"path"`
	Bytes int64         `json:"bytes"`
	At    time.Time     `json:"at"` // what was stored before is in it, nothing that came later
	Took  time.Duration `json:"-"`
}

// Backup writes a copy of the store to the file at path, which must not exist yet,
// while the store serves. The copy is the store as it stood at one moment: what was
// stored together is in it together, or not at all. It is checked (bbolt's own check
// of the structure) and marked as a restored copy before it gets its name: a store
// that is opened from it is in quarantine (store.QuarantineOf); this one is not. by
// and note go into the mark.
//
// The snapshot is held while the file is written, so path belongs on a local disk:
// never stream from here to somebody who may be slow. The copy ends early, with an
// error and without a file, when ctx ends, when the store is to be closed or a failed
// commit has to be settled, and when the store grows by more than its own size and
// 1 GiB meanwhile.
func (s *Store) Backup(ctx context.Context, path, by, note string) (Backup, error) {
	begin := time.Now()
	path, err := filepath.Abs(path)
	if err != nil {
		return Backup{}, fmt.Errorf("backup: %w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return Backup{}, fmt.Errorf("backup: %s: %w; it is not overwritten", path, fs.ErrExist)
	}
	partial, err := s.copyTo(ctx, path)
	if partial != "" {
		defer func() { _ = os.Remove(partial) }() // its name is another one by then
	}
	if err == nil {
		err = mark(ctx, partial, by, note)
	}
	if err == nil {
		err = publish(partial, path)
	}
	if err != nil {
		return Backup{}, fmt.Errorf("backup to %s: %w", path, cmp.Or(explainSpace(err), err))
	}
	info, err := os.Stat(path)
	if err != nil {
		return Backup{}, fmt.Errorf("backup: %w", err)
	}
	return Backup{Path: path, Bytes: info.Size(), At: begin.Round(0).UTC(), Took: time.Since(begin)}, nil
}

// copyTo writes one snapshot into a file beside path, durably, and returns its name.
func (s *Store) copyTo(ctx context.Context, path string) (partial string, err error) {
	// CreateTemp makes it for this user only (0600).
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return "", err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		if free, known := freeSpace(f); known && free < tx.Size()+leaveFree {
			return fmt.Errorf("%w: %d bytes are wanted, and %d kept free for the store itself; %d are free", syscall.ENOSPC, tx.Size(), leaveFree, free)
		}
		c := &copier{ctx: ctx, store: s, to: f, limit: tx.Size() + max(tx.Size(), mayGrow)}
		_, err := tx.WriteTo(c)
		if c.failed != nil { // bbolt does not wrap every cause
			return c.failed
		}
		return err
	})
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return f.Name(), err
}

// copier writes what a snapshot holds, unless others need the store more.
type copier struct {
	ctx    context.Context
	store  *Store
	to     *os.File
	limit  int64 // of the store's own file
	dirty  int
	failed error
}

func (c *copier) Write(b []byte) (n int, err error) {
	defer func() { c.failed = err }()
	if c.store.leaving.Load() > 0 {
		return 0, errGivenWay
	}
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	if n, err = c.to.Write(b); err != nil {
		return n, err
	}
	if c.dirty += n; c.dirty < syncEvery {
		return n, nil
	}
	c.dirty = 0
	info, err := c.store.file.os.Stat()
	switch {
	case err != nil:
		return n, err
	case info.Size() > c.limit:
		return n, errGrown
	}
	return n, c.to.Sync()
}

// mark checks the copy at path and puts it in quarantine.
func mark(ctx context.Context, path, by, note string) error {
	if _, _, err := checkFileOf(path, Options{}); err != nil {
		return err
	}
	s, err := Open(path, Options{AllowNetwork: true}) // for the length of this call, nobody else knows its name
	if err != nil {
		return err
	}
	err = store.MarkRestored(ctx, s, store.ReasonBackup, by, note)
	return errors.Join(err, s.Close())
}

// publish gives a file that is complete its name, which must not be taken, durably.
func publish(partial, path string) error {
	err := os.Link(partial, path)
	if err != nil && !errors.Is(err, fs.ErrExist) { // not all file systems have links
		if _, statErr := os.Lstat(path); statErr == nil {
			return fmt.Errorf("%s: %w; it is not overwritten", path, fs.ErrExist)
		}
		err = os.Rename(partial, path)
	}
	if err != nil {
		return err
	}
	syncDir(filepath.Dir(path))
	return nil
}

// lockGate lets the readers out, and a copy that is being made before its end.
func (s *Store) lockGate() {
	s.leaving.Add(1)
	s.gate.Lock()
	s.leaving.Add(-1)
}
