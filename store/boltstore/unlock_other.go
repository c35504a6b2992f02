//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package boltstore

import "os"

// keepOwner: who may write to a directory decides here.
func keepOwner(_, _ *os.File) error { return nil }

// unlock has nothing to do: here, closing the file ends the lock.
func unlock(*os.File) {}
