package tests

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// startFailing starts a gate that kills itself at that place of its first delivery.
func startFailing(t *testing.T, n *fake.N8N, failpoint string) *gate {
	t.Helper()
	g := newGate(t, n, config{})
	g.bin = failing
	g.start("N8N_GATE_FAILPOINT=" + failpoint)
	return g
}

// dieOnDelivery delivers the event to a gate that dies of it, and starts it again.
func (g *gate) dieOnDelivery(id string) {
	g.t.Helper()
	if a := g.deliver(id); a.err == nil {
		g.t.Fatalf("the gate was to die, but it answered %v", a)
	}
	g.awaitExit()
	g.start()
}

func TestKilledBeforeTheClaim(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startFailing(t, n, "before_claim")
	g.dieOnDelivery("evt_1")

	g.wantNoRecord("evt_1")
	wantActions(t, n, "evt_1", 0)
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")
	wantReplay(t, g.deliver("evt_1"), first)
	wantActions(t, n, "evt_1", 1)
}

func TestKilledAfterTheClaim(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startFailing(t, n, "after_claim")
	g.dieOnDelivery("evt_1")

	g.wantState("evt_1", "ambiguous", "holder_lost")
	wantTransient(t, g.deliver("evt_1"), "manual_review")
	if n.Connections() != 0 {
		t.Error("the event was sent")
	}

	// A person finds that nothing was done, and the sender delivers again.
	g.resolve("evt_1", "--retryable")
	g.wantState("evt_1", "failed_retryable", "resolved")
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "retry")
	wantReplay(t, g.deliver("evt_1"), first)
	wantActions(t, n, "evt_1", 1)
	g.wantState("evt_1", "completed", "response")
}

func TestKilledAfterTheSend(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startFailing(t, n, "after_send")
	g.dieOnDelivery("evt_1")
	n.AwaitActions("evt_1", 1)

	wantHeldForAPerson(t, g, n, "evt_1")
}

func TestKilledAfterTheResponse(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startFailing(t, n, "after_response")
	g.dieOnDelivery("evt_1")

	wantHeldForAPerson(t, g, n, "evt_1")
}

// wantHeldForAPerson checks an event that was acted on, once, and whose answer
// was lost: nothing is forwarded until a person says that it was done.
func wantHeldForAPerson(t *testing.T, g *gate, n *fake.N8N, key string) {
	t.Helper()
	g.wantState(key, "ambiguous", "holder_lost")
	for range 2 {
		wantTransient(t, g.deliver(key), "manual_review")
	}
	wantActions(t, n, key, 1)
	g.resolve(key, "--completed", "--action-id", "inv_456")
	if r := g.wantState(key, "completed", "resolved"); r.ActionID != "inv_456" {
		t.Errorf("action id %q", r.ActionID)
	}
	a := g.deliver(key)
	want(t, a, http.StatusOK, "replayed")
	if a.header.Get("N8n-Gate-Receipt") != "none" || a.body != "" {
		t.Errorf("a receipt that nobody has is answered as %v", a)
	}
	wantActions(t, n, key, 1)
}

func TestKilledAfterTheSettlement(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startFailing(t, n, "after_settle")
	g.dieOnDelivery("evt_1")

	g.wantState("evt_1", "completed", "response")
	a := g.deliver("evt_1")
	want(t, a, http.StatusOK, "replayed")
	if body := fake.Done("evt_1", 1); a.body != body {
		t.Errorf("the retry got %q, n8n had answered %q", a.body, body)
	}
	wantActions(t, n, "evt_1", 1)
}

// The gate is killed again and again in the middle of everything. Whatever n8n
// acted on is on record, and nothing was done twice.
func TestKillsInTheMiddleOfEverything(t *testing.T) {
	t.Parallel()
	long(t)
	const kills, senders = 8, 6
	n := fake.Start(t)
	g := startGate(t, n, config{})

	var mu sync.Mutex
	delivered := map[string]answer{} // the last answer to each event
	for life := range kills {
		var wg sync.WaitGroup
		for s := range senders {
			wg.Go(func() {
				for i := 0; ; i++ {
					key := fmt.Sprintf("evt_%d_%d_%d", life, s, i)
					a := g.deliver(key)
					mu.Lock()
					delivered[key] = a
					mu.Unlock()
					if a.err != nil {
						return
					}
				}
			})
		}
		// Let this life's deliveries flow, each time for longer.
		n.AwaitConnections(n.Connections() + 5 + 5*life)
		g.kill()
		wg.Wait()
		g.start()
	}

	for key, a := range delivered {
		record, _ := g.show(key)
		actions, state := n.Actions(key), record.State
		switch {
		case actions > 1:
			t.Errorf("%s was carried out %d times", key, actions)
		case actions == 1 && state != "completed" && state != "ambiguous":
			t.Errorf("%s was carried out, but stands as %q", key, state)
		case a.err == nil && (actions != 1 || state != "completed"):
			t.Errorf("%s was answered %v, but has %d actions and stands as %q", key, a, actions, state)
		}
	}
	// The senders repeat what they got no answer to.
	for key, a := range delivered {
		if a.err == nil {
			continue
		}
		switch a := g.deliver(key); a.decision() {
		case "new", "replayed":
			wantActions(t, n, key, 1)
		case "manual_review":
			if n.Actions(key) > 1 {
				t.Errorf("%s was carried out %d times", key, n.Actions(key))
			}
		default:
			t.Errorf("the retry of %s got %v", key, a)
		}
	}
	t.Logf("%d events over %d kills", len(delivered), kills)
}
