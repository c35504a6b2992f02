package caddymodule

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// claim is the right of one delivery to act, or the record that stood in its way.
type claim struct {
	ledger *lease
	record store.Record
	won    bool

	token string // the fencing token, for n8n alone
	hash  store.Hash

	slots []*gauge // what it counts in while it is in flight
}

var errOverloaded = errors.New("max_in_flight is reached")

// claim asks for the right to act, durably. It is one atomic step: either this
// delivery owns the record now, or the record says who does. The sender may hang
// up; its claim is decided all the same.
func (d *delivery) claim(id store.ID) (*claim, error) {
	defer func(begin time.Time) { d.claimed = time.Since(begin) }(time.Now())
	stopAt("before_claim")
	ledger, err := d.gate.app.lease()
	if err != nil {
		return nil, unavailable(err)
	}
	c := &claim{ledger: ledger}
	ctx := context.WithoutCancel(d.request.Context())
	have, err := ledger.Get(ctx, id)
	if err == nil {
		have, err = store.Update(ctx, ledger, have, func(now time.Time, have []store.Record) ([]store.Change, error) {
			return d.claimRule(ctx, c, now, have[0])
		})
	}
	if err == nil {
		c.record = have[0]
		c.won = c.hash != store.Hash{} && c.record.State == store.Processing && c.record.Owned(c.hash)
		d.record = c.record
		if !c.won {
			c.leaveFlight()
		}
		stopAt("after_claim")
		return c, nil
	}
	if errors.Is(err, store.ErrUnknown) && c.hash != (store.Hash{}) {
		// The claim may be on disk, and nothing was sent: take it back when the
		// store answers again, instead of leaving a false doubt.
		d.settleLater(c, verdict{to: store.FailedRetryable, reason: store.ReasonNotSent}, nil)
	}
	c.leaveFlight()
	c.release()
	if errors.Is(err, errOverloaded) {
		return nil, transient(decidedOverloaded, "too many deliveries are in flight").because(err)
	}
	return nil, unavailable(err)
}

// claimRule decides what this delivery may do with the record that stands there.
func (d *delivery) claimRule(ctx context.Context, c *claim, now time.Time, r store.Record) ([]store.Change, error) {
	if lapse, err := store.LapseRule(ctx, c.ledger, now, r); err != nil || lapse != nil {
		return lapse, err
	}
	if c.token == "" {
		if r.State != store.Gone && r.State != store.FailedRetryable {
			return nil, nil // the common replay costs neither a token nor a slot
		}
		c.token, c.hash = store.NewToken()
	}
	next, err := store.Claim(r, store.Claimed{
		Token: c.hash, Incarnation: c.ledger.Incarnation(), Holder: store.HolderForward,
		Lasts: d.hook.timeout + settleGrace, Retention: d.hook.retention, MaxAttempts: d.hook.maxAttempts,
	}, now)
	if errors.Is(err, store.ErrIllegalMove) {
		return nil, nil // somebody else's, or ours already: an unknown commit that was stored
	}
	if err != nil {
		return nil, err
	}
	if !c.enterFlight(&d.hook.inFlight, d.hook.maxInFlight, &d.gate.inFlight, d.gate.MaxInFlight) {
		return nil, errOverloaded
	}
	return []store.Change{{Was: r.Version, Now: next}}, nil
}

// enterFlight takes a place in the webhook's bound and in the gate's, once a claim.
func (c *claim) enterFlight(hook *gauge, hookLimit int, gate *gauge, gateLimit int) bool {
	if c.slots != nil {
		return true
	}
	if !hook.acquire(hookLimit) {
		return false
	}
	if !gate.acquire(gateLimit) {
		hook.add(-1)
		return false
	}
	c.ledger.attempts.add(1)
	c.slots = []*gauge{hook, gate, &c.ledger.attempts}
	return true
}

func (c *claim) leaveFlight() {
	for _, g := range c.slots {
		g.add(-1)
	}
	c.slots = nil
}

// release gives back all that the claim holds.
func (c *claim) release() {
	c.leaveFlight()
	_ = c.ledger.release()
}

// await waits for the attempt that owns the record, as long as the webhook lets a
// duplicate wait and the sender stays, and returns the record as it stands then.
func (d *delivery) await(c *claim) store.Record {
	if c.record.State != store.Processing || d.hook.wait == 0 {
		return c.record
	}
	ctx, cancel := context.WithTimeout(d.request.Context(), d.hook.wait)
	defer cancel()
	for c.record.State == store.Processing && ctx.Err() == nil {
		changed, stop := c.ledger.Watch(c.record.ID)
		have, err := c.ledger.Get(ctx, c.record.ID)
		if err != nil { // the sender is gone, or the store is in trouble: what was read last is answered
			stop()
			break
		}
		c.record, d.record = have[0], have[0]
		if c.record.State == store.Processing {
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		stop()
	}
	return c.record
}

// unavailable: without the store nothing is known, so nothing is forwarded.
func unavailable(err error) error {
	return transient(decidedUnavailable, "the gate cannot read or write its records").because(err)
}

// transient asks the sender to come again.
func transient(what decision, detail string) *refused {
	return refuse(what, http.StatusServiceUnavailable, detail).with("Retry-After", retryAfter)
}
