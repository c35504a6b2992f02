//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package boltstore

import (
	"os"
	"syscall"
)

// keepOwner gives f the owner and group of another file: root may rewrite a store
// that its server, another user, must open afterwards.
func keepOwner(f, like *os.File) error {
	want, err := like.Stat()
	if err != nil {
		return err
	}
	have, err := f.Stat()
	if err != nil {
		return err
	}
	w, h := want.Sys().(*syscall.Stat_t), have.Sys().(*syscall.Stat_t)
	if w.Uid == h.Uid && w.Gid == h.Gid {
		return nil
	}
	return f.Chown(int(w.Uid), int(w.Gid))
}

// unlock gives up the lock that bbolt took on f. Closing f would not do: a
// mapping that is left behind keeps the lock.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
