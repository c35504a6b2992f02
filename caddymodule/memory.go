package caddymodule

import (
	"errors"
	"io"
	"sync"
)

// memory bounds what all deliveries of this process hold in request bodies and
// responses. Its limit is that of the configuration that was started last.
var memory = &budget{limit: defaultMaxMemory}

const (
	defaultMaxMemory = 512 << 20
	// Bodies up to here are small. What is announced to be larger, or becomes so,
	// leaves a quarter of all there is to the small ones, which it must not keep out.
	smallBody = 64 << 10
	// Two small bodies, and what the second is copied from as it grows.
	smallShare = 160 << 10
	// What a delivery starts with, whatever it announces.
	firstRoom = 4 << 10
)

var errMemory = errors.New("max_memory is reached")

type budget struct {
	mu                sync.Mutex
	used, limit, most int64 // most: the highest that used was, since it was asked for
}

func (b *budget) setLimit(limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
}

// take takes n bytes, or none if that is more than there is for large or small.
func (b *budget) take(n int64, large bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	limit := b.limit
	if large {
		limit -= limit / 4
	}
	if b.used+n > limit {
		return false
	}
	b.used += n
	b.most = max(b.most, b.used)
	return true
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

func (b *budget) max() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit
}

// peak is the most that was used since it was last asked for.
func (b *budget) peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.most
	b.most = b.used
	return most
}

// share is what one delivery has of a budget.
type share struct {
	budget *budget
	taken  int64
}

func (s *share) take(n int64) bool { return s.takeFor(n, false) }

func (s *share) takeFor(n int64, large bool) bool {
	if !s.budget.take(n, large || s.taken+n > smallShare) {
		return false
	}
	s.taken += n
	return true
}

func (s *share) give(n int64) {
	s.budget.give(n)
	s.taken -= n
}

// release gives all back; more than once does no harm.
func (s *share) release() { s.give(s.taken) }

// buffer grows in memory that is accounted for, what it is copied from included.
// Nothing is set aside for what was only announced: it holds at most twice what came.
// Its memory is never used again for another delivery: net/http may go on reading a
// request's body after it has answered.
type buffer struct {
	share *share
	bound int64 // the most that it will hold
	large bool  // it is announced to become so
	data  []byte
}

// expect says what is announced; at most the bound.
func (b *buffer) expect(n int64) { b.bound, b.large = n, n > smallBody }

var errBound = errors.New("more came than there may be")

// room makes room for n bytes more, which must be within the bound. Its sizes are the
// bound's halves, so that the last copy is of half the whole.
func (b *buffer) room(n int) error {
	need := int64(len(b.data) + n)
	if need <= int64(cap(b.data)) {
		return nil
	}
	if need > b.bound {
		return errBound
	}
	size := b.bound
	for half := (size + 1) / 2; half >= need && size > firstRoom; half = (size + 1) / 2 {
		size = half
	}
	if !b.share.takeFor(size, b.large) {
		return errMemory
	}
	grown := make([]byte, len(b.data), size)
	copy(grown, b.data)
	b.share.give(int64(cap(b.data))) // of what was copied from
	b.data = grown
	return nil
}

// fill reads r to its end.
func (b *buffer) fill(r io.Reader) error {
	var beyond [1]byte // to see the end behind the bound
	for {
		space := beyond[:]
		full := int64(len(b.data)) == b.bound
		if !full {
			if err := b.room(1); err != nil {
				return err
			}
			space = b.data[len(b.data):cap(b.data)]
		}
		n, err := r.Read(space)
		if full && n > 0 {
			return errBound
		}
		b.data = b.data[:len(b.data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// drop forgets what was held.
func (b *buffer) drop() {
	if b.share != nil {
		b.share.give(int64(cap(b.data)))
	}
	b.data = nil
}
