package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/store"
)

// openStores holds the open store by its identity, so that it outlives reloads.
var openStores = caddy.NewUsagePool()

// theStore is the identity of the first store that this process opened. A
// process has one truth: another store would know nothing of this one's events.
var theStore struct {
	sync.Mutex
	identity string
}

// checkStore refuses any store but the one that this process uses.
func checkStore(identity string) error {
	theStore.Lock()
	defer theStore.Unlock()
	if theStore.identity != "" && theStore.identity != identity {
		return fmt.Errorf("records are in %s: to move to %s, stop Caddy, move the records, start it", theStore.identity, identity)
	}
	return nil
}

// openStore is an open store with what belongs to it for as long as it is open.
type openStore struct {
	*store.Ledger
	created     atomic.Bool // and nobody has been told yet
	unclean     atomic.Bool // it may not have been closed, and nobody has been told yet
	orphaned    atomic.Bool // holders of former openings have not been looked for yet
	rules       currentRules
	quarantined atomic.Bool // it is a restored copy that nobody has accepted

	attempts gauge // in flight, over all handlers and configurations

	exit    context.Context // ends when attempts must: Caddy exits, and will not wait longer
	endExit context.CancelFunc
}

// currentRules say what names an event, by the configuration that was loaded last.
// Claims hold them for reading; whoever changes them waits for those.
type currentRules struct {
	sync.RWMutex
	text string
}

// Destruct closes the store when the last lease is gone.
func (s *openStore) Destruct() error {
	s.endExit()
	return s.Close()
}

// lease is one hold on an open store.
type lease struct {
	*openStore
	identity any // a string; as a key of openStores it would be boxed each time
	once     sync.Once
}

func acquire(m StoreModule) (*lease, error) {
	identity := m.Identity()
	if err := checkStore(identity); err != nil {
		return nil, err
	}
	// The value is nil where another caller's attempt to open it failed.
	value, _, err := openStores.LoadOrNew(identity, func() (caddy.Destructor, error) {
		s, created, err := m.Open()
		if err != nil {
			return nil, err
		}
		open := &openStore{Ledger: store.NewLedger(s, observe)}
		open.created.Store(created)
		open.orphaned.Store(true)
		open.unclean.Store(true)
		if err := open.readQuarantine(context.Background()); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		theStore.Lock()
		theStore.identity = identity
		theStore.Unlock()
		open.exit, open.endExit = context.WithCancel(context.Background())
		return open, nil
	})
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	return &lease{openStore: value.(*openStore), identity: identity}, nil
}

// release gives the hold back; more than once does no harm.
func (l *lease) release() (err error) {
	l.once.Do(func() { _, err = openStores.Delete(l.identity) })
	return err
}

// again takes one more hold on the same store.
func (l *lease) again() *lease {
	_, _ = openStores.LoadOrStore(l.identity, l.openStore)
	return &lease{openStore: l.openStore, identity: l.identity}
}

// gauge counts what is under way and can wait until nothing is. (A
// sync.WaitGroup may not be added to while it is waited for from zero.)
type gauge struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n falls to 0; nil while nobody waits
}

func (g *gauge) add(delta int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n += delta
	if g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
}

// acquire adds one unless limit are under way; 0 is no limit.
func (g *gauge) acquire(limit int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if limit > 0 && g.n >= limit {
		return false
	}
	g.n++
	return true
}

// wait returns when nothing is under way, or ctx ends, and how much is then.
func (g *gauge) wait(ctx context.Context) int {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return 0
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	zero := g.zero
	g.mu.Unlock()
	select {
	case <-zero:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}
