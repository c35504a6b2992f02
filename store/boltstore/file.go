package boltstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	dirMode  = 0o700 // receipts hold business data: nobody else's to read
	fileMode = 0o600
)

// file is an open database and the descriptor that it writes through.
type file struct {
	db *bbolt.DB
	os *os.File
}

// openFile opens and locks the database at path and creates it, with its
// directory, if it is not there. Errors are in the operator's words.
func openFile(path string, o Options) (*file, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, explain(path, fmt.Errorf("creating the directory of the store: %w", err))
	}
	if err := checkPlace(dir, o.AllowNetwork); err != nil {
		return nil, explain(path, err)
	}
	f, err := openNamed(path, o.Timeout)
	if err != nil {
		return nil, explain(path, err)
	}
	// bbolt syncs the file, not the directory that names it: after a loss of
	// power a new store could be gone with all that was promised in it.
	syncDir(dir)
	syncDir(filepath.Dir(dir))
	return f, nil
}

// openTries is how often a file may be replaced while it is opened.
const openTries = 3

// openNamed opens the file that has the name path once it is locked: while this
// process waited for the lock, another one may have put a new file there (Compact),
// and what is written to the old one would be lost.
func openNamed(path string, timeout time.Duration) (*file, error) {
	for range openTries {
		f, err := openBolt(path, timeout, mapSize(runtime.GOOS))
		if errors.Is(err, syscall.ENOMEM) { // a limit on address space: do without
			f, err = openBolt(path, timeout, 0)
		}
		if err != nil || f.named(path) {
			return f, err
		}
		_ = f.close(nil)
	}
	return nil, fmt.Errorf("%w again and again while it was opened", ErrGone)
}

func openBolt(path string, timeout time.Duration, mmap int) (*file, error) {
	f := new(file)
	err := guard(func() (err error) {
		f.db, err = bbolt.Open(path, fileMode, &bbolt.Options{
			Timeout:         timeout,
			FreelistType:    bbolt.FreelistMapType,
			InitialMmapSize: mmap,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				opened, err := os.OpenFile(name, flag, mode)
				f.os = opened
				return opened, err
			},
		})
		return err
	})
	var panicked *panicError
	if errors.As(err, &panicked) && f.os != nil {
		_ = f.abandon() // bbolt closes it on an error, not on a panic
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// close releases the file, after failed ended its use (nil: nothing did).
func (f *file) close(failed error) error {
	if errors.As(failed, new(*panicError)) {
		return f.abandon()
	}
	return f.db.Close()
}

// abandon releases the file without bbolt, which after a panic may hold locks
// that its own Close would wait for. The mapping stays until the process ends.
func (f *file) abandon() error {
	unlock(f.os)
	return f.os.Close()
}

// explain says in the operator's words why the store at path cannot be opened, and
// what to do.
func explain(path string, err error) error {
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		holder := "is another Caddy running, or still stopping?"
		if who := lockHolder(path); who != "" {
			holder = who
		}
		return fmt.Errorf("the store %s is %w (%s); one process at a time may open it", path, ErrInUse, holder)
	case errors.Is(err, ErrNetwork):
		return fmt.Errorf("the store %s would lie %w; move it to a local disk, or say allow_network_file_system", path, err)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("the file %s is %w: %w", path, ErrForeign, err)
	case statErr == nil && info.IsDir():
		return fmt.Errorf("the store %s is a directory: the path of a file is wanted: %w", path, err)
	case errors.Is(err, ErrDamaged):
		return fmt.Errorf("opening the store %s: %w; nothing was written to it: keep it, and put a backup in its place", path, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("opening the store %s: the file or its directory is not writable by this user: %w", path, err)
	}
	noSpace := explainSpace(err)
	if noSpace == nil && statErr == nil && info.Size() > 0 && info.Size() < 2*int64(os.Getpagesize()) { // less than the roots
		return fmt.Errorf("the file %s is %w, or was cut off: %w", path, ErrForeign, err)
	}
	return fmt.Errorf("opening the store %s: %w", path, cmp.Or(noSpace, err))
}

// persist makes what can be read durable. A commit whose last sync failed has
// left its meta page, the root of everything, in the page cache, perhaps marked
// as clean though it never reached the disk: Linux reports a failed write-back
// once. A sync alone could then succeed without writing anything, so both meta
// pages are written once more, as they are. What they point to was synced
// before them.
func (f *file) persist() error {
	page := int64(f.db.Info().PageSize)
	metas := make([]byte, 2*page)
	if _, err := f.os.ReadAt(metas, 0); err != nil {
		return fmt.Errorf("reading the meta pages: %w", err)
	}
	if _, err := f.os.WriteAt(metas, 0); err != nil {
		return fmt.Errorf("writing the meta pages: %w", err)
	}
	if err := f.os.Sync(); err != nil {
		return fmt.Errorf("syncing the meta pages: %w", err)
	}
	return nil
}

// syncDir makes the names in dir durable, where the system can do that.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return // no right to read it
	}
	_ = d.Sync() // not all file systems can
	_ = d.Close()
}

// mapSize is the address space reserved for the file: while the file is smaller,
// growing it never has to wait for readers. It costs nothing but addresses; on 32
// bit these are dear, and Windows would make the file as large at once.
func mapSize(goos string) int {
	var size uint64 = 8 << 30
	if goos == "windows" || size > math.MaxInt {
		return 0
	}
	return int(size)
}
