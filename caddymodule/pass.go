package caddymodule

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// pass lets a request below the prefix through to the next handler, ungated.
func (d *delivery) pass(w http.ResponseWriter, next caddyhttp.Handler) error {
	d.evidence(answer{decision: decidedPassed})
	dropOwnHeaders(d.request.Header)
	w.Header().Set("N8n-Gate-Decision", string(decidedPassed))
	return next.ServeHTTP(w, d.request)
}

// passes reports whether the request goes to the next handler: a webhook that no
// block names, or a test webhook, where the user says so. What n8n itself does not
// read as either, or could take for a webhook that is named, never does.
func (h *Handler) passes(r *http.Request, path string, readable, known bool) bool {
	if !readable {
		return h.TestURLs == "private" && n8n.IsTest(h.Prefix, r.URL.EscapedPath()) && fromPrivateNetwork(r)
	}
	return !known && h.Other == "pass" && !h.paths.Keeps(path)
}

// fromPrivateNetwork asks for the client's address as Caddy knows it: behind
// trusted proxies it is the one that they say.
func fromPrivateNetwork(r *http.Request) bool {
	client, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	addr, err := netip.ParseAddr(client)
	return err == nil && (addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast())
}

// stream forwards a webhook in mode pass: ungated, with the sender attached, so that
// it may stream and be upgraded. Nothing is said of what goes wrong on the way:
// reverse_proxy and Caddy would log the whole request with it, secrets and all.
func (d *delivery) stream(w http.ResponseWriter) error {
	a := new(attempt)
	r := d.request.Clone(a.with(d.request.Context()))
	d.address(r)
	w.Header().Set("N8n-Gate-Decision", string(decidedPassed))
	err := d.gate.proxy.ServeHTTP(&patientWriter{w}, r, endOfLine)
	var failed caddyhttp.HandlerError
	if errors.As(err, &failed) {
		refused := refusal(refuse(decidedPassed, failed.StatusCode, "n8n did not answer").because(failed.Err))
		d.evidence(refused)
		refused.write(w, r.Method)
		return nil
	}
	d.evidence(answer{decision: decidedPassed})
	if a.broken != nil {
		panic(http.ErrAbortHandler) // the sender must not take a part for the whole
	}
	return err
}

// patientWriter takes what a sender that is gone will not read; its context ends the
// stream.
type patientWriter struct{ http.ResponseWriter }

func (w *patientWriter) Write(p []byte) (int, error) {
	_, _ = w.ResponseWriter.Write(p)
	return len(p), nil
}

// Unwrap is for http.ResponseController: flushing and upgrading go on as before.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ping forwards a delivery that has no key, where the webhook lets such through. It
// claims nothing; n8n's answer is the sender's.
func (d *delivery) ping(body []byte) answer {
	ledger, err := d.gate.app.lease()
	if err != nil {
		return refusal(unavailable(err))
	}
	c := &claim{ledger: ledger}
	defer c.release()
	if !d.enterFlight(c) {
		return refusal(transient(decidedOverloaded, "too many deliveries are in flight").because(errOverloaded))
	}
	return d.ungated(ledger.exit, body)
}

// unstored forwards while the store is down, where the user wants that.
func (d *delivery) unstored(body []byte) answer {
	d.suspicion = "the store is down: forwarded ungated, as store_down pass wants it"
	c := new(claim)
	if !d.enterFlight(c) {
		return refusal(transient(decidedOverloaded, "too many deliveries are in flight").because(errOverloaded))
	}
	defer c.leaveFlight()
	return d.ungated(context.Background(), body)
}

// ungated forwards without a claim.
func (d *delivery) ungated(exit context.Context, body []byte) answer {
	exchange := d.forward(exit, nil, body)
	v := d.classify(exchange)
	switch {
	case d.hook.upstream && v.refusesSender(exchange):
		return refusal(notProven())
	case v.to == store.Gone && exchange.sent:
		return fromUndone(decidedPassed, v, exchange)
	case exchange.complete && v.to == store.FailedRetryable:
		return refusal(transient(decidedPassed, "n8n did not take the delivery"))
	case exchange.complete && v.internal:
		return refusal(refuse(decidedPassed, http.StatusBadGateway, "n8n answered with an error of its own"))
	case exchange.complete:
		return asItCame(decidedPassed, exchange)
	case !exchange.sent:
		return refusal(transient(decidedPassed, "n8n cannot be reached").because(exchange.err))
	case exchange.timedOut:
		return refusal(refuse(decidedPassed, http.StatusGatewayTimeout, "n8n did not answer in time").because(exchange.err))
	}
	return refusal(refuse(decidedPassed, http.StatusBadGateway, "n8n's answer did not arrive whole").because(exchange.err))
}
