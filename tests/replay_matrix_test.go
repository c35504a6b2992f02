package tests

import (
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// The rows of the replay matrix, each counted at n8n.

func TestFirstDeliveryActsOnce(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})

	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")
	if body := fake.Done("evt_1", 1); first.body != body {
		t.Errorf("the sender got %q, n8n answered %q", first.body, body)
	}
	wantActions(t, n, "evt_1", 1)
	g.wantState("evt_1", "completed", "response")
}

func TestImmediateDuplicateIsInFlight(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Usually(hold.Behave)
	g := startGate(t, n, config{webhook: "in_flight reject"})

	first := g.later("evt_1")
	hold.Await()
	wantTransient(t, g.deliver("evt_1"), "in_flight")
	g.wantState("evt_1", "processing", "")
	hold.Release()
	want(t, got(t, first), http.StatusOK, "new")
	wantActions(t, n, "evt_1", 1)
}

func TestImmediateDuplicateWaitsForTheReceipt(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Usually(fake.Work)
	hold := fake.NewHold(t, fake.Work)
	n.Next(hold.Behave)
	g := startGate(t, n, config{webhook: "in_flight wait 60s"})

	first := g.later("evt_1")
	hold.Await()
	duplicate := g.later("evt_1")
	// The event is held; another one passes it meanwhile.
	want(t, g.deliver("evt_2"), http.StatusOK, "new")
	hold.Release()
	a := got(t, first)
	want(t, a, http.StatusOK, "new")
	wantReplay(t, got(t, duplicate), a)
	wantActions(t, n, "evt_1", 1)
}

func TestCompletedReplayAnswersTheReceipt(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Next(fake.Answer(http.StatusCreated, "{ \"invoice\":\t\"inv_1\" }\n", "Content-Type: application/json; charset=utf-8",
		"Location: /invoices/inv_1", "Set-Cookie: session=1", "X-Workflow: orders"))
	g := startGate(t, n, config{})

	first := g.deliver("evt_1")
	want(t, first, http.StatusCreated, "new")
	if first.header.Get("X-Workflow") != "orders" || first.body != "{ \"invoice\":\t\"inv_1\" }\n" {
		t.Errorf("n8n's answer did not come as it was: %v", first)
	}
	if first.header.Get("Idempotent-Replayed") != "" {
		t.Error("a first answer says that it is a replay")
	}
	for range 3 {
		again := g.deliver("evt_1")
		wantReplay(t, again, first)
		for _, name := range []string{"Set-Cookie", "X-Workflow"} {
			if again.header.Get(name) != "" {
				t.Errorf("a replay repeats the header %s", name)
			}
		}
	}
	wantActions(t, n, "evt_1", 1)
	if n.Sends("evt_1") != 1 {
		t.Errorf("n8n saw the event %d times", n.Sends("evt_1"))
	}

	// The receipt outlives the process.
	g.kill()
	g.start()
	wantReplay(t, g.deliver("evt_1"), first)
	wantActions(t, n, "evt_1", 1)
}

func TestFailureBeforeTheActionIsRetried(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	// What never left uses up no attempts of the workflow.
	g := startGate(t, n, config{webhook: "max_attempts 2"})

	n.Close()
	for range 4 {
		a := g.deliver("evt_1")
		wantTransient(t, a, a.decision())
		if d := a.decision(); d != "new" && d != "retry" {
			t.Errorf("decision %q", d)
		}
		g.wantState("evt_1", "failed_retryable", "not_sent")
	}
	wantActions(t, n, "evt_1", 0)
	n.Open()
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "retry")
	g.wantState("evt_1", "completed", "response")
	wantReplay(t, g.deliver("evt_1"), first)
	wantActions(t, n, "evt_1", 1)
}

func TestCrashAfterTheActionStopsAndAsks(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Usually(hold.Behave)
	g := startGate(t, n, config{})

	broken := g.later("evt_1")
	hold.Await() // n8n has acted; its answer is still to come
	g.kill()
	if a := got(t, broken); a.err == nil {
		t.Fatalf("a killed gate answered: %v", a)
	}
	g.start()
	g.wantState("evt_1", "ambiguous", "holder_lost")
	wantTransient(t, g.deliver("evt_1"), "manual_review")
	wantTransient(t, g.deliver("evt_1"), "manual_review")
	wantActions(t, n, "evt_1", 1)
	hold.Release()
}

func TestDifferentEventsWithOnePayloadActTwice(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{key: "key header X-Event-Id"})

	const body = `{"the": "same payload"}`
	want(t, g.post("/webhook/orders", body, "X-Event-Id: evt_1"), http.StatusOK, "new")
	want(t, g.post("/webhook/orders", body, "X-Event-Id: evt_2"), http.StatusOK, "new")
	wantActions(t, n, "evt_1", 1)
	wantActions(t, n, "evt_2", 1)
	if records := g.list(nil); len(records) != 2 {
		t.Errorf("%d records, want 2", len(records))
	}
}

func TestMissingEventKeyActsNever(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "missing_key reject"})

	for _, body := range []string{`{"amount": 12}`, "{}", ""} {
		a := g.post("/webhook/orders", body)
		want(t, a, http.StatusUnprocessableEntity, "missing_key")
		wantProblem(t, a)
	}
	for name, body := range map[string]string{
		"null":             `{"id": null}`,
		"empty string":     `{"id": ""}`,
		"boolean":          `{"id": true}`,
		"object":           `{"id": {"a": 1}}`,
		"array":            `{"id": ["a"]}`,
		"fraction":         `{"id": 1.5}`,
		"exponent":         `{"id": 1e3}`,
		"minus zero":       `{"id": -0}`,
		"twice":            `{"id": "a", "id": "b"}`,
		"twice, escaped":   `{"id": "a", "\u0069d": "b"}`,
		"cut short":        `{"id": "a"`,
		"two documents":    `{"id": "a"} {"id": "b"}`,
		"control":          `{"id": "a\u0000b"}`,
		"lone surrogate":   `{"id": "\ud800"}`,
		"invalid UTF-8":    "{\"id\": \"\xff\"}",
		"longer than 512":  event(strings.Repeat("x", 513)),
		"JSON in a string": `"{\"id\": \"a\"}"`,
	} {
		a := g.post("/webhook/orders", body)
		if d := a.decision(); a.status != 400 && a.status != 422 || d != "missing_key" && d != "malformed" {
			t.Errorf("%s: the sender got %v", name, a)
		}
	}
	if n.AllActions() != 0 || n.Connections() != 0 {
		t.Errorf("n8n was asked %d times and acted %d times", n.Connections(), n.AllActions())
	}
	if records := g.list(nil); len(records) != 0 {
		t.Errorf("%d records were made without a key: %v", len(records), records)
	}
}
