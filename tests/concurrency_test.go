package tests

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// Many senders deliver one event at the same moment: one action, and everyone
// gets the receipt or is told to come again.
func TestSimultaneousDeliveriesActOnce(t *testing.T) {
	t.Parallel()
	rounds, senders := 50, 200
	if testing.Short() {
		rounds, senders = 6, 50
	}
	for name, inFlight := range map[string]string{
		"waiting":   "in_flight wait 60s",
		"rejecting": "in_flight reject",
	} {
		t.Run(name, func(t *testing.T) {
			n := fake.Start(t)
			g := startGate(t, n, config{webhook: inFlight})
			for round := range rounds / 2 {
				key := fmt.Sprintf("evt_%d", round)
				answers := deliverAtOnce(g, key, senders)

				var first answer
				for _, a := range answers {
					if a.decision() == "new" {
						if first.status != 0 {
							t.Fatalf("two deliveries of %s were new: %v, %v", key, first, a)
						}
						first = a
					}
				}
				want(t, first, http.StatusOK, "new")
				for _, a := range answers {
					switch a.decision() {
					case "new":
					case "in_flight":
						if inFlight != "in_flight reject" {
							t.Fatalf("a waiter was sent away though the receipt came: %v", a)
						}
						wantTransient(t, a, "in_flight")
					default:
						wantReplay(t, a, first)
					}
				}
				wantActions(t, n, key, 1)
				if n.Sends(key) != 1 {
					t.Fatalf("%s was sent to n8n %d times", key, n.Sends(key))
				}
			}
			if n.AllActions() != rounds/2 {
				t.Errorf("%d actions for %d events", n.AllActions(), rounds/2)
			}
		})
	}
}

// deliverAtOnce delivers one event from many senders that start together.
func deliverAtOnce(g *gate, key string, senders int) []answer {
	answers := make([]answer, senders)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			<-start
			answers[i] = g.deliver(key)
		})
	}
	close(start)
	wg.Wait()
	return answers
}

// Events that only look alike do not hold each other back.
func TestManyEventsAtOnceActOnceEach(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "in_flight wait 60s\nfingerprint off"})

	const events, tries = 100, 4
	var wg sync.WaitGroup
	for i := range events {
		for range tries {
			wg.Go(func() {
				a := g.deliver(fmt.Sprintf("evt_%d", i))
				if a.status != http.StatusOK || a.decision() != "new" && a.decision() != "replayed" {
					t.Errorf("event %d: the sender got %v", i, a)
				}
			})
		}
	}
	wg.Wait()
	for i := range events {
		wantActions(t, n, fmt.Sprintf("evt_%d", i), 1)
	}
	// JSON 1 and "1" are one key; a longer one that begins alike is another.
	want(t, g.post("/webhook/orders", `{"id": 1}`), http.StatusOK, "new")
	want(t, g.post("/webhook/orders", `{"id": "1"}`), http.StatusOK, "replayed")
	want(t, g.post("/webhook/orders", `{"id": "01"}`), http.StatusOK, "new")
}
