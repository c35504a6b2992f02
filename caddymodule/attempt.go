package caddymodule

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// attempt is what the gate knows of one way to n8n, beneath all that reverse_proxy
// does. It is carried in the request's context.
type attempt struct {
	header      http.Header  // the gate's own, for n8n alone
	connections atomic.Int32 // obtained; trace callbacks run on other goroutines
	remote      atomic.Value // string: the address that was connected to
	upstream    string       // which n8n answered: its name for the proxy, and its address
	answered    bool         // n8n's response has begun
	broken      error        // it did not arrive whole
}

type attemptKey struct{}

// with returns ctx with the attempt in it. An obtained connection is where "not
// sent" ends: net/http hides whether a byte was written to it.
func (a *attempt) with(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, attemptKey{}, a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			a.connections.Add(1)
			if addr := info.Conn.RemoteAddr(); addr != nil {
				a.remote.Store(addr.String())
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { stopAt("after_send") },
	})
}

// errSentOnce keeps whatever the proxy may be up to from sending twice.
var errSentOnce = errors.New("the delivery was sent already")

// Transport is the transport of the proxy that the gate owns; users do not name it.
// It sends an attempt once. It adds the gate's headers here, where reverse_proxy does
// not log them. And it keeps a response that breaks off to itself: reverse_proxy
// would log the whole request, the sender's secrets and all.
type Transport struct{ *reverseproxy.HTTPTransport }

// CaddyModule returns the Caddy module information.
func (Transport) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.reverse_proxy.transport.n8n_gate",
		New: func() caddy.Module { return &Transport{new(reverseproxy.HTTPTransport)} },
	}
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	a, ok := r.Context().Value(attemptKey{}).(*attempt)
	if !ok { // an active health check
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
	remote, _ := a.remote.Load().(string)
	a.upstream = r.URL.Host + " " + remote // behind a name there may be several addresses, behind a proxy's several names
	// What switches protocols has a connection for a body.
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
	if err != nil && !errors.Is(err, io.EOF) {
		b.attempt.broken = err
		err = io.EOF
	}
	return n, err
}

// Interface guards.
var (
	_ http.RoundTripper         = Transport{}
	_ reverseproxy.TLSTransport = Transport{}
	_ caddy.Provisioner         = Transport{}
	_ caddy.CleanerUpper        = Transport{}
)
