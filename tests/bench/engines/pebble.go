//go:build linux

package main

import (
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// pebbleStore is CockroachDB's log-structured engine. It has no insert-if-absent: who
// claims holds the key in memory meanwhile. It groups the commits of those who wait.
type pebbleStore struct {
	db   *pebble.DB
	held sync.Map
}

func openPebble(dir string) (work.Store, error) {
	db, err := pebble.Open(dir, &pebble.Options{Logger: silent{}})
	return &pebbleStore{db: db}, err
}

func (s *pebbleStore) Claim(_ int, n uint64) (func() error, error) {
	d := work.AsStored(n)
	if _, there := s.held.LoadOrStore(string(d.Key), nil); there {
		return nil, errThere(d)
	}
	defer s.held.Delete(string(d.Key))
	_, closer, err := s.db.Get(d.Key)
	if err == nil {
		return nil, errors.Join(errThere(d), closer.Close())
	}
	if !errors.Is(err, pebble.ErrNotFound) {
		return nil, err
	}
	if err := s.db.Set(d.Key, d.Claimed, pebble.Sync); err != nil {
		return nil, err
	}
	return func() error { return s.db.Set(d.Key, d.Settled, pebble.Sync) }, nil
}

func (s *pebbleStore) Close() error { return s.db.Close() }

// silent drops pebble's log, which would go to stderr.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	pebble.DefaultLogger.Fatalf(format, args...)
}
