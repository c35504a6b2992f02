package caddymodule

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	firstPause = 50 * time.Millisecond // between two tries to store an outcome
	maxPause   = time.Second
)

// settle stores what became of the attempt, durably, before anybody is answered.
// Where that fails it goes on trying in the background until the deadline, and
// the sender is told that the outcome is not known. It returns the record as it
// stands: another's word, if the attempt lost its record meanwhile.
func (d *delivery) settle(c *claim, v verdict, ex *exchange) (store.Record, error) {
	defer func(begin time.Time) { d.settled = time.Since(begin) }(time.Now())
	stopAt("after_response")
	said := store.Settlement{
		Token: c.hash, To: v.to, Evidence: store.ByResponse, Reason: v.reason, Reported: v.reported, OnTheWay: v.onTheWay, Proven: v.proven,
		Receipt: d.hook.receipt(ex, v), ActionID: d.hook.action(ex, v),
	}
	record, err := d.trySettle(c, said)
	if err != nil {
		d.gate.logger.Error("the outcome of an attempt could not be stored; it is tried again until the deadline",
			zap.String("operation", d.operation()), zap.String("correlation_id", d.correlationID()), zap.Error(err))
		d.settleLater(c, said)
		return c.record, err
	}
	d.record = record
	stopAt("after_settle")
	return record, nil
}

// panicked settles an attempt whose outcome the gate itself lost. Where it was settled
// before, that stands, and only its answer is lost.
func (d *delivery) panicked(c *claim) answer {
	lost := verdict{to: store.Ambiguous, reason: store.ReasonPanic}
	ex := &exchange{err: errPanicked}
	record, err := d.settle(c, lost, ex)
	if err == nil && record.State != store.Ambiguous {
		return fromRecord(record)
	}
	return fromAttempt(c, lost, ex, record, err)
}

var errPanicked = errors.New("the gate panicked")

func (d *delivery) trySettle(c *claim, said store.Settlement) (store.Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), settleGrace)
	defer cancel()
	have := []store.Record{c.record}
	if !c.record.Owned(c.hash) { // a claim whose commit is unknown: it may be there or not
		var err error
		if have, err = c.ledger.Get(ctx, c.record.ID); err != nil {
			return c.record, err
		}
	}
	have, err := store.UpdateProof(ctx, c.ledger, have,
		func(now time.Time, have []store.Record) ([]store.Change, error) {
			next, err := store.Settle(have[0], said, now)
			if errors.Is(err, store.ErrIllegalMove) || errors.Is(err, store.ErrNotOwner) {
				return nil, nil // settled already, by us (an unknown commit) or by others
			}
			return []store.Change{{Was: have[0].Version, Now: next}}, err
		})
	return have[0], err
}

// settleLater goes on trying to store an outcome, with its own hold on the store. It
// holds what is to be stored, not the response: the delivery gives its memory back, and
// the receipt has its own share; where there is none, only its body is lost.
// Past the deadline the record is ambiguous, and the last try is late evidence.
func (d *delivery) settleLater(c *claim, said store.Settlement) {
	later := &claim{ledger: c.ledger.again(), record: c.record, hash: c.hash}
	later.slots = []*gauge{&later.ledger.attempts}
	later.ledger.attempts.add(1)
	deadline := time.Now().Add(settleGrace + d.hook.timeout)
	if !c.record.Deadline.IsZero() {
		deadline = c.record.Deadline
	}
	logger := d.gate.logger.With(zap.String("operation", d.operation()), zap.String("correlation_id", d.correlationID()))
	held := share{budget: memory}
	said.Receipt = held.keep(said.Receipt)
	go func() {
		defer later.release()
		defer held.release()
		pause := firstPause
		for {
			last := !time.Now().Before(deadline)
			time.Sleep(pause)
			pause = min(2*pause, maxPause)
			record, err := d.trySettle(later, said)
			if err == nil {
				logger.Info("an attempt is settled at last", zap.String("state", record.State.String()))
				return
			}
			if last {
				logger.Error("the outcome of an attempt is lost: its record will be ambiguous", zap.Error(err))
				return
			}
		}
	}()
}

// keep accounts for what is to be stored, or keeps it without its body.
func (s *share) keep(r *store.Receipt) *store.Receipt {
	if r == nil || s.take(int64(cap(r.Body))) {
		return r
	}
	bare := *r
	bare.Body, bare.BodyDropped = nil, true
	return &bare
}
