package tests

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// Within repeat_safe the downstream knows the idempotency key: doubt is tried again,
// with the same key, also by a later life of the gate.
func TestRepeatSafe(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "repeat_safe 1h\ntimeout 2s"})
	behaviours := []fake.Behaviour{fake.ResetAfterReading, fake.CutBody, fake.Hang}
	for i, behaviour := range behaviours {
		key := fmt.Sprintf("evt_%d", i)
		n.Next(behaviour)
		wantTransient(t, g.deliver(key), "new")
		wantActions(t, n, key, 1)
	}
	g.stop()
	g.start()
	for i := range behaviours {
		key := fmt.Sprintf("evt_%d", i)
		want(t, g.deliver(key), http.StatusOK, "retry")
		wantActions(t, n, key, 2)
		var keys []string
		for _, r := range n.Requests() {
			if r.Key == key {
				keys = append(keys, r.Header.Get("N8n-Gate-Idempotency-Key"))
			}
		}
		if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
			t.Errorf("the idempotency keys of one event are %q", keys)
		}
		want(t, g.deliver(key), http.StatusOK, "replayed")
	}
	// An answer is no uncertainty of the way.
	n.Next(fake.Answer(http.StatusInternalServerError, "{}"))
	want(t, g.deliver("evt_answered"), http.StatusBadGateway, "new")
}

// What the gate sets for all, a webhook can turn off.
func TestWebhookTurnsOffWhatTheGateSets(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{
		gate:     "on_response 500 completed\nrepeat_safe 1h\nreceipt_header X-A\norigin keep\naction_id header X-Invoice",
		webhook:  "on_response off\nrepeat_safe off\nreceipt_header off\norigin off\naction_id off",
		webhooks: "webhook inherits {\nauth none\nkey json id\n}",
	})
	for path, c := range map[string]struct {
		status, broken       int
		kept, origin, action string
	}{
		"/webhook/orders":   {http.StatusBadGateway, http.StatusBadGateway, "", "", ""},
		"/webhook/inherits": {http.StatusInternalServerError, http.StatusServiceUnavailable, "1", "https://shop.example", "inv_456"},
	} {
		t.Run(slug(path), func(t *testing.T) {
			g := g.in(t)
			n.Next(fake.Answer(http.StatusInternalServerError, "{}"))
			want(t, g.post(path, event("evt_rule")), c.status, "new")
			n.Next(fake.Answer(http.StatusOK, "{}", "X-A: 1", "X-Invoice: inv_456"))
			want(t, g.post(path, event("evt_kept"), "Origin: https://shop.example"), http.StatusOK, "new")
			if origin := n.Last().Header.Get("Origin"); origin != c.origin {
				t.Errorf("n8n got the Origin %q, want %q", origin, c.origin)
			}
			if a := g.post(path, event("evt_kept")); a.decision() != "replayed" || a.header.Get("X-A") != c.kept {
				t.Errorf("replayed with X-A %q, want %q: %v", a.header.Get("X-A"), c.kept, a)
			}
			n.Next(fake.ResetAfterReading)
			want(t, g.post(path, event("evt_broken")), c.broken, "new")
		})
	}
	if r := g.wantState("evt_kept", "completed", "response"); r.ActionID != "" {
		t.Errorf("the action id is %q though it is off", r.ActionID)
	}
}
