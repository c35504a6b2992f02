package caddymodule

import (
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// downstream is the system that the workflow acts on: it carries out what has a key
// that it does not know, and knows a key for so long from its first use.
type downstream struct {
	knows   time.Duration
	first   map[string]time.Time
	actions int
	keys    []string
}

func (s *downstream) act(key string) {
	s.keys = append(s.keys, key)
	if at, known := s.first[key]; known && time.Since(at) < s.knows {
		return
	}
	s.first[key] = time.Now()
	s.actions++
}

// repeating is a gate whose workflow acts, and then its connection breaks off, unless
// reply says otherwise.
func repeating(g *testGate, knows time.Duration) *downstream {
	s := &downstream{knows: knows, first: map[string]time.Time{}}
	g.reply = func(w http.ResponseWriter, r *http.Request) {
		a := r.Context().Value(attemptKey{}).(*attempt)
		s.act(a.header.Get("N8n-Gate-Idempotency-Key"))
		w.WriteHeader(http.StatusOK)
		a.broken = io.ErrUnexpectedEOF
	}
	return s
}

// answersAgain: from now on n8n answers as a workflow that acted.
func (g *testGate) answersAgain(s *downstream) {
	g.reply = func(w http.ResponseWriter, r *http.Request) {
		s.act(r.Context().Value(attemptKey{}).(*attempt).header.Get("N8n-Gate-Idempotency-Key"))
		w.Header().Set("Content-Security-Policy", n8n.SandboxCSP)
		w.WriteHeader(http.StatusOK)
	}
}

func (g *testGate) wantsRecord(event string, state store.State, reason string) {
	g.t.Helper()
	if r := g.record(event); r.State != state || r.Reason != reason {
		g.t.Fatalf("%s (%s), want %s (%s)", r.State, r.Reason, state, reason)
	}
}

const tenMinutes = `{"timeout":"30s","repeat_safe":"10m"}` // so the last attempt may begin after 9 minutes

func TestRepeatSafe(t *testing.T) {
	inBubble(t, tenMinutes, func(g *testGate) {
		s := repeating(g, 10*time.Minute)
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedNew, "")
		g.wantsRecord("e1", store.FailedRetryable, store.ReasonInterrupted)
		time.Sleep(5 * time.Minute)
		resp := g.deliver("e1")
		g.wants(resp, http.StatusServiceUnavailable, decidedRetry, "")
		if resp.Header.Get("Retry-After") == "" {
			t.Error("the sender is not told when to come again")
		}
		time.Sleep(4 * time.Minute) // the last instant
		g.answersAgain(s)
		g.wants(g.deliver("e1"), http.StatusOK, decidedRetry, "")
		g.wants(g.deliver("e1"), http.StatusOK, decidedReplayed, "")
		if s.actions != 1 || len(s.keys) != 3 || s.keys[0] == "" || len(slices.Compact(s.keys)) != 1 {
			t.Errorf("%d actions, keys %q", s.actions, s.keys)
		}
	})
}

// A timeout is doubt of the same kind; an answer is none.
func TestRepeatSafeIsForWhatBreaksOffOnTheWay(t *testing.T) {
	inBubble(t, tenMinutes, func(g *testGate) {
		g.reply = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); panic("the proxy gives up") }
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedNew, "")
		g.wantsRecord("e1", store.FailedRetryable, store.ReasonTimeout)
		g.reply = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
		g.wants(g.deliver("e2"), http.StatusBadGateway, decidedNew, "")
		g.wantsRecord("e2", store.Ambiguous, store.ReasonUnrecognised)
	})
}

// An attempt that outlasts repeat_safe ends where the key may be forgotten. (The clock
// jumps: no attempt takes longer than its timeout otherwise.)
func TestRepeatSafeIsOverWhenTheAttemptBreaks(t *testing.T) {
	inBubble(t, tenMinutes, func(g *testGate) {
		_ = g.app.Stop() // the attempt's deadline has passed as well
		s := repeating(g, 10*time.Minute)
		breaks := g.reply
		g.reply = func(w http.ResponseWriter, r *http.Request) { time.Sleep(10 * time.Minute); breaks(w, r) }
		g.wants(g.deliver("e1"), http.StatusGatewayTimeout, decidedNew, "")
		g.wantsRecord("e1", store.Ambiguous, store.ReasonTimeout)
		if s.actions != 1 {
			t.Fatalf("%d actions", s.actions)
		}
	})
}

// Doubt that was left to the idempotency key is doubt again once another attempt could
// outlast the key, and once the key is forgotten: nothing acts a second time.
func TestRepeatSafeIsOverWhenTheSenderComesBack(t *testing.T) {
	for name, later := range map[string]time.Duration{"an attempt would outlast it": 9*time.Minute + 1, "it is over": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tenMinutes, func(g *testGate) {
				_ = g.app.Stop() // no sweeper: the delivery is the first to read the record
				s := repeating(g, 10*time.Minute)
				g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedNew, "")
				time.Sleep(later)
				g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedManualReview, "")
				g.wantsRecord("e1", store.Ambiguous, store.ReasonRepeatOver)
				if s.actions != 1 || g.acted() != 1 {
					t.Errorf("%d actions, %d forwards", s.actions, g.acted())
				}
			})
		})
	}
}

// A proof of the second attempt proves nothing of the first: doubt, then "not reached",
// then a sender that comes back late acted twice once.
func TestRepeatSafeKeepsTheDoubt(t *testing.T) {
	inBubble(t, tenMinutes, func(g *testGate) {
		_ = g.app.Stop()
		s := repeating(g, 10*time.Minute)
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedNew, "")
		breaks := g.reply
		g.reply = func(_ http.ResponseWriter, r *http.Request) {
			r.Context().Value(attemptKey{}).(*attempt).connections.Store(0)
			panic("no connection")
		}
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedRetry, "")
		g.wantsRecord("e1", store.FailedRetryable, store.ReasonNotSent)
		g.reply = breaks
		time.Sleep(24 * time.Hour)
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedManualReview, "")
		if s.actions != 1 {
			t.Errorf("%d actions", s.actions)
		}
	})
}

// Where no sender comes back, the sweeper finds the doubt that is over.
func TestRepeatSafeIsOverForTheSweeper(t *testing.T) {
	inBubble(t, tenMinutes, func(g *testGate) {
		repeating(g, 10*time.Minute)
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedNew, "")
		if v := view(g.record("e1")); !v.Doubt || v.RepeatUntil.Sub(v.FirstSeenAt) != 10*time.Minute {
			t.Errorf("the desk shows %+v", v)
		}
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		g.wantsRecord("e1", store.FailedRetryable, store.ReasonInterrupted)
		time.Sleep(defaultSweepInterval + time.Second)
		synctest.Wait()
		g.wantsRecord("e1", store.Ambiguous, store.ReasonRepeatOver)
		if v := view(g.record("e1")); !v.Doubt || !v.RepeatUntil.IsZero() {
			t.Errorf("the desk shows %+v", v)
		}
	})
}

// Who takes repeat_safe out of the configuration takes back what the doubt rests on.
func TestRepeatSafeTakenBack(t *testing.T) {
	inBubble(t, tenMinutes, func(g *testGate) {
		s := repeating(g, 10*time.Minute)
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedNew, "")
		g.handler.webhooks[0].repeatSafe = 0
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedManualReview, "")
		if s.actions != 1 || g.acted() != 1 {
			t.Errorf("%d actions, %d forwards", s.actions, g.acted())
		}
	})
}
