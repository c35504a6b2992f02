package boltstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// op is one operation for the writer.
type op struct {
	// run checks first and then writes, through b. Its error is the answer of
	// this operation alone and means that it wrote nothing. A read that wants no
	// more than that nothing is in doubt has none.
	run func(b *batch) error

	taken atomic.Bool // by the writer, or by its caller who gave up
	err   error       // the outcome, once done is closed
	done  chan struct{}
}

// errNothing rolls a transaction back in which nothing was written.
var errNothing = errors.New("nothing to commit")

// submit hands o to the writer and waits for the outcome. A ctx that ends before
// the writer has taken o takes it back: ErrNotStored. Later it is ignored.
func (s *Store) submit(ctx context.Context, o *op) error {
	o.done = make(chan struct{})
	if err := s.enqueue(ctx, o); err != nil {
		return err
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.taken.CompareAndSwap(false, true) {
			return o.refusal(ctx.Err())
		}
		<-o.done
	}
	return o.err
}

func (s *Store) enqueue(ctx context.Context, o *op) error {
	if err := ctx.Err(); err != nil {
		return o.refusal(err)
	}
	s.sending.RLock()
	defer s.sending.RUnlock()
	if s.closed {
		return o.refusal(ErrClosed)
	}
	select {
	case s.queue <- o:
		return nil
	case <-ctx.Done():
		return o.refusal(ctx.Err())
	}
}

// write is the writer: it commits all that waits, together, until Close.
func (s *Store) write() {
	defer close(s.stopped)
	for first := range s.queue {
		s.commit(s.waiting(first))
	}
}

// waiting takes first and everything that is queued behind it. Nothing waits for
// company: while one group commits, the next one gathers.
func (s *Store) waiting(first *op) []*op {
	var group []*op
	for o, open := first, true; open; {
		if o.taken.CompareAndSwap(false, true) {
			group = append(group, o)
		}
		if len(group) == cap(s.queue) {
			break
		}
		select {
		case o, open = <-s.queue:
		default:
			open = false
		}
	}
	return group
}

// commit carries out group in one transaction and answers each of its operations.
func (s *Store) commit(group []*op) {
	if err := s.ready(); err != nil {
		for _, o := range group {
			o.answer(o.refusal(err))
		}
		return
	}
	if group = writes(group); len(group) == 0 {
		return
	}
	made := &changes{index: s.index}
	answers, seq, err := s.transact(group, made)
	var spoilt *spoiltError
	if errors.As(err, &spoilt) && len(group) > 1 {
		// One of them stumbled over the file half-way. Alone, each answers for itself.
		made.settle(false)
		for i := range group {
			s.commit(group[i : i+1])
		}
		return
	}
	if err != nil && !errors.Is(err, errNothing) {
		err = s.outcome(seq, err)
	} else {
		err = nil
	}
	if errors.Is(err, store.ErrUnknown) {
		s.doubtful = doubtful{seq, made}
	} else {
		made.settle(err == nil)
	}
	for i, o := range group {
		if err != nil {
			o.answer(err) // a conflict too: it may rest on what was not stored
			continue
		}
		o.answer(answers[i])
	}
}

// writes answers the reads in group, for whom nothing is left to do, and returns
// the others.
func writes(group []*op) []*op {
	others := group[:0]
	for _, o := range group {
		if o.run == nil {
			o.answer(nil)
			continue
		}
		others = append(others, o)
	}
	return others
}

func (o *op) answer(err error) {
	o.err = err
	close(o.done)
}

// refusal is the answer to an operation that was not begun because of err.
func (o *op) refusal(err error) error {
	if o.run == nil {
		return err
	}
	return notStored(err)
}

// transact carries out group. answers are those of its operations, worth
// something if err is nil or errNothing. seq is the sequence number under which
// the commit, if it was tried, would be found in the file; 0: it was not tried.
// made gets what the index must follow.
func (s *Store) transact(group []*op, made *changes) (answers []error, seq uint64, err error) {
	answers = make([]error, len(group))
	err = guard(func() error {
		return s.update(func(tx *bbolt.Tx) error {
			b := newBatch(tx, made, s.clock())
			for i, o := range group {
				if answers[i] = b.run(o); b.err != nil {
					return &spoiltError{b.err}
				}
			}
			var err error
			seq, err = b.finish()
			return err
		})
	})
	var panicked *panicError
	if errors.As(err, &panicked) && !errors.As(err, new(*spoiltError)) {
		// bbolt itself fell over while committing. It may hold its lock for ever.
		s.broken = fmt.Errorf("no more writes until a restart: %w", err)
	}
	return answers, seq, err
}

// spoiltError: an operation failed when it had begun to write.
type spoiltError struct{ cause error }

func (e *spoiltError) Error() string { return e.cause.Error() }
func (e *spoiltError) Unwrap() error { return e.cause }
