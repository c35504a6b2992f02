//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// child is what this program does when it is its own child.
func child(args []string) {
	switch what := args[0]; what {
	case "store":
		work.Serve(func() (work.Store, error) { return openGateStore(args[1]) })
	case "plain":
		work.Serve(func() (work.Store, error) { return openPlainStore(args[1]) })
	case "backend":
		serveBackend()
	case "open":
		answer(openStore(args[1]))
	case "fill":
		records, err := strconv.Atoi(args[3])
		if err == nil {
			err = fill(args[1], args[2], records)
		}
		answer(work.Measured{}, err)
	default:
		fmt.Fprintln(os.Stderr, "bench: no child", what)
		os.Exit(2)
	}
}

// answer prints v, or the error as a work.Measured has it.
func answer(v any, err error) {
	if err != nil {
		v = work.Measured{Err: err.Error()}
	}
	_ = json.NewEncoder(os.Stdout).Encode(v)
	if err != nil {
		os.Exit(1)
	}
}

// gateStore is the gate's own: an event is claimed and settled by the state machine.
type gateStore struct{ store.Store }

func openGateStore(path string) (work.Store, error) {
	s, err := boltstore.Open(path, boltstore.Options{})
	return gateStore{s}, err
}

func (s gateStore) Claim(_ int, n uint64) (func() error, error) {
	ctx := context.Background()
	claimed, err := s.Apply(ctx, store.Change{Now: work.Claim(n, s.Incarnation(), time.Now())})
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := s.Apply(ctx, store.Change{Was: claimed[0].Version, Now: work.Settle(claimed[0], n, time.Now())})
		return err
	}, nil
}

func (s gateStore) Expire(now time.Time, limit int) (int, error) {
	return s.Store.Expire(context.Background(), now, limit)
}

// plainStore is what comes to mind first: one bucket, the event key, and a transaction
// for each write.
type plainStore struct{ *bbolt.DB }

var plainBucket = []byte("records")

func openPlainStore(path string) (work.Store, error) {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(plainBucket)
		return err
	})
	return plainStore{db}, err
}

func (s plainStore) Claim(_ int, n uint64) (func() error, error) {
	d := work.AsStored(n)
	err := s.Update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(plainBucket)
		if bucket.Get(d.Key) != nil {
			return fmt.Errorf("%q is there already", d.Key)
		}
		return bucket.Put(d.Key, d.Claimed)
	})
	return func() error {
		return s.Update(func(tx *bbolt.Tx) error { return tx.Bucket(plainBucket).Put(d.Key, d.Settled) })
	}, err
}
