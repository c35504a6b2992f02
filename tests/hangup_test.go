package tests

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// Senders hang up long before a workflow is done. The attempt runs on, and its
// receipt answers the retry.
func TestSenderHangsUp(t *testing.T) {
	t.Parallel()
	for _, proto := range protocols {
		t.Run(proto.name, func(t *testing.T) {
			n := fake.Start(t)
			n.Next(fake.After(500*time.Millisecond, fake.Work))
			g := startGate(t, n, proto.config)
			g.client = proto.client(t)
			g.warmUp()

			g.hangUp(n, "evt_1", 50*time.Millisecond)
			g.awaitState("evt_1", "completed")
			a := g.deliver("evt_1")
			want(t, a, http.StatusOK, "replayed")
			if body := fake.Done("evt_1", 1); a.body != body {
				t.Errorf("the retry got %q, n8n had answered %q", a.body, body)
			}
			wantActions(t, n, "evt_1", 1)
		})
	}
}

// A sender that hung up tries again at once: it gets the receipt of the attempt
// that still runs.
func TestRetryWhileTheFirstAttemptRuns(t *testing.T) {
	t.Parallel()
	for _, proto := range protocols {
		t.Run(proto.name, func(t *testing.T) {
			n := fake.Start(t)
			hold := fake.NewHold(t, fake.Work)
			c := proto.config
			c.webhook = "in_flight wait 60s"
			g := startGate(t, n, c)
			g.client = proto.client(t)
			g.warmUp()

			n.Next(hold.Behave)
			g.hangUp(n, "evt_1", 0)
			retry := g.later("evt_1")
			hold.Release()
			want(t, got(t, retry), http.StatusOK, "replayed")
			wantActions(t, n, "evt_1", 1)
		})
	}
}

// Asked to stop, the gate waits for attempts whose sender is long gone.
func TestGracefulStopWaitsForTheAttempt(t *testing.T) {
	t.Parallel()
	for _, proto := range protocols {
		t.Run(proto.name, func(t *testing.T) {
			n := fake.Start(t)
			hold := fake.NewHold(t, fake.Work)
			g := startGate(t, n, proto.config)
			g.client = proto.client(t)
			g.warmUp()

			n.Next(hold.Behave)
			g.hangUp(n, "evt_1", 0)
			g.askToStop()
			// What did not wait for the attempt is gone long before this.
			time.AfterFunc(700*time.Millisecond, hold.Release)
			g.awaitExit()
			hold.Release()

			g.start()
			g.wantState("evt_1", "completed", "response")
			want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
			wantActions(t, n, "evt_1", 1)
		})
	}
}

// It does not wait for ever: what is left then is ambiguous at the next start.
func TestGracefulStopIsBounded(t *testing.T) {
	t.Parallel()
	for _, proto := range protocols {
		t.Run(proto.name, func(t *testing.T) {
			n := fake.Start(t)
			c := proto.config
			c.app = "drain_timeout 1s"
			c.webhook = "timeout 10m"
			g := startGate(t, n, c)
			g.client = proto.client(t)
			g.warmUp()

			n.Next(fake.Hang)
			g.hangUp(n, "evt_1", 0)
			g.stop()

			g.start()
			g.wantState("evt_1", "ambiguous", "")
			wantTransient(t, g.deliver("evt_1"), "manual_review")
			wantActions(t, n, "evt_1", 1)
		})
	}
}

// Stopped in the middle of traffic, the gate ends what it has begun: nothing is
// ambiguous at the next start, and nothing was done twice.
func TestGracefulStopUnderLoad(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Usually(fake.After(20*time.Millisecond, fake.Work))
	g := startGate(t, n, config{})
	var answered atomic.Int64
	var senders sync.WaitGroup
	for sender := range 8 {
		senders.Go(func() {
			for i := 0; ; i++ {
				a := g.deliver(fmt.Sprintf("evt_%d_%d", sender, i))
				if a.err != nil {
					return // the gate is gone
				}
				answered.Add(1)
				if a.status != http.StatusOK || a.decision() != "new" {
					t.Errorf("the sender got %v", a)
				}
			}
		})
	}
	n.AwaitConnections(100)
	g.stop()
	senders.Wait()

	if took := len(g.log.deliveries()); took != int(answered.Load()) {
		t.Errorf("the gate took %d deliveries, %d answers came", took, answered.Load())
	}
	if n.AllActions() != int(answered.Load()) || len(n.Keys()) != n.AllActions() {
		t.Errorf("%d actions for %d events, %d answers", n.AllActions(), len(n.Keys()), answered.Load())
	}
	g.start()
	for _, r := range g.list(nil) {
		if r.State != "completed" {
			t.Errorf("%s is %s", r.EventKey, r.State)
		}
	}
}

// protocols are the ways in which a sender speaks to the gate.
var protocols = []struct {
	name   string
	config config
	client func(*testing.T) *http.Client
}{
	{"HTTP/1.1", config{}, newClient},
	{"HTTP/2", config{tls: true, caddy: "servers {\nprotocols h1 h2\n}"}, newH2Client},
	{"HTTP/2 without TLS", config{caddy: "servers {\nprotocols h1 h2c\n}"}, newH2CClient},
}

// warmUp waits until the site answers: Caddy signs its own certificate in the
// background, and tells nobody when it is there.
func (g *gate) warmUp() {
	g.t.Helper()
	var a answer
	for deadline := time.Now().Add(fake.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if a = g.post("/webhook/nowhere", ""); a.err == nil {
			return
		}
	}
	g.t.Fatalf("the site does not answer: %v", a)
}

// hangUp delivers the event and hangs up when n8n has acted on it, but not
// before the sender has waited that long.
func (g *gate) hangUp(n *fake.N8N, id string, patience time.Duration) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	patient := time.After(patience)
	answers := make(chan answer, 1)
	go func() { answers <- g.send(ctx, g.client, http.MethodPost, "/webhook/orders", event(id)) }()
	n.AwaitActions(id, 1)
	<-patient
	cancel()
	if a := got(g.t, answers); a.err == nil {
		g.t.Fatalf("the sender did not hang up: %v", a)
	}
}
