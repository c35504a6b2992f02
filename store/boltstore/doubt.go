package boltstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// What a failed commit leaves behind (bbolt 1.5.0, Tx.Commit):
//
//   - It fails while growing the file, writing or syncing data pages: the meta
//     page is untouched, the free list is read again, the next commit may follow.
//     Nothing was stored.
//   - It fails while writing the meta page: mostly the same. But a write that was
//     cut short behind the checksum counts.
//   - It fails while syncing the meta page: everybody who reads from now on sees
//     the new state, though the disk may not have it. And bbolt takes the free
//     list from the new state: pages of the state before count as free at once,
//     while readers may still be in them, and while they are all that the disk has.
//     A further commit could overwrite them and then be cut off by a loss of power:
//     the file would be gone.
//
// So after a failure the readers are let out first; then the sequence number tells
// whether the commit can be seen; if so, it is made durable where it stands
// (file.persist), before anything else is written. Until that has worked its outcome
// is unknown, and nobody may read what could be gone again after a restart.

// doubtful is the commit whose outcome is unknown: the number under which it would
// be found, and what the index does when it is. Until then the index leads to the
// records of before and to those of after, and nobody reads either.
type doubtful struct {
	seq     uint64
	changes *changes
}

// settleTries is how often an outcome is looked for before its callers are told
// that it is unknown. A disk that fails for good fails each time.
const settleTries = 3

// reopenTimeout is short, since readers wait meanwhile, and the lock was ours.
const reopenTimeout = 100 * time.Millisecond

// outcome finds out what became of a commit that failed with cause: nil, it is
// stored; ErrNotStored; or ErrUnknown, and the store stays in doubt.
func (s *Store) outcome(seq uint64, cause error) error {
	s.setDoubt(cause)
	var err error
	for range settleTries {
		var found uint64
		if found, err = s.lastSequence(); err != nil {
			continue
		}
		if found != seq || seq == 0 {
			s.setDoubt(nil)
			return notStored(cause)
		}
		if err = guard(s.persist); err == nil {
			s.setDoubt(nil)
			return nil
		}
	}
	if seq == 0 {
		return notStored(cause)
	}
	return unknown(errors.Join(cause, err))
}

// ready makes sure, before the writer begins, that nothing is in doubt.
func (s *Store) ready() error {
	if s.broken != nil {
		return s.broken
	}
	if s.doubt == nil {
		return nil
	}
	seq, err := s.lastSequence()
	if err == nil {
		err = guard(s.persist)
	}
	if err != nil {
		return fmt.Errorf("%w (%w): %w", errUnsettled, s.doubt, err)
	}
	s.setDoubt(nil)
	s.doubtful.changes.settle(seq == s.doubtful.seq)
	s.doubtful = doubtful{}
	return nil
}

// setDoubt closes the gate to readers, or opens it. When it returns, those that
// were inside are out.
func (s *Store) setDoubt(cause error) {
	s.lockGate()
	defer s.gate.Unlock()
	s.doubt = cause
}

// lastSequence is the number of the last commit that can be seen. A file that
// bbolt has lost its mapping of (it could not be mapped larger) is opened again.
func (s *Store) lastSequence() (seq uint64, err error) {
	read := func() error {
		return s.file.db.View(func(tx *bbolt.Tx) error {
			seq = decodeUint(tx.Bucket(bucketMeta).Get(metaSequence))
			return nil
		})
	}
	err = guard(read)
	if errors.Is(err, berrors.ErrInvalidMapping) || errors.Is(err, berrors.ErrDatabaseNotOpen) {
		if err = s.reopen(); err == nil {
			err = guard(read)
		}
	}
	return seq, err
}

func (s *Store) reopen() error {
	s.lockGate()
	defer s.gate.Unlock()
	_ = s.file.db.Close() // also unlocks the file for the next line
	options := s.options
	options.Timeout = reopenTimeout
	f, err := openFile(s.path, options)
	if err != nil {
		return err
	}
	s.file = f
	return nil
}

// view reads in one snapshot. While a commit is in doubt it has the writer settle
// that first: ErrUnknown if that does not work.
func (s *Store) view(ctx context.Context, fn func(*bbolt.Tx) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if seen, err := s.tryView(fn); seen {
			return err
		}
		err := s.submit(ctx, &op{})
		if errors.Is(err, errUnsettled) {
			return unknown(err)
		}
		if err != nil {
			return err
		}
	}
}

func (s *Store) tryView(fn func(*bbolt.Tx) error) (seen bool, err error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.doubt != nil {
		return false, nil
	}
	err = guard(func() error { return s.file.db.View(fn) })
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		err = ErrClosed
	}
	return true, err
}
