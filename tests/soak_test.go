package tests

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// soakWebhooks have an operation each, and differ in what they ask of the gate.
var soakWebhooks = []string{"orders", "invoices", "refunds", "mails"}

// Two hundred thousand deliveries without any fault, new ones, duplicates at the same
// moment and replays of what is long done: nothing is ever in doubt, every event is
// acted on once, and the gate's own counters say so.
func TestSoak(t *testing.T) {
	if os.Getenv("N8N_GATE_SOAK") != "1" {
		t.Skip("only with N8N_GATE_SOAK=1 (tests/run.sh --soak)")
	}
	const deliveries, clients = 200_000, 32
	upstream := startLean(t)
	g := newGate(t, &fake.N8N{Addr: upstream.Listener.Addr().String()}, config{
		caddy:    "log {\nexclude http.handlers.n8n_gate\n}", // no 200,000 lines
		forward:  "transport http {\nkeepalive 2s\n}",
		webhook:  "in_flight wait 60s\nlog_key off",
		webhooks: "webhook invoices {\nauth none\nkey json id\nkey literal sent\nin_flight wait 60s\n}\nwebhook refunds {\nauth none\nkey header X-Event-Id\nin_flight wait 60s\nfingerprint off\n}\nwebhook mails {\nauth none\nkey json id\nin_flight reject\naction_id json action\n}",
	})
	g.bin = released
	g.start()

	var events [4]atomic.Int64 // by webhook
	var decided soakCounts
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for client := range clients {
		wg.Go(func() {
			s := soakClient{g: g.in(t), rng: rand.New(rand.NewPCG(1, uint64(client))), decided: &decided}
			for !t.Failed() {
				batch := int64(1 + s.rng.IntN(3)) // of one event at once
				batch -= max(next.Add(batch)-deliveries, 0)
				if batch <= 0 {
					return
				}
				hook := s.rng.IntN(len(soakWebhooks))
				number := events[hook].Load()
				if number == 0 || s.rng.IntN(2) == 0 {
					number = events[hook].Add(1)
				} else {
					number = 1 + s.rng.Int64N(number) // any that came before, perhaps one under way
				}
				s.deliver(hook, number, int(batch))
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)

	total, sum := int64(0), decided[0].Load()+decided[1].Load()+decided[2].Load()
	for i, hook := range soakWebhooks {
		total += events[i].Load()
		acted := upstream.actions["/webhook/"+hook]
		if int64(len(acted)) != events[i].Load() {
			t.Errorf("%s: n8n acted on %d events of %d", hook, len(acted), events[i].Load())
		}
		for key, times := range acted {
			if times != 1 {
				t.Errorf("%s: %q was carried out %d times", hook, key, times)
			}
		}
	}
	t.Logf("%d deliveries of %d events in %s: %.0f/s; new %d, replayed %d, in flight %d",
		sum, total, took.Round(time.Millisecond), float64(sum)/took.Seconds(),
		decided[soakNew].Load(), decided[soakReplayed].Load(), decided[soakInFlight].Load())
	if sum != deliveries || decided[soakNew].Load() != total {
		t.Errorf("%d deliveries of %d events were answered, %d of them new", sum, total, decided[soakNew].Load())
	}
	for _, state := range []string{"ambiguous", "failed_retryable", "processing"} {
		if records := g.list(map[string]string{"state": state}); len(records) > 0 {
			t.Errorf("%d records are %s: %v", len(records), state, records[0])
		}
	}
	metrics := g.metrics()
	for i, decision := range soakDecisions {
		if counted := counter(metrics, "deliveries_total", `decision="`+decision+`"`); counted != decided[i].Load() {
			t.Errorf("/metrics counts %d deliveries as %s, the senders got %d", counted, decision, decided[i].Load())
		}
	}
	for name, counted := range map[string]int64{
		"deliveries":      counter(metrics, "deliveries_total", "") - sum + total,
		"moves":           counter(metrics, "transitions_total", "") - total,
		"moves to claims": counter(metrics, "transitions_total", `to="processing"`),
		"moves to done":   counter(metrics, "transitions_total", `to="completed"`),
	} {
		if counted != total {
			t.Errorf("/metrics counts %d %s too many for %d events", counted-total, name, total)
		}
	}
}

// counter is the sum of the gate's counters of that name that have the label.
func counter(metrics, name, label string) (sum int64) {
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "caddy_n8n_gate_"+name+"{") && strings.Contains(line, label) {
			value, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 64)
			sum += int64(value)
		}
	}
	return sum
}

// leanN8N acts and counts, and remembers nothing else: the fake n8n of the other tests
// keeps every request.
type leanN8N struct {
	*httptest.Server

	mu      sync.Mutex
	actions map[string]map[string]int // by path and key
}

func startLean(t *testing.T) *leanN8N {
	l := &leanN8N{actions: map[string]map[string]int{}}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return
		}
		l.mu.Lock()
		keys := l.actions[r.URL.Path]
		if keys == nil {
			keys = map[string]int{}
			l.actions[r.URL.Path] = keys
		}
		keys[r.Header.Get("N8n-Gate-Event-Key")]++
		number := len(keys)
		l.mu.Unlock()
		w.Header().Set("Content-Security-Policy", n8n.SandboxCSP)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = fmt.Fprintf(w, `{"action": "inv_%d"}`, number)
	}))
	t.Cleanup(l.Close)
	return l
}

const (
	soakNew = iota
	soakReplayed
	soakInFlight
)

var soakDecisions = []string{soakNew: "new", soakReplayed: "replayed", soakInFlight: "in_flight"}

// soakCounts are deliveries by their decision.
type soakCounts [3]atomic.Int64

// soakClient is one sender.
type soakClient struct {
	g       *gate
	rng     *rand.Rand
	decided *soakCounts
}

// deliver delivers one event, some times at once.
func (s *soakClient) deliver(hook int, number int64, times int) {
	id := fmt.Sprintf("evt_%d", number)
	send := func() {
		a := s.g.send(context.Background(), s.g.client, http.MethodPost, "/webhook/"+soakWebhooks[hook], event(id), "X-Event-Id: "+id)
		for i, decision := range soakDecisions {
			right := a.status == http.StatusOK || decision == "in_flight" && a.status == http.StatusServiceUnavailable && soakWebhooks[hook] == "mails"
			if a.decision() == decision && right {
				s.decided[i].Add(1)
				return
			}
		}
		s.g.t.Errorf("%s: a delivery of %s got %v", soakWebhooks[hook], id, a)
	}
	var wg sync.WaitGroup
	for range times - 1 {
		wg.Go(send)
	}
	send()
	wg.Wait()
}
