package boltstore

import (
	"bytes"
	"context"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	// expireChunk bounds the records that one commit deletes or carries forward,
	// and expireTime how long it looks for them: deliveries wait meanwhile.
	expireChunk = 200
	expireTime  = 2 * time.Millisecond
)

// Expire implements store.Store. Completed records go when the day that they were
// planned to stay through has passed: one to two days after their ExpiresAt, never
// before. Others that it meets are carried forward. It commits in chunks: on an
// error the number is that of the records that are gone. After a leap of the clock
// it is store.ErrClock for two days.
func (s *Store) Expire(ctx context.Context, now time.Time, limit int) (int, error) {
	total := 0
	for total < limit {
		want := min(expireChunk, limit-total)
		var done expired
		err := s.submit(ctx, &op{run: func(b *batch) (err error) {
			done, err = expire(b, now, want)
			return err
		}})
		if err == nil && done.held {
			err = store.ErrClock
		}
		if err != nil {
			return total, err
		}
		total += done.gone
		if !done.more {
			break
		}
	}
	return total, nil
}

// expired says what one commit of Expire did.
type expired struct {
	gone int
	more bool // it was bounded, and the next one goes on
	held bool // the clock is in doubt
}

func expire(b *batch, now time.Time, want int) (expired, error) {
	if b.clock.since > heartbeat {
		b.wrote = true // though it be nothing but the time
	}
	if b.clock.doubtful() {
		return expired{held: true}, nil
	}
	records, more, err := b.past(now, want)
	if err != nil {
		return expired{}, notStored(err)
	}
	done := expired{more: more}
	for _, r := range records {
		if r.State == store.Completed && !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now) {
			b.replace(r, store.Record{ID: r.ID})
			done.gone++
		} else {
			b.carry(r, r.Record, lastDay(r.Record, now))
		}
	}
	return done, nil
}

// past reads up to limit records whose last day is over, and the gate's own that
// have expired. more: it came to the limit.
func (s *snapshot) past(now time.Time, limit int) (out []record, more bool, err error) {
	begun := time.Now()
	last := timePrefix(now)
	own := s.tx.Bucket(bucketOwnExpiry).Cursor()
	for k, _ := own.First(); k != nil && bytes.Compare(k[:timeSize], last) <= 0; k, _ = own.Next() {
		if len(out) == limit {
			return out, true, nil
		}
		at := spot{own: bytes.Clone(k[timeSize:])}
		r, err := s.at(at)
		if err != nil {
			return nil, false, err
		}
		if r != nil {
			out = append(out, record{*r, at})
		}
	}
	c := s.tx.Bucket(bucketRecords).Cursor()
	for k, v := c.First(); k != nil && place(decodeUint(k)).day() < day(now); k, v = c.Next() {
		if len(out) == limit || (len(out) > 0 && time.Since(begun) > expireTime) {
			return out, true, nil
		}
		r, err := decode(v)
		if err != nil {
			return nil, false, err
		}
		out = append(out, record{*r, spot{place: place(decodeUint(k))}})
	}
	return out, false, nil
}
