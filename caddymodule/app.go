package caddymodule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"go.uber.org/zap"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	// A deadline that passed unnoticed costs nobody anything for that long: a
	// delivery of the same event sees it for itself.
	defaultSweepInterval = 10 * time.Second
	// Most n8n runs end within it. Whatever stops Caddy must be at least as
	// patient (Docker kills after 10 s unless stop_grace_period says otherwise).
	defaultDrainTimeout = 30 * time.Second
	// What attempts that are broken off need to be settled.
	breakGrace = 5 * time.Second
)

// App is the part of the gate that all its handlers share: the store, its
// sweeper and the metrics. It needs no configuration at all.
type App struct {
	// Where records are kept. Default: the bolt engine, in the file
	// n8n_gate/gate.db in Caddy's data directory. A running Caddy never changes
	// its store: a reload that names another one is refused.
	StoreRaw json.RawMessage `json:"store,omitempty" caddy:"namespace=n8n_gate.stores inline_key=engine"`

	// How often deadlines and expired records are looked for. Default: 10s.
	SweepInterval caddy.Duration `json:"sweep_interval,omitempty"`

	// How long an exiting Caddy waits for attempts that are still in flight. What is
	// left then is broken off and ambiguous. Default: 30s.
	DrainTimeout caddy.Duration `json:"drain_timeout,omitempty"`

	// What all request bodies, responses and receipts that are held at once may take, in
	// bytes. Above it deliveries are told to come again before they claim anything, and
	// responses come without their bodies. A body takes what came of it, at most twice
	// that, and half as much again while it grows: nothing is set aside for what is only
	// announced. A quarter is left to bodies of up to 64 KiB. No webhook's max_body and
	// max_response may be more than half.
	//
	// The process takes 448 MiB more at most while a thousand uploads and a thousand
	// responses are held (measured: 300 MiB), where webhooks have the default max_body:
	// one JSON body at a time takes up to eleven times its size while its key is read.
	// For that the gate limits Go's memory, unless GOMEMLIMIT is set or the limit is lower
	// already, to max_memory and twice what else is alive in the process, at least
	// 256 MiB: Go collects as often as without the gate, but keeps no garbage on account
	// of the bodies. GOMEMLIMIT=off leaves Go as it is; it takes up to twice as much then.
	//
	// Who holds the memory are slow senders. Caddy cuts off those that stand still for a
	// minute; with `read_body_idle 1m 1024` and `write_idle 1m 1024` among the timeouts of
	// its servers also those that trickle, below 1024 bytes a second.
	//
	// Default: 512 MiB.
	MaxMemory int64 `json:"max_memory,omitempty"`

	// Operations whose records are left to expire though no webhook names them any more.
	Forget []string `json:"forget,omitempty"`

	logger     *zap.Logger
	store      StoreModule
	operations map[string]*operation // by name; complete once all handlers are provisioned

	mu        sync.Mutex
	held      *lease // the app's own hold on the store, between Start and Cleanup
	stopSweep func() // ends the sweeper and waits for it
	checked   bool   // the store's key rules are those of the configuration
	closed    bool   // cleaned up: only what it has begun goes on
	rules     string // what names an event; set before checked
}

// StoreModule opens a storage engine. Modules live in the name space n8n_gate.stores.
type StoreModule interface {
	// Identity names the records, not the configuration: two modules with one
	// identity share one open store.
	Identity() string
	// Open opens the store. created says that there was none before.
	Open() (s store.Store, created bool, err error)
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "n8n_gate", New: func() caddy.Module { return new(App) }}
}

// UnmarshalJSON says of options that are to come that they are not built yet.
func (a *App) UnmarshalJSON(b []byte) error {
	type plain App
	return unmarshalStrict(b, (*plain)(a), unbuiltGlobal)
}

// Provision prepares the app. It opens nothing: caddy validate comes here too,
// beside a running server that holds the file.
func (a *App) Provision(ctx caddy.Context) error {
	a.logger = ctx.Logger()
	a.operations = make(map[string]*operation)
	if a.SweepInterval == 0 {
		a.SweepInterval = caddy.Duration(defaultSweepInterval)
	}
	if a.DrainTimeout == 0 {
		a.DrainTimeout = caddy.Duration(defaultDrainTimeout)
	}
	a.MaxMemory = first(a.MaxMemory, defaultMaxMemory)
	if a.StoreRaw == nil {
		a.StoreRaw = json.RawMessage(`{"engine":"bolt"}`)
	}
	var engine struct {
		Name string `json:"engine"`
	}
	if json.Unmarshal(a.StoreRaw, &engine) == nil && unbuiltEngine[engine.Name] {
		return fmt.Errorf("store %s: not built yet", engine.Name)
	}
	mod, err := ctx.LoadModule(a, "StoreRaw")
	if err != nil {
		return fmt.Errorf("loading the store: %w", err)
	}
	a.store = mod.(StoreModule)
	if err := registerMetrics(ctx.GetMetricsRegistry()); err != nil {
		return err
	}
	return a.subscribe(ctx)
}

// subscribe has the app told when Caddy begins to stop. Without a grace period
// Caddy's http app waits for its handlers for ever, and the apps stop in random
// order, so neither Stop nor Cleanup could keep drain_timeout.
func (a *App) subscribe(ctx caddy.Context) error {
	events, err := ctx.App("events")
	if err != nil {
		return err
	}
	return events.(*caddyevents.App).On("stopping", a)
}

// Handle implements caddyevents.Handler. When Caddy exits, attempts that are still in
// flight after drain_timeout are broken off: they become ambiguous.
func (a *App) Handle(context.Context, caddy.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if caddy.Exiting() && a.held != nil {
		time.AfterFunc(time.Duration(a.DrainTimeout), a.held.endExit)
	}
	return nil
}

// Validate refuses durations that make no sense, and another store than the one in use.
func (a *App) Validate() error {
	if time.Duration(a.SweepInterval) < shortest || time.Duration(a.DrainTimeout) < shortest {
		return fmt.Errorf("sweep_interval and drain_timeout must be at least %s", shortest)
	}
	if a.MaxMemory < 0 {
		return errors.New("max_memory must be positive")
	}
	return checkStore(a.store.Identity())
}

// Start opens the store and starts its sweeper.
func (a *App) Start() error {
	held, err := a.lease()
	if err != nil {
		return err
	}
	memory.setLimit(a.MaxMemory)
	unlimit := collecting.use()
	held.greet(context.Background(), a.store.Identity(), a.logger)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		sweep(ctx, held.openStore, time.Duration(a.SweepInterval), a.patience, a.logger.Named("sweeper"))
	}()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = held
	a.stopSweep = func() { cancel(); <-done; unlimit() }
	return nil
}

// Stop ends the sweeper. The store stays open: deliveries may still be running.
func (a *App) Stop() error {
	a.mu.Lock()
	stop := a.stopSweep
	a.stopSweep = nil
	a.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	return nil
}

// liveApp is the app of the configuration that Caddy runs; nil if it has none.
func liveApp() *App {
	ctx := caddy.ActiveContext()
	if ctx.Context == nil {
		return nil
	}
	app, err := ctx.AppIfConfigured("n8n_gate")
	if err != nil {
		return nil
	}
	return app.(*App)
}

// Cleanup lets go of the store. Only when Caddy exits it waits for attempts in
// flight, boundedly: net/http does not wait for a handler whose HTTP/2 stream
// was reset, nor beyond a grace period.
func (a *App) Cleanup() error {
	_ = a.Stop()
	a.mu.Lock()
	held, checked := a.held, a.checked
	a.held, a.closed = nil, true
	a.mu.Unlock()
	// On a reload the live app is the next one, and this changes nothing; if this
	// app is one that was rejected, the live one is the former.
	var err error
	if live := liveApp(); checked && live != nil && live != a && !caddy.Exiting() {
		err = live.restoreRules()
		memory.setLimit(live.MaxMemory)
	}
	if held == nil {
		return err
	}
	if caddy.Exiting() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(a.DrainTimeout)+breakGrace)
		defer cancel()
		if left := held.attempts.wait(ctx); left > 0 {
			a.logger.Warn("exiting with attempts in flight: they will be ambiguous", zap.Int("attempts", left))
		}
	}
	return errors.Join(err, held.release())
}

// lease takes a hold on the open store, opening it if nobody has yet. Every
// delivery takes its own: modules are cleaned up while requests still run. The
// first one compares the key rules: Caddy may serve requests before it has called
// Start.
func (a *App) lease() (*lease, error) {
	if l := a.share(); l != nil {
		return l, nil
	}
	l, err := acquire(a.store)
	if err != nil {
		return nil, err
	}
	if err := a.check(l); err != nil {
		_ = l.release()
		return nil, err
	}
	return l, nil
}

// share takes a hold beside the app's own, once it has one and the rules are compared.
func (a *App) share() *lease {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil || !a.checked {
		return nil
	}
	return a.held.again()
}

// check makes the configuration's key rules those of the store, once.
func (a *App) check(l *lease) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.checked:
		return nil
	case a.closed:
		return errOutdated
	}
	l.rules.Lock()
	defer l.rules.Unlock()
	operations := a.named()
	if err := checkRules(context.Background(), l, operations, a.Forget); err != nil {
		return &refusedRules{err}
	}
	a.rules, a.checked = rulesText(operations), true
	l.rules.text = a.rules
	return nil
}

// named lists the operations, sorted, so that errors do not depend on chance.
func (a *App) named() []*operation {
	return slices.SortedFunc(maps.Values(a.operations), func(x, y *operation) int { return strings.Compare(x.name, y.name) })
}

// own gives an operation to a webhook, or says that another one has it. A webhook is
// told by its whole configuration, so that a directive that Caddy serves from two
// servers does not collide with itself.
func (a *App) own(o *operation) (*operation, error) {
	other := a.operations[o.name]
	switch {
	case other == nil:
		a.operations[o.name] = o
		return o, nil
	case other.webhook == o.webhook:
		return other, nil
	case other.upstream != o.upstream:
		return nil, fmt.Errorf("two webhooks that write the operation %q have, and have not, auth upstream: they would not know each other's events", o.name)
	case !other.explicit || !o.explicit:
		return nil, fmt.Errorf("two webhooks end with the operation %q: write `operation` out in both if they are to share their events", o.name)
	}
	other.join(o)
	return other, nil
}

// restoreRules writes this configuration's key rules down again, after another one
// that had written its own was rejected.
func (a *App) restoreRules() error {
	l, err := a.lease()
	if err != nil {
		return err
	}
	defer func() { _ = l.release() }()
	l.rules.Lock()
	defer l.rules.Unlock()
	if l.rules.text == a.rules {
		return nil
	}
	l.rules.text = a.rules
	return writeRules(context.Background(), l, a.named())
}

// Interface guards.
var (
	_ caddy.App           = (*App)(nil)
	_ caddy.Provisioner   = (*App)(nil)
	_ caddy.Validator     = (*App)(nil)
	_ caddy.CleanerUpper  = (*App)(nil)
	_ caddyevents.Handler = (*App)(nil)
)
