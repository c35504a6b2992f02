package boltstore

import (
	"bytes"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// batch is one transaction of the writer, shared by the operations of a group.
type batch struct {
	snapshot
	changes  *changes
	clock    clock
	sequence uint64 // the last number given out
	wrote    bool
	counts   map[string]int64 // what to add, by count key
	err      error            // the first write that failed; ends the transaction
}

func newBatch(tx *bbolt.Tx, c *changes, now time.Time) *batch {
	// Records are appended in the order of their keys: full pages stay full.
	tx.Bucket(bucketRecords).FillPercent = 1
	return &batch{
		snapshot: snapshot{tx: tx, index: c.index},
		changes:  c,
		clock:    readClock(tx.Bucket(bucketMeta), now),
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

// move keeps an entry of another bucket: what stood at was stands at now with
// value, where a nil key is none.
func (b *batch) move(bucket, was, now, value []byte) {
	if was != nil && !bytes.Equal(was, now) {
		b.delete(bucket, was)
	}
	if now != nil {
		b.put(bucket, now, value)
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
// its payload, and returns where it stands. A now that is Gone deletes.
func (b *batch) replace(was record, now store.Record) spot {
	b.count(was.Operation, was.State, now.State)
	if now.State == store.Gone {
		b.remove(was)
		b.delete(bucketPayloads, was.spot.payloadKey())
		return was.spot
	}
	at := was.spot
	if at.own == nil {
		switch last := lastDay(now, b.clock.now); {
		case was.Version == 0:
			at.place = newPlace(last, now.Version)
			b.changes.add(b.index.refs(now, at.place)...)
		case now.State == store.Completed && last < at.place.day():
			return b.carry(was, now, last) // it may go earlier than it was planned to
		default:
			b.changes.replace(was.Record, now, at.place)
		}
	}
	b.write(was, now, at)
	return at
}

// write puts now at a spot, and what follows from it elsewhere.
func (b *batch) write(was record, now store.Record, at spot) {
	if old, key := was.spot.unsettledKey(was.State), at.unsettledKey(now.State); old != nil || key != nil {
		b.move(bucketUnsettled, old, key, dueTime(now))
	}
	if at.own != nil {
		b.move(bucketOwnExpiry, at.ownExpiryKey(was.Record), at.ownExpiryKey(now), nil)
	}
	b.put(at.bucket(), at.key(), store.AppendRecord(make([]byte, 0, 512), now))
}

// remove takes a record out of all but the counts and the payloads.
func (b *batch) remove(r record) {
	if key := r.spot.unsettledKey(r.State); key != nil {
		b.delete(bucketUnsettled, key)
	}
	if key := r.spot.ownExpiryKey(r.Record); key != nil {
		b.delete(bucketOwnExpiry, key)
	}
	if r.spot.own == nil {
		b.changes.remove(b.index.refs(r.Record, r.spot.place)...)
	}
	b.delete(r.spot.bucket(), r.spot.key())
}

// carry moves a record to another day, and may change it on the way. It keeps
// its number, and with it the key of its payload.
func (b *batch) carry(was record, now store.Record, last uint16) spot {
	at := spot{place: newPlace(last, was.spot.place.number())}
	b.remove(was)
	b.changes.add(b.index.refs(now, at.place)...)
	b.write(record{Record: store.Record{ID: was.ID}}, now, at)
	return at
}

// finish writes what a commit says about itself and returns its number; or
// errNothing, if there is nothing to commit.
func (b *batch) finish() (uint64, error) {
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
	b.put(bucketMeta, metaLastWrite, encodeUint(uint64(store.UnixNano(b.clock.now))))
	switch c := b.clock; {
	case c.doubtful() && !c.told:
		b.put(bucketMeta, metaLeapt, encodeUint(uint64(store.UnixNano(c.leapt))))
	case c.told && !c.doubtful():
		b.delete(bucketMeta, metaLeapt)
	}
	return seq, b.err
}
