package tests

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// The gate owns the whole production subtree, as n8n's router reads it.
func TestEveryWayToWriteAPathIsGated(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	want(t, g.deliver("evt_1"), http.StatusOK, "new")
	for _, path := range []string{"/webhook/orders/", "/WEBHOOK/orders", "/Webhook/%6frders", "/webhook/orders?x=1", "/webhook/%6Frders/", "/webhook/orders%2F"} {
		a := g.target("POST", path, event("evt_1"))
		if a.status != http.StatusConflict && a.decision() != "replayed" {
			t.Errorf("%s: the sender got %v", path, a)
		}
	}
	for _, path := range []string{"/webhook/Orders", "/webhook//orders", "/webhook/orders//", "/webhook/nowhere", "/webhook/", "/webhook", "/webhook/orders/x",
		"/webhook/%2e%2e/x", "/webhook/x/../orders", "/webhook-test/orders", "/WEBHOOK-TEST/orders"} {
		a := g.target("POST", path, event("evt_2"))
		if a.err != nil || a.decision() != "unrouted" && a.decision() != "malformed" || a.status != 404 && a.status != 400 {
			t.Errorf("%s: the sender got %v", path, a)
		}
	}
	wantActions(t, n, "evt_1", 1)
	if n.AllActions() != 1 {
		t.Errorf("%d actions: %v", n.AllActions(), n.Requests())
	}
}

// target sends a request line to the letter.
func (g *gate) target(method, target, body string) answer {
	g.t.Helper()
	return g.raw(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		method, target, g.port, len(body), body))
}

// What is no production webhook goes on to the next handler, untouched.
func TestOtherPathsGoOn(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Usually(fake.AnswerBare(200, "the editor"))
	g := startGate(t, n, config{})
	for _, path := range []string{"/", "/webhook-waiting/1", "/form/x", "/rest/push", "/webhooks/orders", "/webhookorders", "/x/webhook/orders"} {
		a := g.target("POST", path, "untouched")
		if a.status != 200 || a.body != "the editor" || a.decision() != "" {
			t.Errorf("%s: the sender got %v", path, a)
		}
		r := n.Last()
		if r.Target != path || string(r.Body) != "untouched" || r.Header.Get("N8n-Gate-Token") != "" {
			t.Errorf("%s arrived as %s %q", path, r.Target, r.Body)
		}
	}
}

func TestOtherWebhooksPassIfTheUserSaysSo(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Usually(fake.AnswerBare(200, "somebody else's"))
	g := startGate(t, n, config{gate: "other pass"})
	for range 2 {
		a := g.post("/webhook/nowhere", "{}", "N8n-Gate-Token: forged")
		want(t, a, http.StatusOK, "passed")
		if a.body != "somebody else's" {
			t.Errorf("the sender got %v", a)
		}
	}
	if r := n.Requests(); len(r) != 2 || r[0].Header.Get("N8n-Gate-Token") != "" {
		t.Errorf("n8n got %v", r)
	}
	if len(g.list(nil)) != 0 {
		t.Error("a webhook that nobody gates left a record")
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	for _, method := range []string{"GET", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"} {
		a := g.target(method, "/webhook/orders", event("evt_1"))
		want(t, a, http.StatusMethodNotAllowed, "method")
		if a.header.Get("Allow") != "POST" {
			t.Errorf("%s: Allow is %q", method, a.header.Get("Allow"))
		}
	}
	if n.Connections() != 0 {
		t.Error("n8n was asked")
	}
}

func TestUpgradesAreRefused(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{key: "key header X-Event-Id"})
	a := g.raw("POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Event-Id: evt_1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n")
	want(t, a, http.StatusBadRequest, "upgrade")
	g.wantNoRecord("evt_1")
}
