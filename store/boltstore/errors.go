package boltstore

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/n8n-gate/n8n-gate/store"
)

var (
	// ErrClosed: the store was closed before the call.
	ErrClosed = errors.New("the store is closed")
	// ErrInUse: another process has locked the file.
	ErrInUse = errors.New("in use by another process")
	// ErrForeign: the file is there, but it is not one of ours.
	ErrForeign = errors.New("not a store of n8n-gate")
	// ErrNewerFormat: a later version of n8n-gate wrote the file.
	ErrNewerFormat = errors.New("written by a newer version of n8n-gate")
	// ErrOldFormat: the file is of a format that no released version wrote.
	ErrOldFormat = errors.New("written by a version of n8n-gate that was never released")
	// ErrDamaged: the file contradicts itself.
	ErrDamaged = errors.New("the store's file is damaged")
	// ErrBadID: an operation or an event key that cannot be stored.
	ErrBadID = errors.New("operation and event key must not be empty, too long or contain a zero byte")
	// ErrBadCursor: Query.After is not the Next of a page.
	ErrBadCursor = errors.New("not a cursor of this store")
)

// errUnsettled: nothing can be read or written while a commit is in doubt.
var errUnsettled = errors.New("a commit failed and its outcome cannot be made sure of yet")

func notStored(cause error) error { return fmt.Errorf("%w: %w", store.ErrNotStored, cause) }

func unknown(cause error) error { return fmt.Errorf("%w: %w", store.ErrUnknown, cause) }

// guard turns a panic into an error. bbolt panics over a file that contradicts
// itself, and nobody may wait forever because of that. A page that the disk cannot
// read, or that was cut off the file, is a memory fault: it panics too.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p}
		}
	}()
	return f()
}

type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("%v: %v", ErrDamaged, e.value) }
func (e *panicError) Unwrap() error { return ErrDamaged }
