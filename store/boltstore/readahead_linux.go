package boltstore

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// aheadPiece is what the system is asked for at a time.
const aheadPiece = 8 << 20

// readAhead asks the system for the whole file in large pieces, so that a reader
// of all of it does not wait for one page after the other. It ends when it is told to.
func (f *file) readAhead() (stop func()) {
	var stopped atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		info, err := f.os.Stat()
		for at := int64(0); err == nil && at < info.Size() && !stopped.Load(); at += aheadPiece {
			err = unix.Fadvise(int(f.os.Fd()), at, aheadPiece, unix.FADV_WILLNEED)
		}
	}()
	return func() {
		stopped.Store(true)
		<-done
	}
}
