package tests

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// A key rule that changes unsaid would make every old event look new.
func TestChangedKeyRules(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	byID := config{webhook: "fingerprint off"}
	g := startGate(t, n, byID)
	send := func(id, number string) answer {
		return g.post("/webhook/orders", fmt.Sprintf(`{"id":%q,"number":%q}`, id, number))
	}
	want(t, send("evt_1", "n1"), http.StatusOK, "new")

	byNumber := byID
	byNumber.key = "key json number"
	message, ok := g.load(byNumber)
	if ok || !strings.Contains(message, "made of (json id)") || !strings.Contains(message, "made of (json number)") {
		t.Fatalf("a changed key was taken: %v, %s", ok, message)
	}
	want(t, send("evt_1", "n1"), http.StatusOK, "replayed")

	from := byNumber
	from.webhook += "\nkey_changed from {\nkey json id\n}"
	if message, ok := g.load(from); !ok {
		t.Fatal(message)
	}
	want(t, send("evt_1", "n1"), http.StatusOK, "replayed") // the retry of an old event
	want(t, send("evt_2", "n2"), http.StatusOK, "new")
	want(t, send("evt_x", "n2"), http.StatusOK, "replayed") // the number counts from now on

	fresh := byNumber
	fresh.key, fresh.webhook = "key json other", fresh.webhook+"\nkey_changed fresh"
	if message, ok := g.load(fresh); !ok {
		t.Fatal(message)
	}
	want(t, g.post("/webhook/orders", `{"other":"o1","id":"evt_1","number":"n1"}`), http.StatusOK, "new")
}

// A configuration that is rejected for another reason changes no key rule either:
// the one that runs can be started again.
func TestRejectedConfigurationLeavesTheKeyRules(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	want(t, g.deliver("evt_1"), http.StatusOK, "new")

	// Caddy starts its apps in random order, so the gate's has sometimes started.
	rejected := config{
		key: "key json number", webhook: "key_changed fresh",
		sites: fmt.Sprintf("http://127.0.0.1:%s {\nrespond ok\n}", n.Addr[strings.LastIndexByte(n.Addr, ':')+1:]),
	}
	for range 8 {
		if _, ok := g.load(rejected); ok {
			t.Fatal("a configuration whose port is taken was accepted")
		}
		want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
	}
	g.stop()
	g.start()
	want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
}

// Records of an operation that nobody names any more would be forgotten in silence.
func TestOperationThatIsGone(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	old := config{webhooks: "webhook refunds {\nauth none\nkey json id\n}"}
	g := startGate(t, n, old)
	want(t, g.post("/webhook/refunds", `{"id":"r1"}`), http.StatusOK, "new")

	if message, ok := g.load(config{}); ok || !strings.Contains(message, `records of \"refunds\"`) {
		t.Fatalf("an operation with records was dropped: %v, %s", ok, message)
	}
	renamed := config{webhooks: "webhook refunds {\noperation give_back\noperation_was refunds\nauth none\nkey json id\n}"}
	if message, ok := g.load(renamed); !ok {
		t.Fatal(message)
	}
	want(t, g.post("/webhook/refunds", `{"id":"r1"}`), http.StatusOK, "replayed")
	want(t, g.post("/webhook/refunds", `{"id":"r2"}`), http.StatusOK, "new")
	if message, ok := g.load(config{app: "forget refunds give_back"}); !ok {
		t.Fatal(message)
	}
}

// Another content under a known key stops for a person, who sees it.
func TestConflictIsListed(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	want(t, g.post("/webhook/orders", `{"id":"evt_1","amount":1}`), http.StatusOK, "new")
	want(t, g.post("/webhook/orders", `{"amount":1, "id":"evt_1"}`), http.StatusOK, "replayed")
	want(t, g.post("/webhook/orders", `{"id":"evt_1","amount":2}`), http.StatusConflict, "conflict")
	wantActions(t, n, "evt_1", 1)
	out, stderr, ok := g.desk("list", "--state", "conflict")
	if !ok || !strings.Contains(out, "create_order") || !strings.Contains(out, "evt_1") || !strings.Contains(out, "conflict") {
		t.Fatalf("the desk lists\n%s%s", out, stderr)
	}
}

// n8n's test webhooks are for private networks at most.
func TestTestURLs(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	want(t, g.post("/webhook-test/orders", `{"id":"evt_1"}`), http.StatusNotFound, "unrouted")
	if message, ok := g.load(config{gate: "test_urls private"}); !ok {
		t.Fatal(message)
	}
	if a := g.post("/webhook-test/orders", `{"id":"evt_1"}`); a.decision() != "passed" {
		t.Fatalf("from loopback: %v", a)
	}
	// Behind a trusted proxy the client's own address counts.
	if message, ok := g.load(config{gate: "test_urls private", caddy: "servers {\ntrusted_proxies static 127.0.0.1/32\n}"}); !ok {
		t.Fatal(message)
	}
	a := g.post("/webhook-test/orders", `{"id":"evt_1"}`, "X-Forwarded-For: 203.0.113.7")
	want(t, a, http.StatusNotFound, "unrouted")
}

// Two wildcards' segments come first in the key, and the path is n8n's own.
func TestWildcards(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhooks: "webhook shop/*/orders/* {\noperation shop\nauth none\nkey json id\n}\nwebhook shop/berlin/orders/new {\noperation berlin\nauth none\nkey json id\n}"})
	want(t, g.post("/webhook/shop/bonn/orders/1", `{"id":"a"}`), http.StatusOK, "new")
	want(t, g.post("/webhook/shop/b%6Fnn/orders/1/", `{"id":"a"}`), http.StatusOK, "replayed")
	want(t, g.post("/webhook/shop/bonn/orders/2", `{"id":"a"}`), http.StatusOK, "new")
	want(t, g.post("/webhook/shop/berlin/orders/new", `{"id":"a"}`), http.StatusOK, "new")
	wantActions(t, n, "bonn:1:a", 1)
	wantActions(t, n, "bonn:2:a", 1)
	wantActions(t, n, "a", 1)
}

// A target that has no path for Go has one for Node: it goes to nobody.
func TestOpaqueTargetsAreRefused(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	for _, target := range []string{"x:a://h/webhook/orders", "x:webhook/orders", "mailto:a@b"} {
		a := g.target(http.MethodPost, target, event("evt_1"))
		if a.status != http.StatusNotFound && a.status != http.StatusBadRequest {
			t.Errorf("%s: %v", target, a)
		}
	}
	if n.AllActions() != 0 {
		t.Errorf("%d actions", n.AllActions())
	}
}

// While one configuration's handler still reads an upload, the next one renames what
// names the event: the two claims cannot both be right.
func TestReloadThatRenamesWhileADeliveryArrives(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]config{
		"another operation": {webhook: "operation_was create_order", operation: "pay"},
		"another key":       {key: "key json amount", webhook: "key_changed from {\nkey json id\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := fake.Start(t)
			g := startGate(t, n, config{})
			want(t, g.deliver("evt_0"), http.StatusOK, "new") // the operation has events
			body := event("evt_1")
			conn := g.dial()
			if _, err := fmt.Fprintf(conn, "POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				g.port, len(body), body[:5]); err != nil {
				t.Fatal(err)
			}
			want(t, g.deliver("evt_2"), http.StatusOK, "new") // the first has arrived by now
			if message, ok := g.load(next); !ok {
				t.Fatal(message)
			}
			want(t, g.insist("evt_1"), http.StatusOK, "new") // Caddy closes idle connections as it reloads
			if _, err := fmt.Fprint(conn, body[5:]); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			wantTransient(t, read(res), "store_unavailable")
			if n.AllActions() != 3 {
				t.Errorf("%d actions for three events", n.AllActions())
			}
		})
	}
}

// In mode pass too, what goes wrong is nobody's to read in the log.
func TestPassedSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhooks: "webhook chat {\nmode pass\n}"})
	n.Next(fake.CutBody)
	_ = g.post("/webhook/chat", event("evt_1"), "X-Token: s3cret-chat")
	want(t, g.post("/webhook/chat", event("evt_1"), "X-Token: s3cret-chat"), http.StatusOK, "passed")
	if log := g.log.tail(1000); strings.Contains(log, "s3cret-chat") {
		t.Errorf("the log holds the sender's token:\n%s", log)
	}
}

// The sender cannot take headers out of what n8n gets.
func TestConnectionHeaderTakesNothingAway(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	body := event("evt_1")
	want(t, g.raw(fmt.Sprintf("POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close, Content-Type\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		g.port, len(body), body)), http.StatusOK, "new")
	for _, r := range n.Requests() {
		if r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("n8n got %v", r.Header)
		}
	}
}

// The proxy's own health checks run beside everything else.
func TestHealthChecks(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{forward: "health_uri /healthz\nhealth_interval 100ms\nhealth_status 2xx"})
	want(t, g.insist("evt_1"), http.StatusOK, "new")
	wantActions(t, n, "evt_1", 1)
}
