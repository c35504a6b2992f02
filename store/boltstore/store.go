package boltstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// Options of Open. The zero value is good for production.
type Options struct {
	// Timeout is how long Open waits for another process to give up the file.
	// Default 5 s.
	Timeout time.Duration
	// Queue is how many writes may wait for the writer; with more, callers wait
	// before they are queued. It bounds the size of one commit too. Default 1,024.
	Queue int
	// AllowNetwork opens a file on a network file system, which is refused else: whoever
	// says so makes sure that no second machine opens it, and that a write that the
	// server acknowledged is durable.
	AllowNetwork bool
}

const (
	defaultTimeout = 5 * time.Second
	defaultQueue   = 1024
)

// Store is the embedded engine. It implements store.Store.
type Store struct {
	path        string
	incarnation string
	created     bool

	queue   chan *op
	stopped chan struct{} // closed when the writer has answered its last operation

	// sending is held shared while an operation is put into the queue.
	sending sync.RWMutex
	closed  bool // under sending: the queue is closed

	// gate is held shared by every read transaction; exclusively, and so with
	// no reader at work, by who changes what is under it.
	gate      sync.RWMutex
	leaving   atomic.Int32 // how many wait for the readers to leave: long ones hurry
	inspected *Inspection

	file    *file
	options Options
	doubt   error // the failed commit whose outcome is not known yet

	index    *index
	doubtful doubtful // belongs to the writer

	broken error // of the writer: bbolt panicked, its lock may be held for ever

	// What can fail in a commit, for tests.
	update  func(func(*bbolt.Tx) error) error
	persist func() error
	clock   func() time.Time
}

// Open opens the store in the file at path and creates it, with its directory,
// if it is not there. A file that was not closed properly is looked at first
// (Inspection). Errors: ErrInUse, ErrForeign, ErrNewerFormat, ErrDamaged, ErrNetwork
// and those of the file system.
func Open(path string, o Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	s := &Store{
		path:        path,
		incarnation: newIncarnation(),
		queue:       make(chan *op, o.Queue),
		stopped:     make(chan struct{}),
		index:       newIndex(),
		options:     o,
		clock:       time.Now,
	}
	s.update = func(fn func(*bbolt.Tx) error) error { return s.file.db.Update(fn) }
	s.persist = func() error { return s.file.persist() }
	if s.file, err = openFile(path, o); err != nil {
		return nil, err
	}
	err = guard(s.prepare)
	if err == nil {
		err = guard(s.arrive)
	}
	if err != nil {
		_ = s.file.close(err)
		return nil, explain(path, err)
	}
	go s.write()
	return s, nil
}

// prepare makes or checks the layout, and makes sure of what the process before
// may have left in the page cache only.
func (s *Store) prepare() error {
	err := s.file.db.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			if name, _ := tx.Cursor().First(); name != nil {
				return fmt.Errorf("a bolt database, but %w", ErrForeign)
			}
			s.created = true
			return createLayout(tx)
		}
		switch found := decodeUint(meta.Get(metaSchema)); {
		case found > schema:
			return fmt.Errorf("%w: its format is %d, this version knows %d at most", ErrNewerFormat, found, schema)
		case found < schema:
			return fmt.Errorf("%w: its format is %d, and this version reads %d; move the file away, or go on with the version that made it", ErrOldFormat, found, schema)
		}
		return errNothing
	})
	if err != nil && !errors.Is(err, errNothing) {
		return err
	}
	if err := s.rebuild(); err != nil {
		return err
	}
	return s.persist()
}

func createLayout(tx *bbolt.Tx) error {
	for _, name := range allBuckets {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketMeta).Put(metaSchema, encodeUint(schema))
}

func newIncarnation() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return hex.EncodeToString(b[:])
}

// Close carries out what is queued and releases the file. Calls that come later
// end with ErrClosed. It may be called again.
func (s *Store) Close() error {
	s.sending.Lock()
	again := s.closed
	if !again {
		s.closed = true
		close(s.queue)
	}
	s.sending.Unlock()
	<-s.stopped
	if again {
		return nil
	}
	s.lockGate() // the last readers are gone
	defer s.gate.Unlock()
	s.depart()
	if err := s.file.close(s.broken); err != nil {
		return fmt.Errorf("closing the store %s: %w", s.path, err)
	}
	return nil
}

// Path is the absolute path of the file.
func (s *Store) Path() string { return s.path }

// Created reports whether Open found no records there and made a new store.
func (s *Store) Created() bool { return s.created }

// Incarnation implements store.Store.
func (s *Store) Incarnation() string { return s.incarnation }

// Alive implements store.Store: the file is locked, so nobody else is at work.
func (s *Store) Alive(_ context.Context, incarnation string) (bool, error) {
	return incarnation == s.incarnation, nil
}

// Now implements store.Store.
func (s *Store) Now(context.Context) (time.Time, error) {
	return time.Now().Round(0).UTC(), nil // Round drops the monotonic reading, as storing does
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, ids ...store.ID) ([]store.Record, error) {
	var out []store.Record
	err := s.look(ctx, func(found *snapshot) error {
		records, err := found.records(ids)
		out = plain(records)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Find implements store.Store.
func (s *Store) Find(ctx context.Context, a store.Alias) (store.ID, error) {
	var id store.ID
	err := s.look(ctx, func(found *snapshot) error {
		r, err := found.owner(a)
		if err == nil && r.Version == 0 {
			err = store.ErrNotFound
		}
		id = r.ID
		return err
	})
	return id, err
}

// Payload implements store.Store.
func (s *Store) Payload(ctx context.Context, id store.ID) ([]byte, error) {
	var body []byte
	err := s.look(ctx, func(found *snapshot) error {
		r, err := found.record(id)
		if err != nil {
			return err
		}
		if r.Version == 0 {
			return store.ErrNotFound
		}
		stored := found.tx.Bucket(bucketPayloads).Get(r.spot.payloadKey())
		if stored == nil {
			return store.ErrNotFound
		}
		body = bytes.Clone(stored)
		return nil
	})
	return body, err
}

var _ store.Store = (*Store)(nil)
