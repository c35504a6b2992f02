package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// compactTx bounds one transaction of a Compact, which is held in memory.
const compactTx = 16 << 20

// Compacted describes what a Compact did.
type Compacted struct {
	Path   string `json:"path"`
	Old    string `json:"old,omitempty"` // the former file; empty if it was not kept
	Before int64  `json:"bytes_before"`
	After  int64  `json:"bytes_after"`
	Pairs  int    `json:"pairs"` // keys with their values, all compared
}

// Compact writes the store at path anew, without the room that deleted records left
// behind, and puts the new file in the place of the old one, which stays as path.old
// if keep is true. Nobody may have the store open: ErrInUse. The old file's structure
// is checked first, and the new file is compared with it pair by pair, before it gets
// its name; a crash at any moment leaves one of them there, whole. It needs as much
// room beside the file as the records take.
func Compact(ctx context.Context, path string, keep bool, o Options) (Compacted, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Compacted{}, fmt.Errorf("compacting: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // the file, not a link to it, is replaced
		return Compacted{}, fmt.Errorf("compacting: no store: %w", err)
	}
	old := path + ".old"
	if _, err := os.Lstat(old); keep && err == nil {
		return Compacted{}, fmt.Errorf("compacting: %s: %w; move it away, or do not keep the old file", old, fs.ErrExist)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if _, _, err := checkFileOf(path, o); err != nil {
		return Compacted{}, err
	}
	out := Compacted{Path: path}
	if keep {
		out.Old = old
	}
	src, err := openFile(path, o)
	if err != nil {
		return Compacted{}, err
	}
	err = guard(func() error { return out.rewrite(ctx, src) })
	if closeErr := src.close(err); err == nil {
		err = closeErr
	}
	if err != nil {
		return Compacted{}, fmt.Errorf("compacting %s: %w", path, cmp.Or(explainSpace(err), err))
	}
	return out, nil
}

// rewrite does it, with the old file locked.
func (c *Compacted) rewrite(ctx context.Context, src *file) (err error) {
	f, err := os.CreateTemp(filepath.Dir(c.Path), "."+filepath.Base(c.Path)+".*.compact")
	if err != nil {
		return err
	}
	partial := f.Name()
	defer func() { _ = os.Remove(partial) }() // its name is another one if all went well
	if err := f.Close(); err != nil {
		return err
	}
	dst, err := openBolt(partial, defaultTimeout, 0)
	if err != nil {
		return err
	}
	// Locked until it has its name: who opens it then finds all of it.
	defer func() { err = errors.Join(err, dst.close(err)) }()
	dst.db.NoSync = true // nobody needs it before it is whole
	if err := bbolt.Compact(dst.db, src.db, compactTx); err != nil {
		return err
	}
	if c.Pairs, err = compare(ctx, src.db, dst.db); err != nil {
		return err
	}
	if err := dst.os.Sync(); err != nil {
		return err
	}
	if c.Before, err = sizeOf(src.os); err != nil {
		return err
	}
	if c.After, err = sizeOf(dst.os); err != nil {
		return err
	}
	if err := keepOwner(dst.os, src.os); err != nil {
		return fmt.Errorf("giving the new file the owner of the old one: %w", err)
	}
	if c.Old != "" {
		if err := os.Link(c.Path, c.Old); err != nil {
			return fmt.Errorf("keeping the old file: %w", err)
		}
	}
	if err := os.Rename(partial, c.Path); err != nil {
		return err
	}
	syncDir(filepath.Dir(c.Path))
	return nil
}

func sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// errDiffers: the new file is not what the old one is.
var errDiffers = errors.New("the new file differs from the old one, which stays as it is")

// compare makes sure that both files hold the same pairs in the same buckets.
func compare(ctx context.Context, a, b *bbolt.DB) (pairs int, err error) {
	err = a.View(func(was *bbolt.Tx) error {
		return b.View(func(is *bbolt.Tx) error {
			return comparePairs(ctx, was.Cursor(), is.Cursor(), func(name []byte) (*bbolt.Bucket, *bbolt.Bucket) {
				return was.Bucket(name), is.Bucket(name)
			}, &pairs)
		})
	})
	return pairs, err
}

func comparePairs(ctx context.Context, was, is *bbolt.Cursor, bucket func([]byte) (*bbolt.Bucket, *bbolt.Bucket), pairs *int) error {
	k, v := was.First()
	l, w := is.First()
	for ; k != nil || l != nil; k, v = was.Next() {
		if !bytes.Equal(k, l) || !bytes.Equal(v, w) || (v == nil) != (w == nil) {
			return errDiffers
		}
		if v == nil { // a bucket
			x, y := bucket(k)
			if x == nil || y == nil || x.Sequence() != y.Sequence() {
				return errDiffers
			}
			inner := func(name []byte) (*bbolt.Bucket, *bbolt.Bucket) { return x.Bucket(name), y.Bucket(name) }
			if err := comparePairs(ctx, x.Cursor(), y.Cursor(), inner, pairs); err != nil {
				return err
			}
		} else if *pairs++; *pairs%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l, w = is.Next()
	}
	return nil
}
