//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

const (
	// So old a filled store may be: nothing in it may expire by itself.
	maxAge = work.Retention / 2
	// fillGroup is how many records one Apply stores, and fillers how many apply at once.
	fillGroup = 500
	fillers   = 16
)

// filled is a store with so many records that nobody may change. It is kept between
// runs, as long as neither the records nor how they are stored changes.
func (b *bench) filled(kind string, records int) (string, error) {
	sources, err := b.sources()
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, fmt.Sprintf("%s-%d-%s.db", kind, records, sources))
	info, err := os.Stat(path)
	switch {
	case err == nil && !b.fresh && time.Since(info.ModTime()) < maxAge:
		return path, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(b.dir, fmt.Sprintf("%s-%d-*.db", kind, records)))
	for _, o := range old {
		if err := os.Remove(o); err != nil {
			return "", err
		}
	}
	say("filling %s with %d records", path, records)
	begin := time.Now()
	filling := filepath.Join(b.scratch, "filling.db")
	p, err := b.child("fill", kind, filling, fmt.Sprint(records))
	if err != nil {
		return "", err
	}
	if err := p.ready(); err != nil {
		return "", fmt.Errorf("filling a store: %w", err)
	}
	if err := p.stop(); err != nil {
		return "", fmt.Errorf("filling a store: %w", err)
	}
	say("that took %s", time.Since(begin).Round(time.Second))
	return path, os.Rename(filling, path)
}

// sources is a hash of what the filled stores depend on.
func (b *bench) sources() (string, error) {
	h := sha256.New()
	for _, pattern := range []string{"store/*.go", "store/boltstore/*.go", "tests/bench/internal/work/delivery.go", "tests/bench/fill.go", "go.mod"} {
		paths, err := filepath.Glob(filepath.Join(b.root, pattern))
		if err != nil {
			return "", err
		}
		if len(paths) == 0 {
			return "", fmt.Errorf("%s is not the repository: --root", b.root)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			h.Write(content)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// copyOf is a copy that may be changed, durable before anything is measured. There is
// none where it failed.
func (b *bench) copyOf(filled, name string) (string, error) {
	from, err := os.Open(filled)
	if err != nil {
		return "", err
	}
	defer from.Close()
	path := filepath.Join(b.scratch, name)
	to, err := os.Create(path)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// largeCopy is a copy of the large store: one for all that want one, as it takes long
// to make and a few more records make no difference to it.
func (b *bench) largeCopy() (string, error) {
	path := filepath.Join(b.scratch, "large")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	filled, err := b.filled("store", b.large)
	if err != nil {
		return "", err
	}
	return b.copyOf(filled, "large")
}

// fill makes a store of that kind in a new file.
func fill(kind, path string, records int) error {
	if kind == "plain" {
		return fillPlain(path, records)
	}
	s, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		return err
	}
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, fillers)
	for i := range fillers {
		all.Go(func() {
			for errs[i] == nil {
				from := int(next.Add(fillGroup)) - fillGroup
				if from >= records {
					return
				}
				errs[i] = fillRange(s, from, min(from+fillGroup, records))
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, s.Close())...)
}

// fillRange stores records as deliveries do, claim first, many at once.
func fillRange(s store.Store, from, to int) error {
	ctx := context.Background()
	var changes []store.Change
	for n := from; n < to; n++ {
		changes = append(changes, store.Change{Now: work.Claim(uint64(n), s.Incarnation(), time.Now())})
	}
	claimed, err := s.Apply(ctx, changes...)
	if err != nil {
		return err
	}
	for i, r := range claimed {
		changes[i] = store.Change{Was: r.Version, Now: work.Settle(r, uint64(from+i), time.Now())}
	}
	_, err = s.Apply(ctx, changes...)
	return err
}

// fillPlain makes what plainStore is after as many deliveries in random order: pages
// that are two thirds full.
func fillPlain(path string, records int) error {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	numbers := make([]uint64, records)
	for n := range numbers {
		numbers[n] = uint64(n)
	}
	slices.SortFunc(numbers, func(x, y uint64) int { return strings.Compare(work.EventKey(x), work.EventKey(y)) })
	for group := range slices.Chunk(numbers, fillers*fillGroup) {
		err := db.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists(plainBucket)
			if err != nil {
				return err
			}
			bucket.FillPercent = 0.67
			for _, n := range group {
				d := work.AsStored(n)
				if err := bucket.Put(d.Key, d.Settled); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return db.Close()
}
