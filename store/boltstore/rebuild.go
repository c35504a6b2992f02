package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	// rebuilders work at the same time. More of them gain little: each waits for
	// memory and for the disk more than for the processor.
	rebuilders = 2
	// ranges is how many parts the records are cut into, so that rebuilders end
	// at about the same time.
	ranges = 64
)

// gathered are the entries that one rebuilder has read, by shard: a table that is
// filled alone stays in the processor's cache.
type gathered struct {
	room   int // that a shard is given at first
	shards [shards][]entry
}

func (g *gathered) add(hash uint64, at place) {
	s := &g.shards[hash>>(64-shardBits)]
	if *s == nil {
		*s = make([]entry, 0, g.room)
	}
	*s = append(*s, newEntry(short(hash), at))
}

// rebuild makes the index from the records. One that cannot be read ends it: what
// is not in the index would be let through a second time.
func (s *Store) rebuild() error {
	var (
		parts []part
		room  int
	)
	err := s.file.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketRecords).Cursor()
		if first, _ := c.First(); first != nil {
			from := decodeUint(first)
			last, _ := c.Last()
			parts = cut(from, decodeUint(last))
			// Each has a name and, as a rule, one token; and they are not spread evenly.
			room = 2*counted(tx)/rebuilders/shards*11/10 + minHomes
		}
		return nil
	})
	if err != nil || len(parts) == 0 {
		return err
	}
	stop := s.file.readAhead()
	defer stop()
	var read [rebuilders]gathered
	err = inParallel(len(parts), func(worker, i int) error {
		read[worker].room = room
		return s.gather(&read[worker], parts[i])
	})
	if err != nil {
		return err
	}
	return inParallel(shards, func(_, i int) error {
		for worker := range read {
			s.index.shards[i].load(read[worker].shards[i])
			read[worker].shards[i] = nil
		}
		return nil
	})
}

// inParallel has rebuilders share n tasks. A panic over a damaged file is an error.
func inParallel(n int, task func(worker, i int) error) error {
	var (
		next  atomic.Int64
		group sync.WaitGroup
		errs  [rebuilders]error
	)
	for worker := range rebuilders {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[worker] == nil; i = int(next.Add(1)) - 1 {
				errs[worker] = guard(func() error { return task(worker, i) })
			}
		})
	}
	group.Wait()
	return errors.Join(errs[:]...)
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

// gather adds the entries of what stands in p.
func (s *Store) gather(to *gathered, p part) error {
	var (
		names store.Names
		room  []byte
	)
	return s.file.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketRecords).Cursor()
		for k, v := c.Seek(encodeUint(p.first)); k != nil && decodeUint(k) <= p.last; k, v = c.Next() {
			if err := names.Decode(v); err != nil {
				return fmt.Errorf("%w: the record at %x: %w", ErrDamaged, k, err)
			}
			at := place(decodeUint(k))
			room = append(append(append(append(room[:0], nameKind), names.Operation...), 0), names.EventKey...)
			to.add(s.index.hash(room), at)
			for i, a := range names.Aliases {
				if slices.ContainsFunc(names.Aliases[:i], func(b store.AliasBytes) bool { return a.Kind == b.Kind && bytes.Equal(a.Value, b.Value) }) {
					continue
				}
				room = append(append(room[:0], byte(a.Kind)), a.Value...)
				to.add(s.index.hash(room), at)
			}
		}
		return nil
	})
}

// counted is how many records are counted.
func counted(tx *bbolt.Tx) (total int) {
	_ = tx.Bucket(bucketCounts).ForEach(func(_, n []byte) error {
		total += int(decodeUint(n))
		return nil
	})
	return total
}

// load adds many entries.
func (t *table) load(entries []entry) {
	if homes := size(t.count + len(entries)); len(entries) > 0 && homes > t.homes {
		t.resize(homes)
	}
	for _, e := range entries {
		t.add(e)
	}
}
