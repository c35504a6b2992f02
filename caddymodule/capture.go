package caddymodule

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/n8n-gate/n8n-gate/store"
)

// capture takes n8n's response instead of the sender's connection. Caddy's own
// recorder shares the outer header map and has no bound; this one shares nothing,
// and what is over its bound is read and thrown away: an error from Write would
// make reverse_proxy break the exchange off. It neither hijacks nor streams.
type capture struct {
	header   http.Header // as the proxy writes it
	bodyless bool        // it answers HEAD: a length is announced, and no body comes

	status  int
	sent    http.Header // as it was when the status came
	body    buffer
	dropped bool // it was over the limit, or more than there is memory for
}

func newCapture(limit int64, memory *share) *capture {
	return &capture{header: make(http.Header), body: buffer{share: memory, bound: limit}}
}

func (c *capture) Header() http.Header { return c.header }

// WriteHeader takes the final status; 1xx answers are only on the way to it.
func (c *capture) WriteHeader(status int) {
	if status < http.StatusOK || c.status != 0 {
		return
	}
	c.status = status
	c.sent = c.header.Clone()
	length := c.header.Get("Content-Length")
	if length == "" || c.bodyless || status == http.StatusNotModified {
		return
	}
	if n, err := strconv.ParseInt(length, 10, 64); err == nil && n > 0 {
		if c.dropped = n > c.body.bound; !c.dropped {
			c.body.expect(n)
		}
	}
}

func (c *capture) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	switch {
	case c.dropped:
	case c.body.room(len(p)) != nil:
		c.dropped = true
		c.body.drop()
	default:
		c.body.data = append(c.body.data, p...)
	}
	return len(p), nil
}

// FlushError is what http.ResponseController asks for; there is nothing to flush.
func (c *capture) FlushError() error { return nil }

// receiptHeaders are kept with a receipt. The sandbox CSP is one of them: without
// it a replayed page of a workflow would run as n8n's own origin; and a body means
// nothing without its encoding.
var receiptHeaders = []string{"Content-Type", "Content-Encoding", "Location", "Content-Security-Policy"}

// receipt is what is kept of the exchange for replays; nil unless it completed.
func (hook *webhook) receipt(ex *exchange, v verdict) *store.Receipt {
	if v.to != store.Completed {
		return nil
	}
	r := &store.Receipt{Status: ex.status, BodyDropped: ex.dropped || v.internal}
	r.Header = make([]store.Field, 0, len(receiptHeaders)+len(hook.receiptHeader))
	for _, names := range [...][]string{receiptHeaders, hook.receiptHeader} {
		for _, name := range names {
			for _, value := range ex.header.Values(name) {
				r.Header = append(r.Header, store.Field{Name: name, Value: value})
			}
		}
	}
	if ex.method == http.MethodHead && !r.BodyDropped {
		for _, length := range ex.header.Values("Content-Length") {
			r.Header = append(r.Header, store.Field{Name: "Content-Length", Value: length})
		}
	}
	if r.BodyDropped || int64(len(ex.body)) > hook.receiptBody {
		r.BodyDropped = true
	} else {
		r.Body = ex.body
	}
	return r
}

// dropOwnHeaders strips what only the gate may set.
func dropOwnHeaders(h http.Header) {
	for name := range h {
		if ownHeader(name) {
			delete(h, name)
		}
	}
}

// ownHeader reports whether a header is one of the gate's: nobody else may set one.
func ownHeader(name string) bool {
	return len(name) >= len(gateHeader) && strings.EqualFold(name[:len(gateHeader)], gateHeader)
}

const gateHeader = "N8n-Gate-"
