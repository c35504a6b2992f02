package store

import (
	"context"
	"errors"
	"sync"
)

// Ledger is a Store that tells who waits for a record when it has changed. It
// sees the changes made through it; those of other processes it does not see.
type Ledger struct {
	Store
	// observe sees every move, after it was stored.
	observe func(ID, Move)

	mu      sync.Mutex
	waiting map[ID]*watched
}

type watched struct {
	changed chan struct{}
	waiters int
}

// NewLedger wraps s. observe may be nil; it must not block.
func NewLedger(s Store, observe func(ID, Move)) *Ledger {
	return &Ledger{Store: s, observe: observe, waiting: make(map[ID]*watched)}
}

// Watch returns a channel that is closed at the next change of id, and a
// function that gives the watch up. Watch first, then read, then wait: so no
// change can fall in between.
func (l *Ledger) Watch(id ID) (changed <-chan struct{}, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[id]
	if w == nil {
		w = &watched{changed: make(chan struct{})}
		l.waiting[id] = w
	}
	w.waiters++
	return w.changed, sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if w.waiters--; w.waiters == 0 && l.waiting[id] == w {
			delete(l.waiting, id)
		}
	})
}

// Apply stores the changes and then wakes those who watch their records.
func (l *Ledger) Apply(ctx context.Context, cs ...Change) ([]Record, error) {
	stored, err := l.Store.Apply(ctx, cs...)
	if err != nil {
		if errors.Is(err, ErrUnknown) { // it may have changed them: waiters read for themselves
			for _, c := range cs {
				l.wake(c.Now.ID)
			}
		}
		return stored, err
	}
	for i := range stored {
		l.wake(stored[i].ID)
		stored[i].moved = Move{}
		if move := cs[i].Now.moved; l.observe != nil && move.Reason != "" {
			l.observe(stored[i].ID, move)
		}
	}
	return stored, nil
}

func (l *Ledger) wake(id ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.waiting[id]; w != nil {
		close(w.changed)
		delete(l.waiting, id)
	}
}
