package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// Due implements store.Store. A record without a DueAt is never due. It looks at
// all that could be, 17 bytes each.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]store.Record, error) {
	var out []store.Record
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		out = nil
		found := &snapshot{tx: tx}
		for _, d := range passed(tx.Bucket(bucketUnsettled), now, limit) {
			r, err := found.at(d.spot)
			if err != nil {
				return err
			}
			if r == nil {
				return ErrDamaged
			}
			out = append(out, *r)
		}
		return nil
	})
	return out, err
}

// dated is where a record stands that is due at time.
type dated struct {
	time uint64
	spot spot
}

// passed are the first limit records that are due at now, the oldest first.
func passed(unsettled *bbolt.Bucket, now time.Time, limit int) []dated {
	var due []dated
	last := decodeUint(timePrefix(now))
	c := unsettled.Cursor()
	for _, first := range [][]byte{
		{byte(store.Processing) | ownFlag}, {byte(store.Processing)},
		{byte(store.FailedRetryable) | ownFlag}, {byte(store.FailedRetryable)},
	} {
		for k, v := c.Seek(first); bytes.HasPrefix(k, first); k, v = c.Next() {
			if len(v) == timeSize && decodeUint(v) <= last {
				due = append(due, dated{decodeUint(v), unsettledSpot(k)})
			}
		}
	}
	slices.SortStableFunc(due, func(a, b dated) int { return cmp.Compare(a.time, b.time) })
	return due[:max(0, min(limit, len(due)))]
}
