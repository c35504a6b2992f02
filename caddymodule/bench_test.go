package caddymodule

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/n8n-gate/n8n-gate/n8n"
)

// BenchmarkDelivery is what the gate costs beside what would stand there without it,
// without sockets: new is to be compared with proxy, the same reverse_proxy before the
// same upstream; replay with empty, a handler that does nothing. 64 deliveries are under
// way at once, so that commits are shared as they are in a busy server; what the store
// allocates counts too. tests/bench reports the differences. Where they come from:
//
//	go test ./caddymodule -run '^$' -bench 'BenchmarkDelivery/new' -benchtime 20000x \
//		-memprofile new.prof -memprofilerate 1
//	go tool pprof -sample_index alloc_objects -top new.prof
func BenchmarkDelivery(b *testing.B) {
	ctx, app := benchApp(b)
	gate := benchGate(b, ctx, app)
	var events atomic.Int64
	fresh := func() string { return "evt_" + strconv.FormatInt(1_000_000+events.Add(1), 10) }
	known := func() string { return "evt_" + strconv.FormatInt(events.Add(1)%benchKnown, 10) }
	for event := range benchKnown {
		if err := newBenchSender().send(gate, "evt_"+strconv.Itoa(event), decidedNew); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		handler caddyhttp.MiddlewareHandler
		event   func() string
		want    decision
	}{
		{"proxy", benchProxy(b, ctx), fresh, ""},
		{"new", gate, fresh, decidedNew},
		{"empty", emptyHandler{}, known, ""},
		{"replay", gate, known, decidedReplayed},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0))) // that many for each processor
			b.RunParallel(func(pb *testing.PB) {
				s := newBenchSender()
				for pb.Next() {
					if err := s.send(c.handler, c.event(), c.want); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// benchKnown is how many events the replays are of.
const benchKnown = 100

// benchApp starts an app with a store of its own and a log that drops what it gets.
func benchApp(b *testing.B) (caddy.Context, *App) {
	path := filepath.Join(b.TempDir(), "gate.db")
	ctx, err := caddy.ProvisionContext(&caddy.Config{
		Admin:   &caddy.AdminConfig{Disabled: true},
		AppsRaw: caddy.ModuleMap{"n8n_gate": benchJSON(map[string]any{"store": map[string]any{"engine": "bolt", "path": path}})},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(ctx)
	b.Cleanup(func() { theStore.identity = "" })
	b.Cleanup(cancel)
	found, err := ctx.App("n8n_gate")
	if err != nil {
		b.Fatal(err)
	}
	app := found.(*App)
	app.logger = zap.NewNop()
	b.Cleanup(func() {
		if err := app.Cleanup(); err != nil {
			b.Error(err)
		}
	})
	return ctx, app
}

func benchJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and maps of them
	}
	return raw
}

var benchUpstreams = []any{map[string]any{"dial": "127.0.0.1:1"}} // nobody dials it

// benchGate is the gate with its defaults, and only the upstream and the log are not real.
func benchGate(b *testing.B, ctx caddy.Context, app *App) *Handler {
	loaded, err := ctx.LoadModuleByID("http.handlers.n8n_gate", benchJSON(map[string]any{
		"forward": map[string]any{"handler": "reverse_proxy", "upstreams": benchUpstreams},
		"webhooks": []any{map[string]any{
			"pattern": "demo", "auth": map[string]any{"kind": "none"}, "key": []any{map[string]any{"source": "json", "path": "id"}},
		}},
	}))
	if err != nil {
		b.Fatal(err)
	}
	h := loaded.(*Handler)
	h.logger = zap.New(discarding{zap.InfoLevel})
	transport := h.proxy.(*reverseproxy.Handler).Transport.(*Transport)
	transport.HTTPTransport.Transport.RegisterProtocol("http", benchUpstream{})
	if err := app.Start(); err != nil {
		b.Fatal(err)
	}
	return h
}

// benchProxy is a reverse_proxy that makes its connections as the gate's does.
func benchProxy(b *testing.B, ctx caddy.Context) *reverseproxy.Handler {
	loaded, err := ctx.LoadModuleByID("http.handlers.reverse_proxy", benchJSON(map[string]any{
		"upstreams": benchUpstreams,
		"transport": map[string]any{"protocol": "http", "versions": []string{"1.1"}, "compression": false, "keep_alive": map[string]any{"enabled": false}},
	}))
	if err != nil {
		b.Fatal(err)
	}
	proxy := loaded.(*reverseproxy.Handler)
	proxy.Transport.(*reverseproxy.HTTPTransport).Transport.RegisterProtocol("http", benchUpstream{})
	return proxy
}

// benchUpstream stands below net/http's transport, for the network and n8n.
type benchUpstream struct{}

func (benchUpstream) RoundTrip(r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: benchConn})
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	const body = `{"success":true,"invoice":{"id":"inv_1","status":"created","total":4200}}`
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"application/json; charset=utf-8"}, "Content-Security-Policy": {n8n.SandboxCSP},
			"Content-Length": {strconv.Itoa(len(body))}, "Etag": {`W/"49"`}, "Vary": {"Accept-Encoding"}, "Date": {"Mon, 05 Jan 2026 10:00:00 GMT"},
		},
		Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)),
	}, nil
}

// benchConn is the connection that the upstream is said to be reached by.
var benchConn, _ = net.Pipe()

// emptyHandler answers and does nothing else.
type emptyHandler struct{}

func (emptyHandler) ServeHTTP(w http.ResponseWriter, _ *http.Request, _ caddyhttp.Handler) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// benchSender makes the same request for every handler, and drops the answer.
type benchSender struct {
	server caddyhttp.Server
	header http.Header
	status int
}

func newBenchSender() *benchSender { return &benchSender{header: make(http.Header)} }

func (s *benchSender) Header() http.Header         { return s.header }
func (s *benchSender) WriteHeader(status int)      { s.status = status }
func (s *benchSender) Write(p []byte) (int, error) { return len(p), nil }

// send delivers an event, as Caddy's server would.
func (s *benchSender) send(h caddyhttp.MiddlewareHandler, event string, want decision) error {
	clear(s.header)
	s.status = http.StatusOK
	body := fmt.Appendf(nil, `{"id":%q,"type":"order.created"}`, event)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://hooks.example.com/webhook/demo", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.RequestURI, r.RemoteAddr, r.GetBody = "/webhook/demo", "192.0.2.1:1234", nil
	r = caddyhttp.PrepareRequest(r, caddy.NewReplacer(), s, &s.server)
	if err := h.ServeHTTP(s, r, endOfLine); err != nil {
		return err
	}
	if got := decision(s.header.Get("N8n-Gate-Decision")); s.status != http.StatusOK || got != want {
		return fmt.Errorf("%s: got %d %q, want 200 %q", event, s.status, got, want)
	}
	return nil
}

// discarding is a log's core that takes every line of its level and keeps none.
type discarding struct{ zapcore.LevelEnabler }

func (d discarding) With([]zapcore.Field) zapcore.Core { return d }
func (d discarding) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if d.Enabled(e.Level) {
		return checked.AddCore(e, d)
	}
	return checked
}
func (discarding) Write(zapcore.Entry, []zapcore.Field) error { return nil }
func (discarding) Sync() error                                { return nil }
