package caddymodule

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// attempt is what the gate knows of one way to n8n, beneath all that reverse_proxy
// does. It is carried in the request's context.
type attempt struct {
	header      http.Header  // the gate's own, for n8n alone
	connections atomic.Int32 // obtained; trace callbacks run on other goroutines
	answered    bool         // n8n's response has begun
	broken      error        // it did not arrive whole
}

type attemptKey struct{}

// with returns ctx with the attempt in it. An obtained connection is where "not
// sent" ends: net/http hides whether a byte was written to it.
func (a *attempt) with(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, attemptKey{}, a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { a.connections.Add(1) },
		WroteRequest: func(httptrace.WroteRequestInfo) { stopAt("after_send") },
	})
}

// errSentOnce keeps whatever the proxy may be up to from sending twice.
var errSentOnce = errors.New("the delivery was sent already")

// transport is the owned proxy's transport. It sends an attempt once. It adds the
// gate's headers here, where reverse_proxy does not log them. And it keeps a
// response that breaks off to itself: reverse_proxy would log the whole request,
// the sender's secrets and all, before it panics.
type transport struct{ *reverseproxy.HTTPTransport }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	a, ok := r.Context().Value(attemptKey{}).(*attempt)
	if !ok { // mode pass
		return t.HTTPTransport.RoundTrip(r)
	}
	if a.connections.Load() > 0 {
		return nil, errSentOnce
	}
	out := new(http.Request)
	*out = *r
	out.Header = r.Header.Clone()
	for name, values := range a.header {
		out.Header[name] = values
	}
	response, err := t.HTTPTransport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	a.answered = true
	// An answer that switches protocols has a body that is no body; nobody asked for one.
	if response.StatusCode != http.StatusSwitchingProtocols {
		response.Body = &watchedBody{response.Body, a}
	}
	return response, nil
}

// watchedBody ends where the connection broke, and tells the attempt.
type watchedBody struct {
	io.ReadCloser
	attempt *attempt
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		b.attempt.broken = err
		err = io.EOF
	}
	return n, err
}
