package boltstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
	// maxLooks and maxBytes bound what one page looks at: a filter that finds
	// nothing must not hold its snapshot, and with it the pages that are freed
	// meanwhile, for as long as it takes to read the whole file.
	maxLooks = 10_000
	maxBytes = 16 << 20
)

// Scan implements store.Store. The order is that of (operation, event key) as bytes.
func (s *Store) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	after, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil {
		return store.Page{}, ErrBadCursor
	}
	var page store.Page
	err = s.view(ctx, func(tx *bbolt.Tx) (err error) {
		page, err = scan(tx.Bucket(bucketRecords).Cursor(), q, after)
		return err
	})
	return page, err
}

func scan(c *bbolt.Cursor, q store.Query, after []byte) (store.Page, error) {
	var (
		page  store.Page
		last  []byte
		looks int
		size  int
	)
	limit := min(q.Limit, maxLimit)
	if limit <= 0 {
		limit = defaultLimit
	}
	prefix := scanPrefix(q)
	for k, v := seekAfter(c, prefix, after); bytes.HasPrefix(k, prefix) && k != nil; k, v = c.Next() {
		if k[0] == '.' && q.Operation == "" {
			// The gate's own: the next byte of the first operation behind them is '/'.
			if k, v = c.Seek([]byte{'.' + 1}); k == nil {
				break
			}
		}
		if looks > 0 && (len(page.Records) == limit || looks == maxLooks || size+len(v) > maxBytes) {
			page.Next = base64.RawURLEncoding.EncodeToString(last)
			break
		}
		r, err := readRecord(k, v)
		if err != nil {
			return store.Page{}, err
		}
		if matches(q, r) {
			page.Records = append(page.Records, r)
		}
		last, looks, size = k, looks+1, size+len(v)
	}
	return page, nil
}

func scanPrefix(q store.Query) []byte {
	if q.Operation == "" {
		return nil
	}
	return append([]byte(q.Operation), 0)
}

// seekAfter finds the first record behind after, or the first with prefix.
func seekAfter(c *bbolt.Cursor, prefix, after []byte) (key, value []byte) {
	if bytes.Compare(after, prefix) <= 0 {
		return c.Seek(prefix)
	}
	k, v := c.Seek(after)
	if bytes.Equal(k, after) {
		return c.Next()
	}
	return k, v
}

func matches(q store.Query, r store.Record) bool {
	return (len(q.States) == 0 || slices.Contains(q.States, r.State)) &&
		(q.Reason == "" || q.Reason == r.Reason) &&
		(q.OlderThan.IsZero() || since(r).Before(q.OlderThan))
}

// since is when the present state of r began.
func since(r store.Record) time.Time {
	if r.State == store.Processing || r.SettledAt.IsZero() {
		return r.ClaimedAt
	}
	return r.SettledAt
}
