package boltstore

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrNetwork: the file lies on a network file system.
var ErrNetwork = errors.New("on a network file system")

// ErrGone: the file was moved or deleted while it was open.
var ErrGone = errors.New("the store's file was moved or deleted")

// checkPlace refuses network file systems. The lock that keeps a second process out
// does not reach other machines there, or not for sure (flock(2), nfs(5)), and what a
// server has acknowledged is not always on its disk: the two things that the store
// rests on.
func checkPlace(dir string, allowed bool) error {
	if allowed {
		return nil
	}
	if name := networkAt(dir); name != "" {
		return fmt.Errorf("%w (%s): its locks keep no second machine out, and acknowledged writes may be lost", ErrNetwork, name)
	}
	return nil
}

// networkAt names the network file system that dir lies on; empty: none that is
// known. A variable, since no test can mount one.
var networkAt = networkFileSystem

// Placed reports whether the open file still has its name: ErrGone if not. What is
// stored in a file without a name is lost when the process ends.
func (s *Store) Placed() error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if !s.file.named(s.path) {
		return fmt.Errorf("%s: %w while it was open: what is stored now is lost when this process ends; "+
			"put it back, or make a backup and stop", s.path, ErrGone)
	}
	return nil
}

// named reports whether path is the name of f.
func (f *file) named(path string) bool {
	open, err := f.os.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}

// explainSpace says in the operator's words that there is no room; nil if that is not it.
func explainSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, errQuota) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("no space is left for it: %w", err)
	}
	return nil
}
