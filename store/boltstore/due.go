package boltstore

import (
	"bytes"
	"context"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// expireChunk bounds the records that one commit deletes: deliveries wait for it.
const expireChunk = 100

// Due implements store.Store. A record without a DueAt is never due.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]store.Record, error) {
	var out []store.Record
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		var err error
		out, err = readRecords(tx.Bucket(bucketRecords), passedKeys(tx.Bucket(bucketDue), now, limit))
		return err
	})
	return out, err
}

// passedKeys copies the first limit record keys of an index whose time is not after now.
func passedKeys(index *bbolt.Bucket, now time.Time, limit int) [][]byte {
	var keys [][]byte
	passed(index, now, func(key []byte) bool {
		if len(keys) < limit {
			keys = append(keys, bytes.Clone(key))
		}
		return len(keys) < limit
	})
	return keys
}

// Expire implements store.Store. It commits in chunks: on an error the number is
// that of the records that are gone.
func (s *Store) Expire(ctx context.Context, now time.Time, limit int) (int, error) {
	total := 0
	for total < limit {
		want, gone := min(expireChunk, limit-total), 0
		err := s.submit(ctx, &op{run: func(b *batch) (err error) {
			gone, err = expire(b, now, want)
			return err
		}})
		if err != nil {
			return total, err
		}
		total += gone
		if gone < want {
			break
		}
	}
	return total, nil
}

// expire deletes the first limit records whose retention has passed. The index
// holds completed records only, and each is looked at once more.
func expire(b *batch, now time.Time, limit int) (int, error) {
	keys := passedKeys(b.tx.Bucket(bucketExpiry), now, limit)
	records, err := readRecords(b.tx.Bucket(bucketRecords), keys)
	if err != nil {
		return 0, notStored(err)
	}
	gone := 0
	for i, r := range records {
		if r.State != store.Completed || r.ExpiresAt.IsZero() || r.ExpiresAt.After(now) {
			continue
		}
		for _, a := range r.Aliases {
			b.delete(bucketAliases, aliasKey(a))
		}
		b.replace(keys[i], r, store.Record{ID: r.ID})
		gone++
	}
	return gone, nil
}
