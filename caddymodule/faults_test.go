package caddymodule

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// Each test runs in a synctest bubble: background retries and deadlines pass at once.
func inBubble(t *testing.T, webhook string, f func(g *testGate)) {
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(t, webhook)
		f(g)
	})
}

func TestClaimThatIsNotStoredForwardsNothing(t *testing.T) {
	inBubble(t, "", func(g *testGate) {
		g.faults.next(notStored)
		resp := g.deliver("e1")
		g.wants(resp, http.StatusServiceUnavailable, decidedUnavailable, "")
		if resp.Header.Get("Retry-After") == "" || g.acted() != 0 || g.record("e1").Version != 0 {
			t.Fatalf("Retry-After %q, %d actions, %+v", resp.Header.Get("Retry-After"), g.acted(), g.record("e1"))
		}
		g.wants(g.deliver("e1"), http.StatusOK, decidedNew, `{"n":1}`)
	})
}

func TestUnknownClaimIsReadBack(t *testing.T) {
	for name, outcome := range map[string]fault{"it was stored": unknownStored, "it was lost": unknownLost} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "", func(g *testGate) {
				g.faults.next(outcome)
				g.wants(g.deliver("e1"), http.StatusOK, decidedNew, `{"n":1}`)
				g.wants(g.deliver("e1"), http.StatusOK, decidedReplayed, `{"n":1}`)
				if g.acted() != 1 || g.record("e1").Attempt != 1 {
					t.Fatalf("%d actions, attempt %d", g.acted(), g.record("e1").Attempt)
				}
			})
		})
	}
}

// A claim that may be on disk while nothing can be read forwards nothing, and is
// taken back once the store answers: no false doubt stays.
func TestUnknownClaimThatCannotBeReadBackIsTakenBack(t *testing.T) {
	inBubble(t, "", func(g *testGate) {
		g.faults.next(unknownStoredThenBlind)
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedUnavailable, "")
		if g.acted() != 0 || g.record("e1").State != store.Processing {
			t.Fatalf("%d actions, %s", g.acted(), g.record("e1").State)
		}
		g.faults.set(fine, false)
		time.Sleep(2 * maxPause) // the bubble's clock: until the background's next try
		synctest.Wait()
		if r := g.record("e1"); r.State != store.FailedRetryable || r.Reason != store.ReasonNotSent {
			t.Fatalf("the claim was not taken back: %s %s", r.State, r.Reason)
		}
		g.wants(g.deliver("e1"), http.StatusOK, decidedRetry, `{"n":1}`)
	})
}

func TestSettleIsTriedAgain(t *testing.T) {
	inBubble(t, "", func(g *testGate) {
		g.faults.next(fine, notStored, notStored, notStored)
		g.wants(g.deliver("e1"), http.StatusBadGateway, decidedNew, "")
		if s := g.record("e1").State; s != store.Processing {
			t.Fatalf("the record is %s before its settling is stored", s)
		}
		time.Sleep(10 * maxPause)
		synctest.Wait()
		g.wants(g.deliver("e1"), http.StatusOK, decidedReplayed, `{"n":1}`)
		if g.acted() != 1 {
			t.Fatalf("%d actions", g.acted())
		}
	})
}

func TestUnknownSettleIsReadBack(t *testing.T) {
	for name, outcome := range map[string]fault{"it was stored": unknownStored, "it was lost": unknownLost} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "", func(g *testGate) {
				g.faults.next(fine, outcome)
				g.wants(g.deliver("e1"), http.StatusOK, decidedNew, `{"n":1}`)
				g.wants(g.deliver("e1"), http.StatusOK, decidedReplayed, `{"n":1}`)
			})
		})
	}
}

func TestSettleThatNeverSucceedsEndsAmbiguous(t *testing.T) {
	inBubble(t, `{"timeout":"5s"}`, func(g *testGate) {
		g.faults.next(fine)
		g.faults.set(notStored, false)
		g.wants(g.deliver("e1"), http.StatusBadGateway, decidedNew, "")
		time.Sleep(5*time.Second + 2*settleGrace)
		synctest.Wait()
		g.faults.set(fine, false)
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedManualReview, "")
		if r := g.record("e1"); r.State != store.Ambiguous || r.Reason != store.ReasonDeadline || g.acted() != 1 {
			t.Fatalf("%s %s after %d actions", r.State, r.Reason, g.acted())
		}
	})
}

// A receipt that commits after the deadline is late evidence.
func TestSettleAfterTheDeadlineIsLateEvidence(t *testing.T) {
	inBubble(t, `{"timeout":"5s"}`, func(g *testGate) {
		g.faults.next(fine, notStored)
		reply := make(chan struct{})
		g.reply = func(w http.ResponseWriter, r *http.Request) {
			<-reply
			w.Header().Set("Content-Security-Policy", n8n.SandboxCSP)
			w.WriteHeader(http.StatusOK)
		}
		done := make(chan *http.Response)
		go func() { done <- g.deliver("e1") }()
		// The proxy does not heed its context here, as if the machine had slept.
		time.Sleep(5*time.Second + 2*settleGrace)
		synctest.Wait()
		if r := g.record("e1"); r.State != store.Ambiguous || r.Reason != store.ReasonDeadline {
			t.Fatalf("%s %s past the deadline", r.State, r.Reason)
		}
		close(reply)
		<-done
		time.Sleep(2 * maxPause)
		synctest.Wait()
		if r := g.record("e1"); r.State != store.Completed {
			t.Fatalf("%s %s after late evidence", r.State, r.Reason)
		}
	})
}

func TestPanicWhileForwardingIsAmbiguous(t *testing.T) {
	inBubble(t, "", func(g *testGate) {
		g.reply = func(http.ResponseWriter, *http.Request) { panic("a proxy's own fault") }
		g.wants(g.deliver("e1"), http.StatusBadGateway, decidedNew, "")
		if r := g.record("e1"); r.State != store.Ambiguous || r.Reason != store.ReasonInterrupted {
			t.Fatalf("%s %s", r.State, r.Reason)
		}
	})
}

// A panic after n8n has answered is settled at once: nobody waits for the deadline.
func TestPanicAfterTheForwardIsAmbiguous(t *testing.T) {
	for name, breaks := range map[string]func(*testGate){
		"in classify": func(g *testGate) {
			g.handler.webhooks[0].judge.rules = []answerRule{{status: []int{200}, conditions: []*condition{nil}}}
		},
		"in settle": func(g *testGate) { g.faults.next(fine, panics) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "", func(g *testGate) {
				breaks(g)
				began := time.Now()
				g.wants(g.deliver("e1"), http.StatusBadGateway, decidedNew, "")
				g.wantsRecord("e1", store.Ambiguous, store.ReasonPanic)
				if time.Since(began) > time.Second {
					t.Errorf("settled after %s", time.Since(began))
				}
				g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedManualReview, "")
				if n := g.handler.webhooks[0].inFlight.n + g.handler.inFlight.n; n != 0 || g.acted() != 1 {
					t.Fatalf("%d places are still taken, %d actions", n, g.acted())
				}
			})
		})
	}
}

// What was settled stands, whatever panics afterwards.
func TestPanicAfterTheSettling(t *testing.T) {
	inBubble(t, "", func(g *testGate) {
		g.reply = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", n8n.SandboxCSP)
			_, _ = w.Write([]byte("done"))
		}
		d := newDelivery(g.handler, "demo", g.handler.paths.Lookup("demo", http.MethodPost), httptest.NewRequest(http.MethodPost, "/webhook/demo", nil))
		c, err := d.claim(event{names: []store.ID{{Operation: "demo", EventKey: "e1"}}})
		if err != nil || !c.won {
			t.Fatal(err)
		}
		defer c.release()
		ex := d.forward(c.ledger.exit, c, nil)
		if _, err := d.settle(c, d.classify(ex), ex); err != nil {
			t.Fatal(err)
		}
		if a := d.panicked(c); a.status != http.StatusOK || string(a.body) != "done" {
			t.Errorf("answered %+v", a)
		}
		g.wantsRecord("e1", store.Completed, store.ReasonResponse)
	})
}

func TestWaiterIsAnsweredFromTheRecord(t *testing.T) {
	inBubble(t, `{"in_flight_wait":"2s"}`, func(g *testGate) {
		reply := make(chan struct{})
		g.reply = func(w http.ResponseWriter, _ *http.Request) {
			<-reply
			w.Header().Set("Content-Security-Policy", n8n.SandboxCSP)
			_, _ = w.Write([]byte("done"))
		}
		first, second, late := make(chan *http.Response), make(chan *http.Response), make(chan *http.Response)
		go func() { first <- g.deliver("e1") }()
		synctest.Wait()
		go func() { late <- g.deliver("e1") }()
		resp := <-late // after 2 s of the bubble's clock
		g.wants(resp, http.StatusServiceUnavailable, decidedInFlight, "")
		go func() { second <- g.deliver("e1") }()
		synctest.Wait()
		close(reply)
		g.wants(<-first, http.StatusOK, decidedNew, "done")
		g.wants(<-second, http.StatusOK, decidedReplayed, "done")
		if g.acted() != 1 {
			t.Fatalf("%d actions", g.acted())
		}
	})
}

func TestMaxInFlightRefusesBeforeTheClaim(t *testing.T) {
	inBubble(t, `{"max_in_flight":1}`, func(g *testGate) {
		reply := make(chan struct{})
		g.reply = func(w http.ResponseWriter, _ *http.Request) {
			<-reply
			w.Header().Set("Content-Security-Policy", n8n.SandboxCSP)
			w.WriteHeader(http.StatusOK)
		}
		first := make(chan *http.Response)
		go func() { first <- g.deliver("e1") }()
		synctest.Wait()
		g.wants(g.deliver("e2"), http.StatusServiceUnavailable, decidedOverloaded, "")
		if g.record("e2").Version != 0 {
			t.Fatal("an overloaded gate claimed")
		}
		close(reply)
		g.wants(<-first, http.StatusOK, decidedNew, "")
		g.wants(g.deliver("e2"), http.StatusOK, decidedNew, "")
		if n := g.handler.webhooks[0].inFlight.n + g.handler.inFlight.n; n != 0 {
			t.Fatalf("%d places are still taken", n)
		}
	})
}
