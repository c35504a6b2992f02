package caddymodule

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// auth upstream: n8n's trigger node knows the sender's secret, and nobody else does.
// Whoever sends is let through to n8n, so nothing that a forger sends may stand in the
// way of the sender's own deliveries, or read what became of them:
//
//   - A record is named by the event's key and the content: under another content, a
//     forgery has a record of its own beside that of the event.
//   - What n8n refuses, drops or never got is undone. It leaves no trace, and duplicates
//     that waited for it claim anew.
//   - Once n8n has shown that a delivery is its sender's, its record is found by the
//     event's key alone, and holds back every other content that has it.

const authUpstream = "upstream"

var errNotProven = errors.New("n8n refused the sender")

// checkUpstream refuses what auth upstream cannot go with.
func (o *Options) checkUpstream(wildcards int) error {
	switch {
	case o.Fingerprint.Mode != hold:
		return fmt.Errorf("auth upstream tells a forged delivery from the event by its content: fingerprint %s would mix them up", o.Fingerprint.Mode)
	case wildcards+len(o.Key) >= keyextract.MaxParts:
		return fmt.Errorf("auth upstream: the key has at most %d parts: the content is one more", keyextract.MaxParts-1)
	}
	return nil
}

// nameByContent names the record by its content too. Records from before the webhook had
// auth upstream are found by their former names.
func (e *event) nameByContent() error {
	e.own = e.names[0].EventKey
	byContent := make([]store.ID, len(e.names))
	for i, id := range e.names {
		key, err := keyextract.Parse(id.EventKey)
		if err == nil {
			key, err = key.With(hex.EncodeToString(e.fingerprint[:16]))
		}
		if err != nil {
			return refuse(decidedMalformed, http.StatusBadRequest, "the event key cannot be read: "+err.Error()).because(err)
		}
		byContent[i] = store.ID{Operation: id.Operation, EventKey: key.String()}
		e.proven = append(e.proven, store.EventAlias(id))
	}
	e.names = append(byContent, e.names...)
	return nil
}

// otherProven is errOther if the event is proven under another content. What is proven
// meanwhile was claimed beside this delivery.
func (d *delivery) otherProven(ctx context.Context, c *claim) error {
	for _, alias := range c.event.proven {
		switch id, err := c.ledger.Find(ctx, alias); {
		case errors.Is(err, store.ErrNotFound), err == nil && id == c.event.names[0]:
		case err != nil:
			return err
		default:
			return errOther
		}
	}
	return nil
}

// fromUpstream is the verdict where n8n decides whether the sender is the sender.
func (v verdict) fromUpstream(ex *exchange) verdict {
	switch {
	case v.to == store.FailedRetryable && !v.reported, v.to == store.Completed && v.class == n8n.Filtered:
		v.to = store.Gone
	case v.reported, v.class == n8n.Doubtful, ex.complete && n8n.FromWorkflow(ex.header):
		v.proven = true
	}
	return v
}

// refusesSender reports whether n8n does not believe the sender.
func (v verdict) refusesSender(ex *exchange) bool {
	return ex.complete && v.class == n8n.Rejected && (ex.status == http.StatusUnauthorized || ex.status == http.StatusForbidden)
}

// fromUndone answers a delivery whose claim was undone.
func fromUndone(what decision, v verdict, ex *exchange) answer {
	switch {
	case v.class == n8n.Filtered:
		return asItCame(what, ex)
	case v.refusesSender(ex):
		return refusal(notProven())
	}
	a := refusal(transient(what, "the event was not carried out").because(ex.err))
	a.notCarriedOut = true
	return a
}

func notProven() *refused {
	return refuse(decidedUnauthenticated, http.StatusUnauthorized, "the request is not authenticated").because(errNotProven)
}

// undone reports whether the claim that stood in the way is as if it had never been.
func undone(was, is store.Record) bool {
	return is.State == store.Gone || is.State == store.FailedRetryable && is.Attempt < was.Attempt
}
