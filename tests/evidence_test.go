package tests

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

func TestMetricsTellReplaysFromTrouble(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	want(t, g.deliver("evt_1"), http.StatusOK, "new")
	want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
	want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
	n.Next(fake.ResetAfterReading)
	want(t, g.deliver("evt_2"), http.StatusBadGateway, "new")
	wantTransient(t, g.deliver("evt_2"), "manual_review")
	want(t, g.post("/webhook/orders", "{}"), http.StatusUnprocessableEntity, "missing_key")
	n.Close()
	wantTransient(t, g.deliver("evt_3"), "new")
	n.Open()
	want(t, g.deliver("evt_3"), http.StatusOK, "retry")
	g.reload(config{webhook: "in_flight reject"}) // counters survive it
	g.resolve("evt_2", "--completed")

	wantMetrics(t, g,
		`deliveries_total{decision="new",operation="create_order"} 3`,
		`deliveries_total{decision="retry",operation="create_order"} 1`,
		`deliveries_total{decision="replayed",operation="create_order"} 2`,
		`deliveries_total{decision="manual_review",operation="create_order"} 1`,
		`deliveries_total{decision="missing_key",operation="create_order"} 1`,
		`transitions_total{from="gone",operation="create_order",reason="delivery",to="processing"} 3`,
		`transitions_total{from="failed_retryable",operation="create_order",reason="delivery",to="processing"} 1`,
		`transitions_total{from="processing",operation="create_order",reason="response",to="completed"} 2`,
		`transitions_total{from="processing",operation="create_order",reason="interrupted",to="ambiguous"} 1`,
		`transitions_total{from="processing",operation="create_order",reason="not_sent",to="failed_retryable"} 1`,
		`transitions_total{from="ambiguous",operation="create_order",reason="resolved",to="completed"} 1`,
	)
}

func wantMetrics(t *testing.T, g *gate, lines ...string) {
	t.Helper()
	metrics := g.metrics()
	for _, l := range lines {
		if !strings.Contains(metrics, "caddy_n8n_gate_"+l+"\n") {
			t.Errorf("/metrics lacks %s", l)
		}
	}
	if t.Failed() {
		for l := range strings.Lines(metrics) {
			if strings.HasPrefix(l, "caddy_n8n_gate") {
				t.Log(strings.TrimSpace(l))
			}
		}
	}
}

// One structured line for every delivery, with what an operator needs.
func TestLogHasOneLineForEachDelivery(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "log_key plain"})
	want(t, g.deliver("evt_1"), http.StatusOK, "new")
	want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
	n.Next(fake.ResetAfterReading)
	want(t, g.deliver("evt_2"), http.StatusBadGateway, "new")
	wantTransient(t, g.deliver("evt_2"), "manual_review")
	want(t, g.post("/webhook/orders", "{}"), http.StatusUnprocessableEntity, "missing_key")
	want(t, g.post("/webhook/nowhere", "{}"), http.StatusNotFound, "unrouted")
	g.stop()

	lines := g.log.deliveries()
	expected := []struct{ decision, state, key string }{
		{"new", "completed", "evt_1"},
		{"replayed", "completed", "evt_1"},
		{"new", "ambiguous", "evt_2"},
		{"manual_review", "ambiguous", "evt_2"},
		{"missing_key", "", ""},
		{"unrouted", "", ""},
	}
	if len(lines) != len(expected) {
		t.Fatalf("%d lines for %d deliveries:\n%s", len(lines), len(expected), raw(lines))
	}
	for i, e := range expected {
		l := lines[i]
		if l.text("decision") != e.decision || l.text("state") != e.state || l.text("event_key") != e.key {
			t.Errorf("line %d is not %v: %s", i, e, l.raw)
		}
		if e.decision != "unrouted" && l.text("operation") != operation {
			t.Errorf("line %d names no operation: %s", i, l.raw)
		}
	}
	if l := lines[0]; l.fields["attempt"] != 1.0 || l.fields["upstream_status"] != 200.0 {
		t.Errorf("the line lacks attempt or upstream status: %s", l.raw)
	}
	for _, name := range []string{"correlation_id", "duration", "claim_duration", "forward_duration", "settle_duration"} {
		if v := lines[0].fields[name]; v == nil || v == "" || v == 0.0 {
			t.Errorf("the line lacks %s: %s", name, lines[0].raw)
		}
	}
}

func TestLogHidesTheKeyUnlessAsked(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "log_key hash", "log_key off"} {
		t.Run(or(mode, "by default"), func(t *testing.T) {
			n := fake.Start(t)
			g := startGate(t, n, config{webhook: mode})
			want(t, g.deliver("evt_of_mr_smith"), http.StatusOK, "new")
			want(t, g.deliver("evt_of_mr_smith"), http.StatusOK, "replayed")
			want(t, g.deliver("evt_other"), http.StatusOK, "new")
			g.stop()
			lines := g.log.deliveries()
			if len(lines) != 3 {
				t.Fatalf("%d lines for 3 deliveries:\n%s", len(lines), raw(lines))
			}
			first, again, other := lines[0].text("event_key"), lines[1].text("event_key"), lines[2].text("event_key")
			if mode == "log_key off" {
				if first+again+other != "" {
					t.Errorf("keys %q, %q, %q", first, again, other)
				}
			} else if first == "" || first != again || first == other {
				t.Errorf("hashed keys %q, %q, %q", first, again, other)
			}
			if text := g.log.tail(1 << 20); strings.Contains(text, "mr_smith") {
				t.Errorf("the log tells the key:\n%s", text)
			}
		})
	}
}

// No body, secret or token in any log, nor in what Caddy keeps of its configuration.
func TestNothingSecretIsWritten(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGuarded(t, n, "header X-Token")
	deliver := func(id string) answer {
		return g.post("/webhook/orders?q=private-query", `{"id": "`+id+`", "note": "private-body"}`,
			"X-Token: "+secret, "Authorization: Bearer private-bearer", "X-Signature: private-signature")
	}
	n.Usually(fake.Answer(200, `{"note": "private-answer"}`, "Set-Cookie: private-cookie"))
	want(t, deliver("evt_1"), http.StatusOK, "new")
	want(t, deliver("evt_1"), http.StatusOK, "replayed")
	n.Next(fake.ResetAfterReading, fake.CutBody, fake.Hang, fake.AnswerBare(500, "private-answer"))
	want(t, deliver("evt_2"), http.StatusBadGateway, "new")
	want(t, deliver("evt_3"), http.StatusBadGateway, "new")
	want(t, g.post("/webhook/orders", `{"id": "evt_4", "note": "private-body"}`, "X-Token: wrong-token"), http.StatusUnauthorized, "unauthenticated")
	want(t, g.post("/webhook/orders", `{"id": 1.5, "note": "private-body"}`, "X-Token: "+secret), http.StatusBadRequest, "malformed")
	n.Close()
	wantTransient(t, deliver("evt_5"), "new")
	n.Open()
	g.list(nil)
	g.kill()

	private := []string{secret, "private-", "wrong-token"}
	for _, r := range n.Requests() {
		private = append(private, r.Header.Get("N8n-Gate-Token"))
	}
	log := g.log.tail(1 << 20)
	autosave, err := os.ReadFile(g.dir + "/config/caddy/autosave.json")
	if err != nil {
		t.Fatal(err)
	}
	store, err := os.ReadFile(g.storePath())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range private {
		if strings.Contains(log, p) {
			t.Errorf("the log tells %q", p)
		}
		if bytes.Contains(autosave, []byte(p)) {
			t.Errorf("the saved configuration tells %q", p)
		}
		// The store keeps the receipt's body, and of a token only its hash.
		if p != "private-" && bytes.Contains(store, []byte(p)) {
			t.Errorf("the store tells %q", p)
		}
	}
	if info, err := os.Stat(g.storePath()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the store's file is %v, %v", info.Mode(), err)
	}
}
