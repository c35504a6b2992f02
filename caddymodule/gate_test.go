package caddymodule

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

func init() { caddy.RegisterModule(faultyStore{}) }

// testGate is a provisioned handler before a proxy that a test scripts. Whole
// servers with real sockets are tested in package tests; here are the cases
// that need a store that fails on demand, or a clock.
type testGate struct {
	t       *testing.T
	handler *Handler
	app     *App
	faults  *faults

	mu      sync.Mutex
	actions int
	reply   func(http.ResponseWriter, *http.Request) // n8n's; nil answers as a workflow does
}

// newTestGate starts a gate with one webhook, demo, whose key is the member id.
func newTestGate(t *testing.T, webhook string) *testGate {
	t.Helper()
	g := &testGate{t: t, faults: new(faults)}
	path := filepath.Join(t.TempDir(), "gate.db")
	scripts.Store(path, g.faults)
	t.Cleanup(func() { theStore.identity = "" })
	ctx, err := caddy.ProvisionContext(&caddy.Config{
		Admin:   &caddy.AdminConfig{Disabled: true},
		AppsRaw: caddy.ModuleMap{"n8n_gate": jsonOf(t, map[string]any{"store": map[string]any{"engine": "faulty", "path": path}})},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(ctx) // one that can be ended
	t.Cleanup(cancel)
	hook := map[string]any{"pattern": "demo", "auth": map[string]any{"kind": "none"}, "key": []any{map[string]any{"source": "json", "path": "id"}}}
	if webhook != "" {
		if err := json.Unmarshal([]byte(webhook), &hook); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := ctx.LoadModuleByID("http.handlers.n8n_gate", jsonOf(t, map[string]any{
		"forward":  map[string]any{"handler": "reverse_proxy", "upstreams": []any{map[string]any{"dial": "127.0.0.1:1"}}},
		"webhooks": []any{hook},
	}))
	if err != nil {
		t.Fatal(err)
	}
	g.handler = mod.(*Handler)
	g.handler.proxy = g
	g.app = g.handler.app
	if err := g.app.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.app.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// ServeHTTP stands for reverse_proxy and n8n behind it: it acts.
func (g *testGate) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if a, ok := r.Context().Value(attemptKey{}).(*attempt); ok {
		a.connections.Add(1)
		a.answered = true
	}
	g.mu.Lock()
	g.actions++
	n, reply := g.actions, g.reply
	g.mu.Unlock()
	if reply != nil {
		reply(w, r)
		return nil
	}
	w.Header().Set("Content-Security-Policy", n8n.SandboxCSP)
	w.Header().Set("Content-Type", "application/json")
	_, err := fmt.Fprintf(w, `{"n":%d}`, n)
	return err
}

func (g *testGate) acted() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.actions
}

// deliver sends an event and returns what the sender gets.
func (g *testGate) deliver(event string) *http.Response {
	g.t.Helper()
	return g.send(http.MethodPost, "/webhook/demo", fmt.Sprintf(`{"id":%q}`, event))
}

// send sends any request and returns what its sender gets.
func (g *testGate) send(method, target, body string) *http.Response {
	g.t.Helper()
	return g.serve(httptest.NewRequest(method, target, strings.NewReader(body)))
}

func (g *testGate) serve(r *http.Request) *http.Response {
	g.t.Helper()
	w := httptest.NewRecorder()
	r = caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, &caddyhttp.Server{})
	if err := g.handler.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })); err != nil {
		g.t.Fatal(err)
	}
	return w.Result()
}

// wants checks a sender's answer: status, decision and, if not empty, the body.
func (g *testGate) wants(resp *http.Response, status int, what decision, body string) {
	g.t.Helper()
	got, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status || resp.Header.Get("N8n-Gate-Decision") != string(what) || body != "" && string(got) != body {
		g.t.Fatalf("got %d %s %s, want %d %s %s", resp.StatusCode, resp.Header.Get("N8n-Gate-Decision"), got, status, what, body)
	}
}

// record reads an event's record past the faults.
func (g *testGate) record(event string) store.Record {
	g.t.Helper()
	have, err := g.faults.real.Get(context.Background(), store.ID{Operation: "demo", EventKey: event})
	if err != nil {
		g.t.Fatal(err)
	}
	return have[0]
}

func jsonOf(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// faultyStore is a real bolt store whose Apply and Get fail as a script says.
type faultyStore struct {
	Path string `json:"path"`
}

func (faultyStore) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "n8n_gate.stores.faulty", New: func() caddy.Module { return new(faultyStore) }}
}

func (f *faultyStore) Identity() string { return f.Path }

func (f *faultyStore) Open() (store.Store, bool, error) {
	s, err := boltstore.Open(f.Path, boltstore.Options{})
	if err != nil {
		return nil, false, err
	}
	script, _ := scripts.Load(f.Path)
	script.(*faults).real = s
	return &faulty{s, script.(*faults)}, true, nil
}

// scripts finds a test's faults by the path of its store.
var scripts sync.Map

type fault int

const (
	fine                   fault = iota
	notStored                    // fails, nothing changed
	unknownStored                // the commit fails and is on disk
	unknownLost                  // the commit fails and is not
	unknownStoredThenBlind       // as unknownStored, and nothing can be read from then on
	panics                       // before anything changed
)

// faults is what the next calls of Apply, and of Get after a failure, come to.
type faults struct {
	real store.Store

	mu     sync.Mutex
	apply  []fault
	always fault
	blind  bool // Get fails
}

func (f *faults) next(script ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.apply = script
}

func (f *faults) set(always fault, blind bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always, f.blind = always, blind
}

type faulty struct {
	store.Store
	*faults
}

func (f *faulty) Get(ctx context.Context, ids ...store.ID) ([]store.Record, error) {
	f.mu.Lock()
	blind := f.blind
	f.mu.Unlock()
	if blind {
		return nil, store.ErrUnknown
	}
	return f.Store.Get(ctx, ids...)
}

func (f *faulty) Apply(ctx context.Context, cs ...store.Change) ([]store.Record, error) {
	f.mu.Lock()
	what := f.always
	if len(f.apply) > 0 {
		what, f.apply = f.apply[0], f.apply[1:]
	}
	if what == unknownStoredThenBlind {
		what, f.blind = unknownStored, true
	}
	f.mu.Unlock()
	switch what {
	case notStored:
		return nil, store.ErrNotStored
	case panics:
		panic("the store's own fault")
	case unknownLost:
		return nil, store.ErrUnknown
	case unknownStored:
		if _, err := f.Store.Apply(ctx, cs...); err != nil {
			return nil, err
		}
		return nil, store.ErrUnknown
	}
	return f.Store.Apply(ctx, cs...)
}
