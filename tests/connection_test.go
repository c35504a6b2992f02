package tests

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// Connections to n8n: what proves that nothing was sent, what does not, and how
// often one is used.

// A reset that comes while the gate still connects proves that nothing was sent;
// the same a moment later proves nothing any more.
func TestN8NResetsEveryConnection(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	for i := range 20 {
		key := fmt.Sprintf("evt_%d", i)
		n.ResetOnAccept(true)
		a := g.deliver(key)
		n.ResetOnAccept(false)
		switch a.status {
		case http.StatusBadGateway:
			want(t, a, http.StatusBadGateway, "new")
			g.wantState(key, "ambiguous", "interrupted")
			wantTransient(t, g.deliver(key), "manual_review")
			wantActions(t, n, key, 0)
		default:
			wantTransient(t, a, "new")
			g.wantState(key, "failed_retryable", "not_sent")
			want(t, g.deliver(key), http.StatusOK, "retry")
			wantActions(t, n, key, 1)
		}
	}
}

func TestN8NRefusesConnections(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Close()
	g := startGate(t, n, config{})

	wantTransient(t, g.deliver("evt_1"), "new")
	if r := g.wantState("evt_1", "failed_retryable", "not_sent"); r.Refused != 1 {
		t.Errorf("refused %d times", r.Refused)
	}
	n.Open()
	want(t, g.deliver("evt_1"), http.StatusOK, "retry")
	wantActions(t, n, "evt_1", 1)
}

func TestTLSHandshakeFails(t *testing.T) {
	t.Parallel()
	n := fake.Start(t) // speaks no TLS
	g := startGate(t, n, config{forward: "transport http {\ntls\n}"})

	wantTransient(t, g.deliver("evt_1"), "new")
	g.wantState("evt_1", "failed_retryable", "not_sent")
	wantActions(t, n, "evt_1", 0)
}

// Connected, but no TLS comes of it in time.
func TestTLSHandshakeHangs(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel connects, nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	g := newGate(t, n, config{forward: "transport http {\ntls\n}", webhook: "timeout 1s"})
	g.upstream = silent.Addr().String()
	g.start()
	for _, decision := range []string{"new", "retry"} {
		wantTransient(t, g.deliver("evt_1"), decision)
		g.wantState("evt_1", "failed_retryable", "not_sent")
	}
}

// Caddy knows that n8n is down and does not even try.
func TestNoHealthyUpstream(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{forward: "fail_duration 10m"})
	n.Close()
	wantTransient(t, g.deliver("evt_1"), "new")
	wantTransient(t, g.deliver("evt_2"), "new")
	n.Open()
	wantTransient(t, g.deliver("evt_3"), "new")
	for _, key := range []string{"evt_1", "evt_2", "evt_3"} {
		g.wantState(key, "failed_retryable", "not_sent")
		wantActions(t, n, key, 0)
	}
}

// Every delivery has a connection of its own, unless the user says otherwise.
func TestConnectionsAreFresh(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		want(t, g.deliver(id), http.StatusOK, "new")
	}
	if n.Connections() != 3 {
		t.Errorf("%d connections for 3 deliveries", n.Connections())
	}
}

// Go's transport sends an empty POST with an Idempotency-Key a second time when
// a connection that it used again dies. The gate must not let it.
func TestReusedConnectionDies(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	gate := startGate(t, n, config{
		forward:  "transport http {\nkeepalive 4s\n}",
		key:      "key header Idempotency-Key",
		webhooks: "webhook x-orders {\noperation x_order\nauth none\nkey header X-Idempotency-Key\n}",
	})
	for name, death := range map[string]fake.Behaviour{
		"reset":                fake.ResetAfterReading,
		"closed":               fake.DropAfterReading,
		"reset before reading": fake.ResetBeforeReading,
	} {
		for header, path := range map[string]string{"Idempotency-Key": "/webhook/orders", "X-Idempotency-Key": "/webhook/x-orders"} {
			for kind, body := range map[string]string{"empty": "", "with a body": event("x")} {
				t.Run(name+", "+header+", "+kind, func(t *testing.T) {
					g, key := gate.in(t), slug(name+header+kind)
					connections := n.Connections()
					n.Next(fake.Work, death)

					want(t, g.post(path, body, header+": "+key+"_before"), http.StatusOK, "new")
					a := g.post(path, body, header+": "+key)
					if n.Connections() != connections+1 {
						t.Fatalf("the second delivery did not use the connection again: %d connections", n.Connections()-connections)
					}
					want(t, a, http.StatusBadGateway, "new")
					wantTransient(t, g.post(path, body, header+": "+key), "manual_review")
					if n.Sends(key) > 1 || n.Actions(key) > 1 || n.Connections() != connections+1 {
						t.Errorf("n8n got the event %d times, over %d connections", n.Sends(key), n.Connections()-connections)
					}
				})
			}
		}
	}
	for _, r := range gate.list(map[string]string{"state": "ambiguous"}) {
		if r.Reason != "interrupted" {
			t.Errorf("%s is ambiguous because of %q", r.EventKey, r.Reason)
		}
	}
}

// n8n closes a kept connection when it has been idle for a while, perhaps just
// now: the event is sent once, over another connection if it must be.
func TestIdleConnectionDies(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Usually(fake.WorkAndLeave)
	g := startGate(t, n, config{forward: "transport http {\nkeepalive 4s\n}"})
	for i := range 50 {
		key := fmt.Sprintf("evt_%d", i)
		switch a := g.deliver(key); {
		case a.status == http.StatusOK && a.decision() == "new":
			wantActions(t, n, key, 1)
		case a.status == http.StatusBadGateway: // it was written to a connection that was just closing
			g.wantState(key, "ambiguous", "interrupted")
		default:
			t.Errorf("%s: the sender got %v", key, a)
		}
		if n.Sends(key) > 1 {
			t.Errorf("%s was sent %d times", key, n.Sends(key))
		}
	}
}
