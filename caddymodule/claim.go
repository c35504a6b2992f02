package caddymodule

import (
	"context"
	"errors"
	"fmt"
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

	event event
	alone bool     // the content under another key is not asked for any more: only a flag warns of it
	slots []*gauge // what it counts in while it is in flight
}

var (
	errOverloaded = errors.New("max_in_flight is reached")
	errOther      = errors.New("the event that has this key had another content")
	errReused     = errors.New("this content came under another key before")
	errNoStore    = errors.New("no store")
	errOutdated   = errors.New("another configuration names the events")
)

// claim asks for the right to act, durably. It is one atomic step: either this
// delivery owns the record now, or the record says who does. The sender may hang
// up; its claim is decided all the same.
func (d *delivery) claim(e event) (*claim, error) {
	defer func(begin time.Time) { d.claimed = time.Since(begin) }(time.Now())
	stopAt("before_claim")
	ledger, err := d.gate.app.lease()
	if err != nil {
		return nil, unavailable(fmt.Errorf("%w: %w", errNoStore, err))
	}
	c := &claim{ledger: ledger, event: e}
	have, err := d.decide(context.Background(), c)
	if err == nil {
		c.record = standing(have)
		c.won = c.record.State == store.Processing && c.record.Owned(c.hash)
		d.record = c.record
		if !c.won {
			c.leaveFlight()
		}
		stopAt("after_claim")
		return c, nil
	}
	if errors.Is(err, store.ErrUnknown) && c.record.EventKey != "" {
		// The claim may be on disk, and nothing was sent: take it back when the
		// store answers again, instead of leaving a false doubt.
		to := store.FailedRetryable
		if d.hook.upstream {
			to = store.Gone
		}
		d.settleLater(c, store.Settlement{
			Token: c.hash, To: to, Evidence: store.ByResponse, Reason: store.ReasonNotSent,
		})
	}
	c.release()
	switch {
	case errors.Is(err, errOther), errors.Is(err, errReused):
		return nil, refuse(decidedConflict, http.StatusConflict, err.Error()).because(err)
	case errors.Is(err, errOverloaded):
		return nil, transient(decidedOverloaded, "too many deliveries are in flight").because(err)
	case errors.Is(err, errQuarantine):
		return nil, transient(decidedUnavailable, "the gate's records were restored, and nobody has accepted them yet").because(err)
	}
	return nil, unavailable(err)
}

// storeIsDown reports whether err is that the store cannot be opened or written to:
// nothing was stored. What is wrong with one record, or unknown, is something else.
func storeIsDown(err error) bool {
	if err == nil {
		return false
	}
	var r *refused
	return errors.As(err, &r) && r.decision == decidedUnavailable && !errors.Is(r.err, errOutdated) &&
		(errors.Is(r.err, errNoStore) || errors.Is(r.err, store.ErrNotStored)) && !errors.Is(r.err, store.ErrUnknown)
}

// decide reads what stands there and carries the claim rule out. Meanwhile no other
// configuration can change what names an event: claims that are made by another rule
// would not see each other.
func (d *delivery) decide(ctx context.Context, c *claim) ([]store.Record, error) {
	c.ledger.rules.RLock()
	defer c.ledger.rules.RUnlock()
	if c.ledger.rules.text != d.gate.app.rules {
		return nil, errOutdated
	}
	have, err := c.ledger.Get(ctx, c.event.names...)
	if err != nil {
		return nil, err
	}
	rule := func(now time.Time, have []store.Record) ([]store.Change, error) {
		return d.claimRule(ctx, c, now, standing(have))
	}
	have, err = store.Update(ctx, c.ledger, have, rule)
	if err == nil {
		return have, nil
	}
	var conflict *store.Conflict
	if !errors.As(err, &conflict) {
		return have, err
	}
	for _, owner := range conflict.Taken {
		d.other = owner.EventKey
	}
	if d.hook.reusedBody == hold {
		return have, errReused
	}
	d.suspicion, c.alone = errReused.Error(), true
	return store.Update(ctx, c.ledger, have, rule)
}

// standing is the record of an event: the one under its name or, where its name has
// changed, the one that it has under a former name.
func standing(have []store.Record) store.Record {
	for _, r := range have {
		if r.Version != 0 {
			return r
		}
	}
	return have[0]
}

// claimRule decides what this delivery may do with the record that stands there.
func (d *delivery) claimRule(ctx context.Context, c *claim, now time.Time, r store.Record) ([]store.Change, error) {
	if lapse, err := store.LapseRule(ctx, c.ledger, now, r); err != nil || lapse != nil {
		return lapse, err
	}
	if d.hook.differing != off && !r.Owned(c.hash) && c.event.differs(r) {
		if d.hook.differing == hold {
			return nil, errOther
		}
		d.suspicion = errOther.Error()
	}
	if r.State == store.Gone {
		if err := d.otherProven(ctx, c); err != nil {
			return nil, err
		}
	}
	if r.State != store.Gone && r.State != store.FailedRetryable {
		return nil, nil // somebody else's, or ours already: an unknown commit that was stored
	}
	if c.ledger.quarantined.Load() {
		if r.State == store.Gone {
			return nil, errQuarantine
		}
		return nil, nil // it may have been carried out since the copy was made
	}
	if c.token == "" { // the common replay costs neither a token nor a place
		c.token, c.hash = store.NewToken()
	}
	next, err := store.Claim(r, store.Claimed{
		Token: c.hash, Incarnation: c.ledger.Incarnation(), Holder: store.HolderForward,
		Lasts: d.hook.timeout + settleGrace, Retention: d.hook.retention, MaxAttempts: d.hook.maxAttempts,
		RepeatSafe: d.hook.repeatSafe, Unproven: c.event.own,
		Fingerprint: c.event.fingerprint, Covers: c.event.covers, Aliases: d.reusedBody(c),
	}, now)
	if err != nil {
		return nil, err
	}
	if next.State != store.Processing { // in doubt, and too late to repeat it
		return []store.Change{{Was: r.Version, Now: next}}, nil
	}
	c.record = r // what is to be claimed, should nobody know whether it was
	if !d.enterFlight(c) {
		return nil, errOverloaded
	}
	return []store.Change{{Was: r.Version, Now: next}}, nil
}

// differs reports whether the record's event had another content. A fingerprint that
// was not taken, or of something else, tells nothing.
func (e event) differs(r store.Record) bool {
	return e.fingerprint != r.Fingerprint && e.covers == r.Covers &&
		e.fingerprint != store.Hash{} && r.Fingerprint != store.Hash{}
}

// reusedBody is the alias by which a content is found under another key.
func (d *delivery) reusedBody(c *claim) []store.Alias {
	if d.hook.reusedBody == off || c.alone {
		return nil
	}
	return []store.Alias{{
		Kind: store.AliasFingerprint, Value: d.hook.operation.name + "\x00" + string(c.event.body[:]),
	}}
}

// enterFlight takes a place in the webhook's bound and in the gate's, once a claim.
func (d *delivery) enterFlight(c *claim) bool {
	hook, gate := &d.hook.inFlight, &d.gate.inFlight
	switch {
	case c.slots != nil:
		return true
	case !hook.acquire(d.hook.maxInFlight):
		return false
	case !gate.acquire(d.gate.MaxInFlight):
		hook.add(-1)
		return false
	}
	c.slots = []*gauge{hook, gate}
	if c.ledger != nil { // there is a store
		c.ledger.attempts.add(1)
		c.slots = append(c.slots, &c.ledger.attempts)
	}
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
	if d.waitsUntil.IsZero() {
		d.waitsUntil = time.Now().Add(d.hook.wait)
	}
	ctx, cancel := context.WithDeadline(d.request.Context(), d.waitsUntil)
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
