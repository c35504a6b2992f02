package tests

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// Good and bad configurations are loaded under load, one after the other: every
// event is carried out once, and every answer is right.
func TestReloadsUnderLoad(t *testing.T) {
	t.Parallel()
	reloads, clients := 150, 8
	if testing.Short() {
		reloads = 20
	}
	n := fake.Start(t)
	c := config{webhook: "in_flight wait 60s"}
	g := startGate(t, n, c)
	occupied, err := net.Listen("tcp", "127.0.0.1:0") // a port that Caddy cannot have
	if err != nil {
		t.Fatal(err)
	}
	defer occupied.Close()

	var stop atomic.Bool
	var answered atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		deliver := func(key string) answer {
			answered.Add(1)
			return g.insist(key)
		}
		wg.Go(func() {
			for i := 0; !stop.Load() && !t.Failed(); i++ {
				key := fmt.Sprintf("evt_%d_%d", client, i)
				first := deliver(key)
				if first.status != http.StatusOK || first.decision() != "new" {
					t.Errorf("%s: the first delivery got %v", key, first)
				}
				if a := deliver(key); a.status != http.StatusOK || a.decision() != "replayed" || a.body != first.body {
					t.Errorf("%s: the duplicate got %v, the first delivery %v", key, a, first)
				}
				// All clients deliver these.
				if a := deliver(fmt.Sprintf("shared_%d", i)); a.status != http.StatusOK {
					t.Errorf("shared_%d: a delivery got %v", i, a)
				}
			}
		})
	}

	refused := 0
	for i := range reloads {
		next, why := c, ""
		switch i % 6 {
		case 0:
			next.webhook += "\ntimeout 80s"
		case 1:
			next.webhook += "\nno_such_word"
			why = "no_such_word"
		case 2:
			next.sites = fmt.Sprintf("http://127.0.0.1:%d {\nrespond 204\n}", freePort(t))
		case 3:
			next.store = filepath.Join(g.dir, "other.db")
			why = "records are in"
		case 4: // everything is provisioned, and then one app does not start
			next.sites = fmt.Sprintf("http://%s {\nrespond 204\n}", occupied.Addr())
			why = "address already in use"
		case 5:
			next.webhook += fmt.Sprintf("\nmax_attempts %d", i)
		}
		message, ok := g.load(next)
		if ok != (why == "") || !strings.Contains(message, why) {
			t.Errorf("reload %d: ok is %v, and the message %q; want it to say %q", i, ok, message, why)
		}
		if !ok {
			refused++
		}
	}
	stop.Store(true)
	wg.Wait()

	for _, key := range n.Keys() {
		if n.Actions(key) != 1 {
			t.Errorf("%s was carried out %d times", key, n.Actions(key))
		}
	}
	if records := g.list(map[string]string{"state": "ambiguous"}); len(records) > 0 {
		t.Errorf("%d events became ambiguous without a fault: %v", len(records), records)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "other.db")); !os.IsNotExist(err) {
		t.Errorf("the refused store was made: %v", err)
	}
	// What the gate took, its sender heard of.
	g.stop()
	if took := len(g.log.deliveries()); took != int(answered.Load()) {
		t.Errorf("the gate took %d deliveries, %d answers came", took, answered.Load())
	}
	t.Logf("%d reloads, %d of them refused, while %d deliveries of %d events were answered",
		reloads, refused, answered.Load(), len(n.Keys()))
}

// insist delivers the event until an answer comes. Whenever its configuration
// changes, Caddy loses some connections before a handler sees them: the kernel
// resets those that wait in the queue of the old socket (listen_unix.go,
// SO_REUSEPORT), and net/http closes those whose request it reads while the old
// server shuts down. Senders try again.
func (g *gate) insist(id string) answer {
	g.t.Helper()
	a := g.deliver(id)
	for tries := 1; a.err != nil && tries < 20; tries++ {
		a = g.deliver(id)
	}
	return a
}

// A delivery that is under way when the configuration changes ends as it began.
func TestDeliveryOutlivesItsConfiguration(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Next(hold.Behave)
	g := startGate(t, n, config{})
	first := g.later("evt_1")
	hold.Await()
	for i := range 3 {
		g.reload(config{webhook: fmt.Sprintf("max_attempts %d", i+2)})
	}
	hold.Release()
	a := got(t, first)
	want(t, a, http.StatusOK, "new")
	wantReplay(t, g.insist("evt_1"), a)
	wantActions(t, n, "evt_1", 1)
}

// The duplicate comes to the new configuration, the first delivery is still
// with the old one: they know of each other.
func TestDuplicateAcrossAReload(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Next(hold.Behave)
	g := startGate(t, n, config{webhook: "in_flight wait 60s"})
	first := g.later("evt_1")
	hold.Await()
	g.reload(config{webhook: "in_flight reject"})
	wantTransient(t, g.insist("evt_1"), "in_flight")
	g.reload(config{webhook: "in_flight wait 50s"})
	waiter := make(chan answer, 1)
	go func() { waiter <- g.insist("evt_1") }()
	hold.Release()
	a := got(t, first)
	want(t, a, http.StatusOK, "new")
	wantReplay(t, got(t, waiter), a)
	wantActions(t, n, "evt_1", 1)
}

func TestValidateBesideARunningServer(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")

	if out, errOut, ok := g.run("validate", "--config", "Caddyfile"); !ok {
		t.Errorf("caddy validate failed: %s%s", out, errOut)
	}
	bad := config{webhook: "no_such_word"}
	writeFile(t, filepath.Join(g.dir, "bad"), bad.caddyfile(g))
	if _, errOut, ok := g.run("validate", "--config", "bad", "--adapter", "caddyfile"); ok || !strings.Contains(errOut, "no_such_word") {
		t.Errorf("caddy validate took an unknown word: %s", errOut)
	}
	wantReplay(t, g.deliver("evt_1"), first)
	want(t, g.deliver("evt_2"), http.StatusOK, "new")
}

// validate looks, and leaves nothing behind.
func TestValidateMakesNoStore(t *testing.T) {
	t.Parallel()
	g := newGate(t, fake.Start(t), config{})
	writeFile(t, filepath.Join(g.dir, "Caddyfile"), g.config.caddyfile(g))
	if out, errOut, ok := g.run("validate", "--config", "Caddyfile"); !ok {
		t.Errorf("caddy validate failed: %s%s", out, errOut)
	}
	if _, err := os.Stat(g.storePath()); !os.IsNotExist(err) {
		t.Errorf("caddy validate made a store: %v", err)
	}
}

func TestReloadThroughTheCommand(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	c := config{webhook: "in_flight reject"}
	writeFile(t, filepath.Join(g.dir, "Caddyfile"), c.caddyfile(g))
	if out, errOut, ok := g.run("reload", "--config", "Caddyfile"); !ok {
		t.Errorf("caddy reload failed: %s%s", out, errOut)
	}
	want(t, g.insist("evt_1"), http.StatusOK, "new")
}

func TestZeroConfiguration(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{noApp: true})
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")
	if _, err := os.Stat(filepath.Join(g.dir, "data", "caddy", "n8n_gate", "gate.db")); err != nil {
		t.Errorf("the store is not in Caddy's data directory: %v", err)
	}
	g.stop()
	g.start()
	wantReplay(t, g.deliver("evt_1"), first)
	wantActions(t, n, "evt_1", 1)
}

// The same configuration in Caddy's JSON works as the Caddyfile does.
func TestConfigurationInJSON(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := newGate(t, n, config{webhook: "in_flight reject\ntimeout 5s\nmax_body 1MiB\nretention 720h\nlog_key plain"})
	writeFile(t, filepath.Join(g.dir, "Caddyfile"), g.config.caddyfile(g))
	adapted, errOut, ok := g.run("adapt", "--config", "Caddyfile")
	if !ok {
		t.Fatalf("caddy adapt failed: %s", errOut)
	}
	g.start()
	if a := g.askAdmin(http.MethodPost, "/load", "application/json", adapted); a.status != http.StatusOK {
		t.Fatalf("the JSON was refused: %v", a)
	}
	want(t, g.insist("evt_1"), http.StatusOK, "new")
	want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
	wantActions(t, n, "evt_1", 1)
}
