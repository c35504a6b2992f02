package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// The desk, through the real command and the real admin endpoint.

// startDesk starts a gate with one event in each settled state.
func startDesk(t *testing.T) (*gate, *fake.N8N) {
	t.Helper()
	n := fake.Start(t)
	g := startGate(t, n, config{webhooks: "webhook refunds {\noperation refund\nauth none\nkey json id\n}"})
	want(t, g.deliver("evt_done"), http.StatusOK, "new")
	want(t, g.post("/webhook/refunds", event("evt_done")), http.StatusOK, "new")
	n.Next(fake.ResetAfterReading)
	want(t, g.deliver("evt_lost"), http.StatusBadGateway, "new")
	n.Next(fake.AnswerBare(200, `{"ok":true}`))
	want(t, g.deliver("evt_odd"), http.StatusBadGateway, "new")
	n.Close()
	wantTransient(t, g.deliver("evt_late"), "new")
	n.Open()
	return g, n
}

// deskList is the list command, which turns all pages itself.
func (g *gate) deskList(filters ...string) []record {
	g.t.Helper()
	out, errOut, ok := g.desk(append([]string{"list"}, filters...)...)
	if !ok {
		g.t.Fatalf("list failed: %s%s", out, errOut)
	}
	var records []record
	if err := json.Unmarshal([]byte(out), &records); err != nil {
		g.t.Fatalf("list says %q: %v", out, err)
	}
	return records
}

func TestDeskLists(t *testing.T) {
	t.Parallel()
	g, _ := startDesk(t)
	for _, c := range []struct {
		filters string
		keys    string
	}{
		{"", "evt_done evt_done evt_late evt_lost evt_odd"},
		{"--operation create_order", "evt_done evt_late evt_lost evt_odd"},
		{"--operation refund", "evt_done"},
		{"--operation nobody", ""},
		{"--state ambiguous", "evt_lost evt_odd"},
		{"--state failed_retryable", "evt_late"},
		{"--state processing", ""},
		{"--state ambiguous --reason unrecognised", "evt_odd"},
		{"--operation refund --state ambiguous", ""},
		{"--older-than 1h", ""},
		{"--older-than 0s", "evt_done evt_done evt_late evt_lost evt_odd"},
	} {
		var keys []string
		for _, r := range g.deskList(strings.Fields(c.filters)...) {
			keys = append(keys, r.EventKey)
		}
		slices.Sort(keys)
		if got := strings.Join(keys, " "); got != c.keys {
			t.Errorf("list %s: %q, want %q", c.filters, got, c.keys)
		}
	}
	if out, _, ok := g.run("n8n-gate", "list", "--state", "ambiguous", "--address", g.adminAddress()); !ok || !strings.Contains(out, "evt_lost") {
		t.Errorf("the list for people says %q", out)
	}
	if _, errOut, ok := g.desk("list", "--state", "no_such_state"); ok {
		t.Errorf("list takes any state: %s", errOut)
	}
}

func TestDeskShows(t *testing.T) {
	t.Parallel()
	g, _ := startDesk(t)
	out, errOut, ok := g.desk("show", operation, "evt_lost")
	if !ok {
		t.Fatalf("show failed: %s", errOut)
	}
	var r record
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("show says %q: %v", out, err)
	}
	if r.Operation != operation || r.EventKey != "evt_lost" || r.State != "ambiguous" || r.Attempt != 1 || r.Version == 0 {
		t.Errorf("show says %+v", r)
	}
	var states []string
	for _, m := range r.History {
		states = append(states, m.To)
	}
	if !slices.Equal(states, []string{"processing", "ambiguous"}) {
		t.Errorf("the history is %+v", r.History)
	}
	if _, errOut, ok := g.desk("show", operation, "evt_nobody"); ok || errOut == "" {
		t.Errorf("a record that is not there is shown: %s", errOut)
	}
	if out, _, ok = g.run("n8n-gate", "show", operation, "evt_lost", "--address", g.adminAddress()); !ok || !strings.Contains(out, "ambiguous") {
		t.Errorf("the record for people is %q", out)
	}
}

func TestDeskResolvesToCompleted(t *testing.T) {
	t.Parallel()
	g, n := startDesk(t)
	g.resolve("evt_lost", "--completed", "--action-id", "inv_456", "--by", "ada")
	r := g.wantState("evt_lost", "completed", "resolved")
	if r.ActionID != "inv_456" {
		t.Errorf("the action id is %q", r.ActionID)
	}
	last := r.History[len(r.History)-1]
	if last.By != "ada" || last.Note != "looked it up in the shop" || last.From != "ambiguous" {
		t.Errorf("the history ends with %+v", last)
	}
	a := g.deliver("evt_lost")
	want(t, a, http.StatusOK, "replayed")
	if a.header.Get("N8n-Gate-Receipt") != "none" || a.body != "" || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the replay of a person's word is %v", a)
	}
	wantActions(t, n, "evt_lost", 1)
}

func TestDeskResolvesToRetryable(t *testing.T) {
	t.Parallel()
	g, n := startDesk(t)
	out, errOut, ok := g.run("n8n-gate", "resolve", operation, "evt_odd", "--retryable", "--reason", "nothing was made", "--address", g.adminAddress())
	if !ok || !strings.Contains(out+errOut, "sender must deliver") {
		t.Errorf("resolve --retryable says %q %q, not that the sender must deliver again", out, errOut)
	}
	r := g.wantState("evt_odd", "failed_retryable", "resolved")
	if by := r.History[len(r.History)-1].By; by == "" {
		t.Error("nobody resolved it: the operating system's user is missing")
	}
	want(t, g.deliver("evt_odd"), http.StatusOK, "retry")
	want(t, g.deliver("evt_odd"), http.StatusOK, "replayed")
	wantActions(t, n, "evt_odd", 2) // a person has said so
}

func TestDeskRefuses(t *testing.T) {
	t.Parallel()
	g, n := startDesk(t)
	for name, args := range map[string][]string{
		"without a reason":     {"evt_lost", "--completed"},
		"with an empty reason": {"evt_lost", "--completed", "--reason", ""},
		"without a verdict":    {"evt_lost", "--reason", "x"},
		"with two verdicts":    {"evt_lost", "--completed", "--retryable", "--reason", "x"},
		"what is completed":    {"evt_done", "--retryable", "--reason", "x"},
		"what is retryable":    {"evt_late", "--completed", "--reason", "x"},
		"what is not there":    {"evt_nobody", "--completed", "--reason", "x"},
		"without a key":        {"--completed", "--reason", "x"},
	} {
		if _, errOut, ok := g.desk(append([]string{"resolve", operation}, args...)...); ok || errOut == "" {
			t.Errorf("resolve %s went through: %s", name, errOut)
		}
	}
	g.wantState("evt_lost", "ambiguous", "interrupted")
	g.wantState("evt_done", "completed", "response")
	g.wantState("evt_late", "failed_retryable", "not_sent")
	g.wantNoRecord("evt_nobody")
	wantActions(t, n, "evt_done", 2) // one for each operation
}

func TestDeskTurnsPages(t *testing.T) {
	t.Parallel()
	long(t)
	g := startGate(t, fake.Start(t), config{})
	for i := range 250 { // a page holds 100
		want(t, g.deliver(fmt.Sprintf("evt_%d", i)), http.StatusOK, "new")
	}
	seen := map[string]bool{}
	for _, r := range g.deskList("--state", "completed") {
		seen[r.EventKey] = true
	}
	if len(seen) != 250 {
		t.Errorf("list shows %d of 250 records", len(seen))
	}
}

// The desk speaks for itself where no server runs.
func TestDeskWithoutAServer(t *testing.T) {
	t.Parallel()
	g := newGate(t, fake.Start(t), config{})
	if _, errOut, ok := g.desk("list"); ok || !strings.Contains(errOut, g.adminAddress()) {
		t.Errorf("list without a server says %q", errOut)
	}
}

// Event keys travel in bodies, never in URLs: the admin endpoint logs URLs.
func TestDeskKeepsKeysOutOfTheLog(t *testing.T) {
	t.Parallel()
	g, _ := startDesk(t)
	g.resolve("evt_lost", "--completed")
	g.deskList("--operation", operation)
	for _, l := range g.log.since(0) {
		if strings.Contains(l.raw, "evt_") {
			t.Errorf("the log tells an event key: %s", l.raw)
		}
	}
}

// A key is named as it is printed; another way to encode it is the same key.
func TestDeskKeysAreTakenAsPrinted(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{key: "key json id\nkey header X-Kind"})
	n.Next(fake.DropAfterReading)
	want(t, g.post("/webhook/orders", event("a:b c/ü"), "X-Kind: paid"), http.StatusBadGateway, "new")
	const printed = "a%3Ab%20c%2F%C3%BC:paid"
	if records := g.deskList(); len(records) != 1 || records[0].EventKey != printed {
		t.Fatalf("list says %+v, want the key %s", records, printed)
	}
	g.wantState(printed, "ambiguous", "")
	// The same key, percent-encoded in another way.
	g.resolve("a%3ab%20c%2f%c3%bc:paid", "--completed")
	g.wantState(printed, "completed", "resolved")
}
