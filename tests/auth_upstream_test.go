package tests

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

const triggerSecret = "known-to-n8n-alone"

// The sender's own delivery of an event, and a forger's, who knows the key but not the
// secret, and so cannot know the content.
func genuine(g *gate, id string) answer {
	return g.post("/webhook/orders", event(id), "X-Trigger-Secret: "+triggerSecret)
}

func forged(g *gate, id string) answer {
	return g.post("/webhook/orders", `{"id": "`+id+`", "amount": 1000000}`, "X-Trigger-Secret: guessed")
}

// startTrigger starts a gate before a trigger node that checks its sender itself.
func startTrigger(t *testing.T, n *fake.N8N, webhook string) *gate {
	t.Helper()
	n.Usually(fake.Trigger("X-Trigger-Secret", triggerSecret, fake.Work))
	return startGate(t, n, config{auth: "auth upstream", webhook: "n8n_sandbox assumed\n" + webhook})
}

func wantUnauthenticated(t *testing.T, a answer) {
	t.Helper()
	want(t, a, http.StatusUnauthorized, "unauthenticated")
	if strings.Contains(a.body, "Unauthorized\"}") || strings.Contains(a.body, "n8n") {
		t.Errorf("the sender is told too much: %s", a.body)
	}
}

func TestAuthUpstreamForgedFirst(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startTrigger(t, n, "")
	wantUnauthenticated(t, forged(g, "evt_1"))
	if records := g.list(nil); len(records) != 0 {
		t.Errorf("a forged delivery left %d records", len(records))
	}
	first := genuine(g, "evt_1")
	want(t, first, http.StatusOK, "new")
	wantReplay(t, genuine(g, "evt_1"), first)

	// A guessed key that is completed is neither read nor acted on.
	a := forged(g, "evt_1")
	want(t, a, http.StatusConflict, "conflict")
	if strings.Contains(a.body, "action") {
		t.Errorf("the forger reads the receipt: %s", a.body)
	}
	wantReplay(t, genuine(g, "evt_1"), first)
	if got := n.Actions("evt_1"); got != 1 {
		t.Errorf("%d actions", got)
	}
	if notes := g.list(map[string]string{"state": "conflict"}); len(notes) != 0 {
		t.Errorf("a forger left %d notes", len(notes))
	}
	// So it is after a restart.
	g.kill()
	g.start()
	want(t, forged(g, "evt_1"), http.StatusConflict, "conflict")
	wantReplay(t, genuine(g, "evt_1"), first)
}

func TestAuthUpstreamForgedWhileN8nIsDown(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startTrigger(t, n, "max_attempts 3")
	n.Close()
	for range 10 {
		if a := forged(g, "evt_1"); a.status != http.StatusServiceUnavailable {
			t.Errorf("the forger got %v", a)
		}
	}
	// Nor does the sender's own attempt count while n8n is down.
	for range 10 {
		if a := genuine(g, "evt_1"); a.status != http.StatusServiceUnavailable {
			t.Errorf("the sender got %v", a)
		}
	}
	if records := g.list(nil); len(records) != 0 {
		t.Errorf("%d records", len(records))
	}
	n.Open()
	want(t, genuine(g, "evt_1"), http.StatusOK, "new")
	if got := n.Actions("evt_1"); got != 1 {
		t.Errorf("%d actions", got)
	}
}

// A forgery that times out, or breaks off, is in doubt by itself: beside the event.
func TestAuthUpstreamForgedTimeout(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]fake.Behaviour{"timeout": fake.Hang, "reset": fake.ResetAfterReading} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := fake.Start(t)
			g := startTrigger(t, n, "timeout 1s")
			n.Next(end)
			if a := forged(g, "evt_1"); a.status/100 != 5 {
				t.Errorf("the forger got %v", a)
			}
			first := genuine(g, "evt_1")
			want(t, first, http.StatusOK, "new")
			wantReplay(t, genuine(g, "evt_1"), first)
			if a := forged(g, "evt_1"); a.decision() != "manual_review" {
				t.Errorf("the forger got %v", a)
			}
			listed := g.list(map[string]string{"state": "ambiguous"})
			if len(listed) != 1 || !listed[0].Unproven {
				t.Errorf("listed as ambiguous: %+v", listed)
			}
			if all := g.list(map[string]string{"state": "completed"}); len(all) != 1 || all[0].Unproven {
				t.Errorf("listed as completed: %+v", all)
			}
		})
	}
}

// While a forgery is being looked at, the event does not wait for it; nor does a
// forgery find what the event waits for.
func TestAuthUpstreamForgedMeanwhile(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startTrigger(t, n, "in_flight wait 60s")
	hold := fake.NewHold(t, fake.Work)
	n.Next(hold.Behave)
	slow := make(chan answer, 1)
	go func() { slow <- genuine(g, "evt_1") }()
	hold.Await()
	wantUnauthenticated(t, forged(g, "evt_1")) // n8n has not yet shown whose the other is
	hold.Release()
	first := got(t, slow)
	want(t, first, http.StatusOK, "new")
	want(t, forged(g, "evt_1"), http.StatusConflict, "conflict")
}

// Who waited for a claim that is undone claims anew: one after the other acts, once.
func TestAuthUpstreamWaitersClaimAnew(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startTrigger(t, n, "in_flight wait 60s")
	hold := fake.NewHold(t, nil)
	n.Next(func(x *fake.Exchange) {
		if x.Receive() && hold.Arrive(x) {
			fake.NotRegistered(x)
		}
	})
	const duplicates = 8
	answers := make([]answer, duplicates)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = genuine(g, "evt_1") })
	}
	hold.Await()
	hold.Release()
	all.Wait()
	count := map[string]int{}
	for _, a := range answers {
		count[a.decision()]++
	}
	if n.Actions("evt_1") != 1 || count["replayed"] != duplicates-2 || count["new"] != 2 {
		t.Errorf("%d actions, decisions %v", n.Actions("evt_1"), count)
	}
}

// An event that n8n's node drops is as it was before, and its answer is the sender's.
func TestAuthUpstreamFiltered(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startTrigger(t, n, "")
	n.Next(fake.Filtered)
	a := genuine(g, "evt_1")
	want(t, a, http.StatusOK, "new")
	if a.body != `{"message":"Webhook call received"}` {
		t.Errorf("the sender got %v", a)
	}
	if records := g.list(nil); len(records) != 0 {
		t.Errorf("%d records", len(records))
	}
	want(t, genuine(g, "evt_1"), http.StatusOK, "new")
}

// Events from before the webhook had auth upstream are known, and none are from behind
// it again unless the user accepts that.
func TestAuthUpstreamComesAndGoes(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")

	n.Usually(fake.Trigger("X-Trigger-Secret", triggerSecret, fake.Work))
	upstream := config{auth: "auth upstream", webhook: "n8n_sandbox assumed"}
	g.reload(upstream)
	wantReplay(t, genuine(g, "evt_1"), first)
	want(t, forged(g, "evt_1"), http.StatusConflict, "conflict")
	want(t, genuine(g, "evt_2"), http.StatusOK, "new")

	if message, ok := g.load(config{}); ok || !strings.Contains(message, "key_changed") {
		t.Errorf("the way back: loaded %v, %s", ok, message)
	}
	want(t, genuine(g, "evt_2"), http.StatusOK, "replayed")
}
