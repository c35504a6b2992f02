package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/provider"
)

// Handler is the gate before one n8n. It owns n8n's whole production webhook
// subtree: the webhooks that it names it lets through once an event, answering
// replays itself; everything else below the prefix it refuses or passes. Requests
// outside the prefix go to the next handler untouched.
type Handler struct {
	// n8n, as Caddy's own reverse_proxy. Left out of it, the gate sets what is safe:
	// a fresh HTTP/1.1 connection for every delivery. What could send a delivery
	// twice, change where it goes, or hide what n8n said is refused. Required.
	ForwardRaw json.RawMessage `json:"forward,omitempty" caddy:"namespace=http.handlers inline_key=handler"`

	// Where n8n's production webhooks stand. Default: /webhook, as n8n's own
	// (N8N_ENDPOINT_WEBHOOK).
	Prefix string `json:"prefix,omitempty"`

	// What happens to a webhook that no block names: "refuse" (404, the default), or
	// "pass": it goes to the next handler, ungated.
	Other string `json:"other,omitempty"`

	// What happens to n8n's test webhooks, below PREFIX-test: "refuse" (404, the
	// default), or "private": from private networks they go to the next handler.
	TestURLs string `json:"test_urls,omitempty"`

	// The webhooks that are gated.
	Webhooks []Webhook `json:"webhooks,omitempty"`

	Options

	app       *App
	logger    *zap.Logger
	proxy     caddyhttp.MiddlewareHandler
	keepAlive bool // the proxy may reuse connections
	paths     *n8n.Table
	webhooks  []*webhook // by the index of their pattern in paths
	inFlight  gauge
	notes     recent
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.n8n_gate", New: func() caddy.Module { return new(Handler) }}
}

// UnmarshalJSON says of options that are to come that they are not built yet.
func (h *Handler) UnmarshalJSON(b []byte) error {
	type plain Handler
	return unmarshalStrict(b, (*plain)(h), unbuiltOption)
}

// Provision prepares the gate.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	app, err := ctx.App("n8n_gate")
	if err != nil {
		return err
	}
	h.app = app.(*App)
	h.Prefix = first(h.Prefix, "/webhook")
	h.Other = first(h.Other, "refuse")
	h.MaxInFlight = first(h.MaxInFlight, defaultInFlight)
	h.TestURLs = first(h.TestURLs, "refuse")
	if h.Other != "refuse" && h.Other != "pass" {
		return fmt.Errorf("other %q: must be refuse or pass", h.Other)
	}
	if h.TestURLs != "refuse" && h.TestURLs != "private" {
		return fmt.Errorf("test_urls %q: must be refuse or private", h.TestURLs)
	}
	if err := h.Options.validate(); err != nil {
		return err
	}
	if len(h.Webhooks) == 0 && h.Other == "refuse" {
		return errors.New("no webhook is named, and others are refused: the gate would let nothing through")
	}
	if err := h.compileAll(); err != nil {
		return err
	}
	if h.ForwardRaw == nil {
		return errors.New("no upstream: say with `forward` where n8n is")
	}
	if h.ForwardRaw, err = ownProxy(h.ForwardRaw); err != nil {
		return fmt.Errorf("forward: %w", err)
	}
	h.keepAlive = keepsAlive(h.ForwardRaw)
	if h.keepAlive && h.repeatable() {
		return errors.New("forward: keepalive is refused where a webhook takes GET or HEAD: " +
			"when a kept connection dies, net/http sends such a request again by itself")
	}
	proxy, err := ctx.LoadModule(h, "ForwardRaw")
	if err != nil {
		return fmt.Errorf("loading the upstream's reverse_proxy: %w", err)
	}
	h.proxy = proxy.(caddyhttp.MiddlewareHandler)
	return nil
}

// repeatable reports whether a gated webhook takes a method that net/http repeats
// by itself (request.go, isReplayable).
func (h *Handler) repeatable() bool {
	for _, w := range h.Webhooks {
		o := w.merge(h.Options)
		if o.Mode != "pass" && (slices.Contains(o.Methods, http.MethodGet) || slices.Contains(o.Methods, http.MethodHead)) {
			return true
		}
	}
	return false
}

// ServeHTTP is one delivery.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	escapedPath := r.URL.EscapedPath()
	path, inside, readable := n8n.Canonical(h.Prefix, escapedPath)
	// An opaque target ("x:a://host/webhook/y") has no path for Go, but one for Node.
	if !inside && !h.paths.SideDoor(escapedPath) && r.URL.Opaque == "" {
		return next.ServeHTTP(w, r)
	}
	var match n8n.Match
	if readable {
		match = h.paths.Lookup(path, r.Method)
	}
	known := match.Found || len(match.Allow) > 0
	poses := false
	if len(match.Allow) > 0 {
		if challenged, ok := h.challengedBy(path, r.Method, match.Allow); ok {
			challenged.Allow = match.Allow
			match, poses = challenged, true
		}
	}
	d := newDelivery(h, path, match, r)
	d.poses = poses
	if h.passes(r, path, readable, known) {
		return d.pass(w, next)
	}
	if match.Found && d.hook.stream && d.authenticate(nil) == nil {
		return d.stream(w)
	}
	defer d.memory.release()
	answer := d.deliver()
	d.body.drop()
	if d.hook != nil {
		answer = answer.forSender(d.hook).asSet(d.hook.respond)
	} else {
		answer = answer.asSet(h.Respond)
	}
	d.evidence(answer)
	d.note(answer)
	answer.write(w, r.Method)
	return nil
}

// deliver takes one delivery its way. Nothing before claim has side effects;
// nothing after claim returns before settle, and settle is durable before answer.
func (d *delivery) deliver() answer {
	if err := d.admit(); err != nil {
		return refusal(err)
	}
	if err := d.authenticateFirst(); err != nil {
		return refusal(err)
	}
	body, err := d.receive()
	if err != nil {
		return refusal(err)
	}
	if reply, challenged := d.handshake(body, (*provider.Sender).Unsigned); challenged {
		return reply
	}
	if err := d.authenticate(body); err != nil {
		return refusal(err)
	}
	if reply, challenged := d.handshake(body, (*provider.Sender).Authenticated); challenged {
		return reply
	}
	if d.poses {
		return refusal(d.otherMethod())
	}
	event, err := d.extract(body)
	switch {
	case d.pings(err):
		return d.ping(body)
	case err != nil:
		return refusal(err)
	}
	for {
		claim, err := d.claim(event)
		switch {
		case storeIsDown(err) && d.hook.storeDown == "pass":
			return d.unstored(body)
		case err != nil:
			return refusal(err)
		case claim.won:
			defer claim.release()
			return d.attempt(claim, body)
		}
		if other, stands := d.follow(claim); stands {
			return other
		}
	}
}

// follow answers from the record of an event that another delivery holds, or held. It
// reports whether that one's claim stands: one that was undone is free again.
func (d *delivery) follow(c *claim) (a answer, stands bool) {
	defer c.release()
	if !d.hook.upstream {
		d.body.drop()
	}
	was := c.record
	is := d.await(c)
	if d.hook.upstream && undone(was, is) && time.Now().Before(d.waitsUntil) {
		return answer{}, false
	}
	return d.afford(fromRecord(c.trusted(is))), true
}

// attempt carries out what was claimed. Nothing leaves it before the claim is
// settled: if something in here panics, the outcome is not known.
func (d *delivery) attempt(c *claim, body []byte) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			d.gate.logger.Error("panic during an attempt", zap.Any("panic", p), zap.Stack("stack"))
			a = d.panicked(c)
		}
	}()
	exchange := d.forward(c.ledger.exit, c, body)
	verdict := d.classify(exchange)
	record, err := d.settle(c, verdict, exchange)
	return fromAttempt(c, verdict, exchange, record, err)
}

// admit refuses what no webhook is.
func (d *delivery) admit() error {
	switch {
	case len(d.match.Allow) > 0 && !d.poses:
		return d.otherMethod()
	case d.hook == nil:
		return refuse(decidedUnrouted, http.StatusNotFound, "no webhook of this gate has this path")
	case d.request.Header.Get("Upgrade") != "" || headerHasToken(d.request.Header, "Connection", "upgrade"):
		return refuse(decidedUpgrade, http.StatusBadRequest, "a webhook cannot be upgraded to another protocol")
	}
	return nil
}

func (d *delivery) otherMethod() *refused {
	allow := strings.Join(d.match.Allow, ", ")
	return refuse(decidedMethod, http.StatusMethodNotAllowed, "this webhook takes "+allow).with("Allow", allow)
}

func headerHasToken(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
