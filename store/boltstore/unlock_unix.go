//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package boltstore

import (
	"os"
	"syscall"
)

// unlock gives up the lock that bbolt took on f. Closing f would not do: a
// mapping that is left behind keeps the lock.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
