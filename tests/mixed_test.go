package tests

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// Behind one forward there may be n8n of several versions. What one of them has shown
// proves nothing of another's words.
func TestProofOfOneUpstreamIsNotAnothers(t *testing.T) {
	t.Parallel()
	marks, silent := fake.Start(t), fake.Start(t)
	g := startGate(t, marks, config{forward: "to " + silent.Addr + "\nlb_policy round_robin"})
	serial := 0
	// to delivers events until the upstream got one, and returns what came of that.
	to := func(n *fake.N8N, behaviour fake.Behaviour) (string, answer) {
		t.Helper()
		n.Next(behaviour)
		for range 4 {
			serial++
			key, before := fmt.Sprintf("evt_%d", serial), len(n.Requests())
			if a := g.deliver(key); len(n.Requests()) > before {
				return key, a
			}
		}
		t.Fatalf("no delivery reached %s", n.Addr)
		return "", answer{}
	}
	silent.Usually(fake.NotRegistered)
	_, a := to(marks, fake.Work)
	want(t, a, http.StatusOK, "new")
	key, a := to(marks, fake.NotRegistered)
	wantTransient(t, a, "new")
	g.wantState(key, "failed_retryable", "refused")

	key, a = to(silent, fake.NotRegistered)
	want(t, a, http.StatusBadGateway, "new")
	g.wantState(key, "ambiguous", "unrecognised")

	_, a = to(silent, fake.Work) // now it has shown its mark as well
	want(t, a, http.StatusOK, "new")
	key, a = to(silent, fake.NotRegistered)
	wantTransient(t, a, "new")
	g.wantState(key, "failed_retryable", "refused")
}
