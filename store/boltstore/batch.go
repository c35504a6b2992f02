package boltstore

import (
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// batch is one transaction of the writer, shared by the operations of a group.
type batch struct {
	tx       *bbolt.Tx
	sequence uint64 // the last number given out
	wrote    bool
	counts   map[string]int64 // what to add, by count key
	err      error            // the first write that failed; ends the transaction
}

func newBatch(tx *bbolt.Tx) *batch {
	return &batch{
		tx:       tx,
		sequence: decodeUint(tx.Bucket(bucketMeta).Get(metaSequence)),
		counts:   make(map[string]int64),
	}
}

// run carries out o. A panic in it counts as a failed write.
func (b *batch) run(o *op) error {
	var answer error
	if err := guard(func() error { answer = o.run(b); return nil }); err != nil {
		b.err = err
	}
	return answer
}

// next takes a number that was never used before.
func (b *batch) next() uint64 {
	b.sequence++
	return b.sequence
}

func (b *batch) put(bucket, key, value []byte) {
	b.wrote = true
	if b.err == nil {
		b.err = b.tx.Bucket(bucket).Put(key, value)
	}
}

func (b *batch) delete(bucket, key []byte) {
	b.wrote = true
	if b.err == nil {
		b.err = b.tx.Bucket(bucket).Delete(key)
	}
}

// move keeps an index: it replaces the entry at was by one at now, where nil is none.
func (b *batch) move(index, was, now []byte) {
	if string(was) == string(now) {
		return
	}
	if was != nil {
		b.delete(index, was)
	}
	if now != nil {
		b.put(index, now, nil)
	}
}

// count notes that a record went from one state to another.
func (b *batch) count(operation string, from, to store.State) {
	if from == to {
		return
	}
	if from != store.Gone {
		b.counts[string(countKey(operation, from))]--
	}
	if to != store.Gone {
		b.counts[string(countKey(operation, to))]++
	}
}

// replace writes now in the place of was, with all that hangs on a record except
// its aliases and its payload. A now that is Gone deletes.
func (b *batch) replace(key []byte, was, now store.Record) {
	b.move(bucketDue, dueKey(was, key), dueKey(now, key))
	b.move(bucketExpiry, expiryKey(was, key), expiryKey(now, key))
	b.count(was.Operation, was.State, now.State)
	if now.State == store.Gone {
		b.delete(bucketRecords, key)
		b.delete(bucketPayloads, key)
		return
	}
	b.put(bucketRecords, key, store.AppendRecord(nil, now))
}

// finish writes what a commit says about itself and returns its number; or
// errNothing, if there is nothing to commit.
func (b *batch) finish(now time.Time) (uint64, error) {
	if !b.wrote {
		return 0, errNothing
	}
	for key, n := range b.counts {
		if n == 0 {
			continue
		}
		if n += int64(decodeUint(b.tx.Bucket(bucketCounts).Get([]byte(key)))); n == 0 {
			b.delete(bucketCounts, []byte(key))
		} else {
			b.put(bucketCounts, []byte(key), encodeUint(uint64(n)))
		}
	}
	seq := b.next()
	b.put(bucketMeta, metaSequence, encodeUint(seq))
	b.put(bucketMeta, metaLastWrite, encodeUint(uint64(store.UnixNano(now))))
	return seq, b.err
}
