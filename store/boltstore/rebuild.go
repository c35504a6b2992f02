package boltstore

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	// rebuilders read records at the same time. More of them gain little: each
	// waits for memory, not for the processor.
	rebuilders = 2
	// ranges is how many parts the records are cut into, so that rebuilders end
	// at about the same time.
	ranges = 64
	// readAhead is the size of the reads that warm the page cache.
	readAhead = 4 << 20
)

// rebuild makes the index from the records. One that cannot be read ends it: what
// is not in the index would be let through a second time.
func (s *Store) rebuild() error {
	var parts []part
	err := s.file.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketRecords).Cursor()
		if first, _ := c.First(); first != nil {
			from := decodeUint(first)
			last, _ := c.Last()
			parts = cut(from, decodeUint(last))
			s.index.reserve(2 * records(tx)) // each has a name and, as a rule, one token
		}
		return nil
	})
	if err != nil || len(parts) == 0 {
		return err
	}
	stop := s.file.readAhead()
	defer stop()
	var (
		next  atomic.Int64
		group sync.WaitGroup
		errs  [rebuilders]error
	)
	for n := range rebuilders {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(parts)) && errs[n] == nil; i = next.Add(1) - 1 {
				errs[n] = guard(func() error { return s.enter(parts[i]) })
			}
		})
	}
	group.Wait()
	return errors.Join(errs[:]...)
}

// records is how many records are counted.
func records(tx *bbolt.Tx) int {
	total := 0
	_ = tx.Bucket(bucketCounts).ForEach(func(_, n []byte) error {
		total += int(decodeUint(n))
		return nil
	})
	return total
}

// part is a range of keys, both ends included.
type part struct{ first, last uint64 }

// cut makes parts of the keys from first to last.
func cut(first, last uint64) []part {
	step := (last-first)/ranges + 1
	var parts []part
	for from := first; ; from += step {
		if last-from < step {
			return append(parts, part{from, last})
		}
		parts = append(parts, part{from, from + step - 1})
	}
}

// enter adds what stands in p.
func (s *Store) enter(p part) error {
	return s.file.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketRecords).Cursor()
		for k, v := c.Seek(encodeUint(p.first)); k != nil && decodeUint(k) <= p.last; k, v = c.Next() {
			names, err := store.DecodeNames(v)
			if err != nil {
				return fmt.Errorf("%w: the record at %x: %w", ErrDamaged, k, err)
			}
			for _, r := range s.index.refs(names, place(decodeUint(k))) {
				s.index.add(r)
			}
		}
		return nil
	})
}

// readAhead reads the file from its beginning to its end, for nothing but the
// page cache: the pages come in large pieces instead of one fault at a time.
// It ends when it is told to.
func (f *file) readAhead() (stop func()) {
	var stopped atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		piece := make([]byte, readAhead)
		for at := int64(0); !stopped.Load() && at < math.MaxInt64-readAhead; {
			n, err := f.os.ReadAt(piece, at)
			if at += int64(n); err != nil || errors.Is(err, io.EOF) {
				return
			}
		}
	}()
	return func() {
		stopped.Store(true)
		<-done
	}
}
