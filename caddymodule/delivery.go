package caddymodule

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// decision is what the gate did with one delivery: contract words, in answers,
// logs and metrics alike.
type decision string

const (
	decidedNew             decision = "new"
	decidedRetry           decision = "retry"
	decidedInFlight        decision = "in_flight"
	decidedReplayed        decision = "replayed"
	decidedManualReview    decision = "manual_review"
	decidedConflict        decision = "conflict"
	decidedMissingKey      decision = "missing_key"
	decidedMalformed       decision = "malformed"
	decidedUnauthenticated decision = "unauthenticated"
	decidedStale           decision = "stale"
	decidedUnrouted        decision = "unrouted"
	decidedMethod          decision = "method"
	decidedTooLarge        decision = "too_large"
	decidedUpgrade         decision = "upgrade"
	decidedUnavailable     decision = "store_unavailable"
	decidedOverloaded      decision = "overloaded"
	decidedHandshake       decision = "handshake"
	decidedPassed          decision = "passed"
)

// delivery is one HTTP request on its way through the gate, and what is known of it.
type delivery struct {
	gate      *Handler
	hook      *webhook // nil: no webhook is named so
	path      string   // canonical, below the prefix
	match     n8n.Match
	request   *http.Request
	memory    share
	authentic bool
	poses     bool   // a challenge at most: no event of the sender has this method
	body      buffer // as it came; not needed once the attempt is over
	started   time.Time

	waitsUntil time.Time // for whoever holds its event's claim; zero: it has not waited

	// Evidence for the log, gathered on the way.
	id             store.ID
	suspicion      string       // what a flag warns of
	other          string       // the key under which the content came before
	record         store.Record // as it stood last
	upstreamStatus int
	n8nAnswer      string        // which of n8n's own answers it was
	hint           string        // which setting would have told more
	claimed        time.Duration // how long each stage took
	forwarded      time.Duration
	settled        time.Duration
}

func newDelivery(h *Handler, path string, match n8n.Match, r *http.Request) *delivery {
	d := &delivery{gate: h, path: path, match: match, request: r, memory: share{budget: memory}, started: time.Now()}
	if match.Found {
		d.hook = h.webhooks[match.Index]
	}
	return d
}

// operation is empty where no webhook is named, so that labels stay bounded.
func (d *delivery) operation() string {
	if d.hook == nil {
		return ""
	}
	return d.hook.operation.name
}

func count(operation string, what decision) {
	metrics().deliveries.WithLabelValues(operation, string(what)).Inc()
}

// evidence leaves what there is to know about the delivery: one log line, one count.
func (d *delivery) evidence(a answer) {
	count(d.operation(), a.decision)
	level := a.level()
	if d.suspicion != "" {
		level = max(level, zapcore.WarnLevel)
	}
	entry := d.gate.logger.Check(level, "delivery")
	if entry == nil {
		return
	}
	fields := make([]zap.Field, 0, 14)
	fields = append(fields,
		zap.String("correlation_id", d.correlationID()),
		zap.String("operation", d.operation()),
		zap.String("decision", string(a.decision)),
	)
	if a.status != 0 { // of what is passed on, others know it
		fields = append(fields, zap.Int("status", a.status))
	}
	if key := d.loggedKey(); key != "" {
		fields = append(fields, zap.String("event_key", key))
	}
	if d.record.Version != 0 {
		fields = append(fields,
			zap.String("state", d.record.State.String()),
			zap.String("reason", d.record.Reason),
			zap.Int("attempt", d.record.Attempt),
			zap.String("action_id", d.record.ActionID),
		)
	}
	if d.upstreamStatus != 0 {
		fields = append(fields, zap.Int("upstream_status", d.upstreamStatus))
	}
	if d.n8nAnswer != "" {
		fields = append(fields, zap.String("n8n_answer", d.n8nAnswer))
	}
	if d.hint != "" {
		fields = append(fields, zap.String("hint", d.hint))
	}
	if d.suspicion != "" {
		fields = append(fields, zap.String("suspicion", d.suspicion))
	}
	if a.err != nil {
		fields = append(fields, zap.Error(a.err))
	}
	fields = append(fields,
		zap.Duration("duration", time.Since(d.started)),
		zap.Duration("claim_duration", d.claimed),
		zap.Duration("forward_duration", d.forwarded),
		zap.Duration("settle_duration", d.settled),
	)
	entry.Write(fields...)
}

// correlationID is Caddy's own id of the request, {http.request.uuid}. Caddy makes it
// when it is first asked for, and puts it into its access log too.
func (d *delivery) correlationID() string {
	repl, ok := d.request.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return ""
	}
	id, _ := repl.GetString("http.request.uuid")
	return id
}

// loggedKey is the event key as log_key wants it. A hash is enough to follow an
// event through the log; keys may hold what should not lie in logs.
func (d *delivery) loggedKey() string {
	if d.id.EventKey == "" {
		return ""
	}
	switch d.hook.logKey {
	case "plain":
		return d.id.EventKey
	case "off":
		return ""
	}
	sum := sha256.Sum256([]byte(d.id.EventKey))
	return hex.EncodeToString(sum[:8])
}

// level: what needs a person, or hurts senders, stands out.
func (a answer) level() zapcore.Level {
	switch a.decision {
	case decidedUnavailable:
		return zapcore.ErrorLevel
	case decidedNew, decidedRetry:
		if a.status >= http.StatusInternalServerError {
			return zapcore.WarnLevel
		}
	case decidedManualReview, decidedConflict, decidedMissingKey, decidedMalformed, decidedTooLarge, decidedOverloaded:
		return zapcore.WarnLevel
	}
	return zapcore.InfoLevel
}
