//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package boltstore

import (
	"os"
	"syscall"
	"testing"
)

// lockFile locks a store's file as another process would.
func lockFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	check(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { check(t, f.Close()) }
}
