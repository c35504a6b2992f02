package store

import (
	"context"
	"errors"
	"time"
)

// Swept says what one Sweep did.
type Swept struct {
	Lapsed  int  // processing, or failed_retryable in doubt → ambiguous
	Expired int  // completed → gone
	Held    bool // nothing expires for now, as the clock is in doubt: ErrClock
}

const (
	// Records that one transaction of a sweep touches: deliveries wait meanwhile.
	sweepBatch = 100
	// Batches of one sweep, so that it ends; the next one goes on.
	sweepBatches = 1000
)

// Sweep moves processing records that nobody will settle any more to ambiguous, and
// those in doubt whose downstream has forgotten the idempotency key; and it deletes
// completed ones that have expired. With orphans it also looks for
// holders of other incarnations, which needs a pass over all processing records:
// once after a store was opened. A record that cannot be moved does not keep the
// others from it: the errors are joined.
func Sweep(ctx context.Context, s Store, orphans bool) (swept Swept, failed error) {
	if orphans {
		query := Query{States: []State{Processing}, Limit: sweepBatch}
		for more := true; more; more = query.After != "" {
			page, err := s.Scan(ctx, query)
			if err != nil {
				return swept, err
			}
			failed = errors.Join(failed, lapseAll(ctx, s, page.Records, &swept))
			query.After = page.Next
		}
	}
	now, err := s.Now(ctx)
	if err != nil {
		return swept, err
	}
	for range sweepBatches {
		due, err := s.Due(ctx, now, sweepBatch)
		if err != nil {
			return swept, err
		}
		err = lapseAll(ctx, s, due, &swept)
		failed = errors.Join(failed, err)
		if err != nil || len(due) < sweepBatch {
			break
		}
	}
	for range sweepBatches {
		n, err := s.Expire(ctx, now, sweepBatch)
		swept.Expired += n
		if swept.Held = errors.Is(err, ErrClock); swept.Held {
			break
		}
		failed = errors.Join(failed, err)
		if err != nil || n < sweepBatch {
			break
		}
	}
	return swept, failed
}

func lapseAll(ctx context.Context, s Store, records []Record, swept *Swept) error {
	var failed error
	for _, r := range records {
		moved := false
		_, err := Update(ctx, s, []Record{r}, func(now time.Time, have []Record) ([]Change, error) {
			changes, err := LapseRule(ctx, s, now, have[0])
			moved = len(changes) > 0
			return changes, err
		})
		if err != nil {
			failed = errors.Join(failed, err)
		} else if moved {
			swept.Lapsed++
		}
	}
	return failed
}

// LapseRule is what everybody who reads a record asks first: a change to
// ambiguous if nobody will settle it any more, or if it was in doubt for too long to
// be tried again, and none if all is well.
func LapseRule(ctx context.Context, s Store, now time.Time, r Record) ([]Change, error) {
	if r.State != Processing && r.State != FailedRetryable {
		return nil, nil
	}
	alive := r.Incarnation == s.Incarnation()
	if r.State == Processing && !alive && r.Holder == HolderForward {
		var err error
		if alive, err = s.Alive(ctx, r.Incarnation); err != nil {
			return nil, err
		}
	}
	next, err := Lapse(r, alive, now)
	if errors.Is(err, ErrIllegalMove) {
		return nil, nil
	}
	return []Change{{Was: r.Version, Now: next}}, err
}
