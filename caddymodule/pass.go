package caddymodule

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/n8n-gate/n8n-gate/n8n"
)

// pass lets a request below the prefix through to the next handler, ungated.
func pass(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	count("", decidedPassed)
	dropOwnHeaders(r.Header)
	w.Header().Set("N8n-Gate-Decision", string(decidedPassed))
	return next.ServeHTTP(w, r)
}

// passes reports whether the request goes to the next handler: a webhook that no
// block names, or a test webhook, where the user says so.
func (h *Handler) passes(r *http.Request, known bool) bool {
	if n8n.IsTest(h.Prefix, r.URL.EscapedPath()) {
		return h.TestURLs == "private" && fromPrivateNetwork(r)
	}
	return !known && h.Other == "pass"
}

// fromPrivateNetwork asks for the client's address as Caddy knows it: behind
// trusted proxies it is the one that they say.
func fromPrivateNetwork(r *http.Request) bool {
	client, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	addr, err := netip.ParseAddr(client)
	return err == nil && (addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast())
}

// stream forwards a webhook in mode pass: ungated, with the sender attached, so that
// it may stream and be upgraded.
func (d *delivery) stream(w http.ResponseWriter) error {
	count(d.operation(), decidedPassed)
	r := d.request.Clone(d.request.Context())
	d.address(r)
	w.Header().Set("N8n-Gate-Decision", string(decidedPassed))
	err := d.gate.proxy.ServeHTTP(w, r, endOfLine)
	var failed caddyhttp.HandlerError
	if !errors.As(err, &failed) {
		return err
	}
	// Caddy would log the whole request with the error, its secrets and all.
	a := refusal(refuse(decidedPassed, failed.StatusCode, "n8n did not answer").because(failed.Err))
	d.evidence(a)
	a.write(w)
	return nil
}

// ping forwards a delivery that has no key, where the webhook lets such through. It
// claims nothing; n8n's answer is the sender's.
func (d *delivery) ping(body []byte) answer {
	if !d.gate.inFlight.acquire(d.gate.MaxInFlight) {
		return refusal(transient(decidedOverloaded, "too many deliveries are in flight").because(errOverloaded))
	}
	defer d.gate.inFlight.add(-1)
	exchange := d.forward(context.Background(), nil, body)
	switch {
	case exchange.complete:
		return asItCame(decidedPassed, exchange)
	case !exchange.sent:
		return refusal(transient(decidedPassed, "n8n cannot be reached").because(exchange.err))
	case exchange.timedOut:
		return refusal(refuse(decidedPassed, http.StatusGatewayTimeout, "n8n did not answer in time").because(exchange.err))
	}
	return refusal(refuse(decidedPassed, http.StatusBadGateway, "n8n's answer did not arrive whole").because(exchange.err))
}
