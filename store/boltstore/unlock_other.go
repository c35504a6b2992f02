//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package boltstore

import "os"

// unlock has nothing to do: here, closing the file ends the lock.
func unlock(*os.File) {}
