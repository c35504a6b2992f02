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

// Scan implements store.Store. The order is that of the places; the gate's own
// records stand in that of their event keys. A query for states that are all
// unsettled does not look at completed records. A record that moves to a later
// day between two pages may be seen on both.
func (s *Store) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	after, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil || (len(after) != 0 && len(after) != placeSize && !isOwn(q.Operation)) {
		return store.Page{}, ErrBadCursor
	}
	var page store.Page
	err = s.view(ctx, func(tx *bbolt.Tx) (err error) {
		page, err = scan(walk(tx, q, after), q)
		return err
	})
	return page, err
}

func scan(next func() (key, value []byte), q store.Query) (store.Page, error) {
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
	for k, v := next(); k != nil; k, v = next() {
		if looks > 0 && (len(page.Records) == limit || looks == maxLooks || size+len(v) > maxBytes) {
			page.Next = base64.RawURLEncoding.EncodeToString(last)
			break
		}
		r, err := decode(v)
		if err != nil {
			return store.Page{}, err
		}
		if matches(q, *r) {
			page.Records = append(page.Records, *r)
		}
		last, looks, size = k, looks+1, size+len(v)
	}
	return page, nil
}

// walk gives the records behind after that q asks for, and maybe others, one by
// one; at the end, a nil key.
func walk(tx *bbolt.Tx, q store.Query, after []byte) func() (key, value []byte) {
	switch {
	case isOwn(q.Operation):
		return walkBucket(tx.Bucket(bucketOwn), append([]byte(q.Operation), 0), after)
	case len(q.States) == 0 || slices.Contains(q.States, store.Completed):
		return walkBucket(tx.Bucket(bucketRecords), nil, after)
	}
	return walkUnsettled(tx, q.States, after)
}

func walkBucket(bucket *bbolt.Bucket, prefix, after []byte) func() (key, value []byte) {
	c := bucket.Cursor()
	k, v := seekAfter(c, prefix, after)
	return func() (key, value []byte) {
		if !bytes.HasPrefix(k, prefix) {
			return nil, nil
		}
		key, value = k, v
		k, v = c.Next()
		return key, value
	}
}

// walkUnsettled goes through the states side by side, so that a record which
// goes from one to another between pages keeps its turn.
func walkUnsettled(tx *bbolt.Tx, states []store.State, after []byte) func() (key, value []byte) {
	type at struct {
		next func() (key, value []byte)
		key  []byte // of the record
	}
	var walks []*at
	advance := func(w *at) {
		k, _ := w.next()
		if w.key = nil; k != nil {
			w.key = k[1:]
		}
	}
	for i, state := range states {
		if state == store.Gone || slices.Contains(states[:i], state) {
			continue
		}
		prefix := []byte{byte(state)}
		from := prefix
		if len(after) > 0 {
			from = append(slices.Clone(prefix), after...)
		}
		w := &at{next: walkBucket(tx.Bucket(bucketUnsettled), prefix, from)}
		advance(w)
		walks = append(walks, w)
	}
	records := tx.Bucket(bucketRecords)
	return func() (key, value []byte) {
		var first *at
		for _, w := range walks {
			if w.key != nil && (first == nil || bytes.Compare(w.key, first.key) < 0) {
				first = w
			}
		}
		if first == nil {
			return nil, nil
		}
		key = first.key
		advance(first)
		return key, records.Get(key)
	}
}

// seekAfter finds the first key behind after, or the first with prefix.
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
	return (q.Operation == "" || q.Operation == r.Operation) &&
		(len(q.States) == 0 || slices.Contains(q.States, r.State)) &&
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
