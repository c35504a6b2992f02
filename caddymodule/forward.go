package caddymodule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// exchange is what is known of one attempt's way to n8n and back.
type exchange struct {
	// sent is false only where no connection was obtained: nothing can have been sent.
	sent     bool
	complete bool // the whole response arrived
	timedOut bool
	status   int
	header   http.Header
	body     []byte
	dropped  bool   // the body was over the limit
	upstream string // which n8n answered
	err      error

	method, prefix, path, rawQuery string // what n8n was asked
}

// toN8N is the exchange as n8n's table of answers sees it.
func (ex *exchange) toN8N() n8n.Exchange {
	return n8n.Exchange{
		Method: ex.method, Prefix: ex.prefix, Path: ex.path, RawQuery: ex.rawQuery,
		Status: ex.status, Header: ex.header, Body: ex.body,
	}
}

// forward sends the delivery to n8n, at most once; without a claim it goes ungated.
// The sender may hang up: the attempt runs to its own timeout, and its receipt
// answers the sender's retry.
func (d *delivery) forward(exit context.Context, c *claim, body []byte) *exchange {
	defer func(begin time.Time) { d.forwarded = time.Since(begin) }(time.Now())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.request.Context()), d.hook.timeout)
	defer cancel()
	defer context.AfterFunc(exit, cancel)()
	a := &attempt{header: c.header()}
	response := newCapture(d.hook.maxResponse, &d.memory)
	response.bodyless = d.request.Method == http.MethodHead
	err := d.roundTrip(a.with(ownVars(ctx)), response, body)
	d.upstreamStatus = response.status
	if err == nil && a.broken != nil {
		err = fmt.Errorf("the response was cut short: %w", a.broken)
	}
	return &exchange{
		sent:     a.connections.Load() > 0,
		complete: err == nil && a.answered && response.status != 0,
		timedOut: errors.Is(ctx.Err(), context.DeadlineExceeded),
		status:   response.status,
		header:   response.sent,
		body:     response.body.data,
		dropped:  response.dropped,
		upstream: a.upstream,
		err:      err,

		method: d.request.Method, prefix: d.gate.Prefix, path: d.path, rawQuery: d.request.URL.RawQuery,
	}
}

// ownVars gives the attempt a map of Caddy's variables of its own: net/http's dial
// outlives an attempt that times out, and goes on reading it (httptransport.go).
func ownVars(ctx context.Context) context.Context {
	vars, ok := ctx.Value(caddyhttp.VarsCtxKey).(map[string]any)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, caddyhttp.VarsCtxKey, maps.Clone(vars))
}

// roundTrip runs the owned proxy. Whatever panics in there must not keep the attempt
// from being settled.
func (d *delivery) roundTrip(ctx context.Context, response *capture, body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			d.gate.logger.Error("panic while forwarding", zap.Any("panic", p), zap.Stack("stack"))
			err = errors.New("panic while forwarding")
		}
	}()
	return d.gate.proxy.ServeHTTP(response, d.outgoing(ctx, body), endOfLine)
}

// endOfLine stands behind the proxy, where nothing is.
var endOfLine = caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
	return errors.New("the proxy did not answer")
})

// outgoing builds the request that n8n gets. It has no GetBody, with which
// net/http would send a request that has an Idempotency-Key twice.
func (d *delivery) outgoing(ctx context.Context, body []byte) *http.Request {
	r := d.request.Clone(ctx)
	r.Body, r.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	r.TransferEncoding, r.Trailer, r.GetBody = nil, nil, nil
	d.address(r)
	for _, name := range droppedHeaders {
		if name != "Origin" || !d.hook.keepOrigin {
			r.Header.Del(name)
		}
	}
	keepContent(r.Header)
	if d.gate.keepAlive {
		for _, name := range idempotencyHeaders {
			r.Header.Del(name)
		}
	}
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return r
}

// header is what the gate tells n8n of a claim; nothing where there is none.
func (c *claim) header() http.Header {
	if c == nil {
		return nil
	}
	return headerOf([]store.Field{
		{Name: "N8n-Gate-Operation", Value: c.record.Operation},
		{Name: "N8n-Gate-Event-Key", Value: first(c.event.own, c.record.EventKey)},
		{Name: "N8n-Gate-Attempt", Value: strconv.Itoa(c.record.Attempt)},
		{Name: "N8n-Gate-Token", Value: c.token},
		{Name: "N8n-Gate-Idempotency-Key", Value: c.record.IdempotencyKey()},
	})
}

// address gives r the path that n8n reads as the one that was decided on, and none
// of the sender's headers that only the gate may set.
func (d *delivery) address(r *http.Request) {
	r.URL.RawPath = n8n.Rebuild(d.gate.Prefix, d.path)
	// It was decoded before and encoded again: it cannot fail to decode.
	r.URL.Path, _ = url.PathUnescape(r.URL.RawPath)
	dropOwnHeaders(r.Header)
}

// keepContent takes the names of Content-* out of Connection, whose names the proxy
// takes out of the request: what the body is, both ends must read alike (RFC 9110,
// section 7.6.1, forbids a sender to name them).
func keepContent(h http.Header) {
	var kept []string
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); len(name) < 8 || !strings.EqualFold(name[:8], "Content-") {
				kept = append(kept, name)
			}
		}
	}
	h.Del("Connection")
	if len(kept) > 0 {
		h.Set("Connection", strings.Join(kept, ", "))
	}
}

// droppedHeaders never reach n8n. With Origin, n8n's router answers an unknown
// webhook with an HTML 500 that proves nothing; Accept-Encoding would bind the
// receipt to one sender's; Expect would be passed on by reverse_proxy; Incremental
// makes it answer 501 by itself; the body is sent whole, so it has no trailers.
var droppedHeaders = []string{"Origin", "Accept-Encoding", "Expect", "Incremental", "Trailer", "Te"}
