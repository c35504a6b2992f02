package caddymodule

import "sync"

// memory bounds what all deliveries of this process hold in request bodies and
// responses. Its limit is that of the configuration that was started last.
var memory = &budget{limit: defaultMaxMemory}

const (
	defaultMaxMemory = 512 << 20
	// What every delivery may hold besides: small bodies and receipts must not fail
	// for want of a budget.
	freeBody     = 64 << 10
	freeResponse = 64 << 10
)

type budget struct {
	mu          sync.Mutex
	used, limit int64
}

func (b *budget) setLimit(limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
}

// take takes n bytes, or none if that is more than there is.
func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// share is what one delivery has of a budget.
type share struct {
	budget *budget
	taken  int64
}

func (s *share) take(n int64) bool {
	if n > 0 && !s.budget.take(n) {
		return false
	}
	s.taken += max(n, 0)
	return true
}

func (s *share) give(n int64) {
	s.budget.give(n)
	s.taken -= n
}

// release gives all back; more than once does no harm.
func (s *share) release() { s.give(s.taken) }

// buffer grows in memory that is accounted for.
type buffer struct {
	share *share
	free  int // bytes that cost nothing
	data  []byte
	cost  int64
}

// room makes room for n bytes more, or says that there is none.
func (b *buffer) room(n int) bool {
	need := len(b.data) + n
	if need <= cap(b.data) {
		return true
	}
	size := max(need, min(2*cap(b.data), need+maxGrowth), 512)
	cost := int64(max(size-b.free, 0))
	if !b.share.take(cost) {
		return false
	}
	grown := make([]byte, len(b.data), size)
	copy(grown, b.data)
	b.data = grown
	b.share.give(b.cost) // of what was copied from
	b.cost = cost
	return true
}

// maxGrowth keeps large buffers from doubling beyond what they need.
const maxGrowth = 1 << 20

// drop forgets what was held.
func (b *buffer) drop() {
	b.share.give(b.cost)
	b.data, b.cost = nil, 0
}
