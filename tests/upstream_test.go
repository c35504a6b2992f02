package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// How n8n misbehaves, and what the gate makes of it: the state, the reason, and
// the count at n8n, each exactly. After every one of them a second delivery
// must not act again.
var misbehaviours = []struct {
	name      string
	behaviour fake.Behaviour
	impatient bool // the webhook waits for a second only
	status    int
	state     string
	reason    string
	actions   int
}{
	{name: "hangs", behaviour: fake.Hang, impatient: true,
		status: http.StatusGatewayTimeout, state: "ambiguous", reason: "timeout", actions: 1},
	{name: "stalls within the body", behaviour: fake.Stall, impatient: true,
		status: http.StatusGatewayTimeout, state: "ambiguous", reason: "timeout", actions: 1},
	{name: "resets before reading", behaviour: fake.ResetBeforeReading,
		status: http.StatusBadGateway, state: "ambiguous", reason: "interrupted", actions: 0},
	{name: "resets between head and body", behaviour: fake.ResetAfterHead,
		status: http.StatusBadGateway, state: "ambiguous", reason: "interrupted", actions: 0},
	{name: "resets after reading", behaviour: fake.ResetAfterReading,
		status: http.StatusBadGateway, state: "ambiguous", reason: "interrupted", actions: 1},
	{name: "closes after reading", behaviour: fake.DropAfterReading,
		status: http.StatusBadGateway, state: "ambiguous", reason: "interrupted", actions: 1},
	{name: "cuts the head short", behaviour: fake.CutHead,
		status: http.StatusBadGateway, state: "ambiguous", reason: "interrupted", actions: 1},
	{name: "cuts the body short", behaviour: fake.CutBody,
		status: http.StatusBadGateway, state: "ambiguous", reason: "interrupted", actions: 1},
	{name: "cuts a chunked body short", behaviour: fake.CutChunks,
		status: http.StatusBadGateway, state: "ambiguous", reason: "interrupted", actions: 1},
	{name: "speaks no HTTP", behaviour: fake.Nonsense,
		status: http.StatusBadGateway, state: "ambiguous", reason: "interrupted", actions: 1},

	{name: "switches protocols", behaviour: fake.Switch, impatient: true,
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},

	// Answers that prove nothing.
	{name: "200 of somebody else", behaviour: fake.AnswerBare(200, `{"ok":true}`),
		status: http.StatusBadGateway, state: "ambiguous", reason: "unrecognised", actions: 1},
	{name: "HTML of somebody else", behaviour: fake.AnswerBare(200, "<html>", "Content-Type: text/html"),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "204 of somebody else", behaviour: fake.AnswerBare(204, ""),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "302 of somebody else", behaviour: fake.AnswerBare(302, "", "Location: /elsewhere"),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "another page's CSP", behaviour: fake.AnswerBare(200, `{"ok":true}`, "Content-Security-Policy: default-src 'none'"),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "500 of n8n", behaviour: fake.AnswerBare(500, `{"code":0,"message":"There was a problem executing the workflow","stacktrace":"at /usr/lib/node_modules"}`),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "401 of somebody else", behaviour: fake.AnswerBare(401, `{"error":"no"}`),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "workflow says 500", behaviour: fake.Answer(500, `{"error":"stack of the workflow"}`),
		status: http.StatusBadGateway, state: "ambiguous", reason: "error_answer", actions: 1},
	{name: "workflow says 503", behaviour: fake.Answer(503, ""),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "workflow says 408", behaviour: fake.Answer(408, "", "Connection: close"),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "workflow says 409", behaviour: fake.Answer(409, `{"why":"exists"}`),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "workflow says 423", behaviour: fake.Answer(423, ""),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "workflow says 425", behaviour: fake.Answer(425, ""),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},
	{name: "workflow says 429", behaviour: fake.Answer(429, "", "Retry-After: 1"),
		status: http.StatusBadGateway, state: "ambiguous", actions: 1},

	// Answers that are fine, however odd.
	{name: "103 first", behaviour: fake.First("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", fake.Answer(200, `{"ok":true}`)),
		status: http.StatusOK, state: "completed", reason: "response", actions: 1},
	{name: "100 and 102 first", behaviour: fake.First("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n", fake.Answer(201, `{"ok":true}`)),
		status: http.StatusCreated, state: "completed", reason: "response", actions: 1},
	{name: "chunked", behaviour: fake.AnswerChunked(200, `{"a":`, ` "b"`, `}`),
		status: http.StatusOK, state: "completed", actions: 1},
	{name: "workflow says 204", behaviour: fake.Answer(204, ""),
		status: http.StatusNoContent, state: "completed", actions: 1},
	{name: "workflow says 200 and nothing", behaviour: fake.Answer(200, ""),
		status: http.StatusOK, state: "completed", actions: 1},
	{name: "workflow says 404", behaviour: fake.Answer(404, `{"no":"such order"}`),
		status: http.StatusNotFound, state: "completed", actions: 1},
	{name: "workflow says 422", behaviour: fake.Answer(422, `{"no":"good"}`),
		status: http.StatusUnprocessableEntity, state: "completed", actions: 1},
	{name: "workflow says 410", behaviour: fake.Answer(410, `{"all":"gone"}`),
		status: http.StatusGone, state: "completed", actions: 1},
}

func TestMisbehavingN8N(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	patient, impatient := startGate(t, n, config{}), startGate(t, n, config{webhook: "timeout 1s"})
	for _, m := range misbehaviours {
		t.Run(m.name, func(t *testing.T) {
			g, key := patient.in(t), slug(m.name)
			if m.impatient {
				g = impatient.in(t)
			}
			connections := n.Connections()
			n.Next(m.behaviour)

			first := g.deliver(key)
			want(t, first, m.status, "new")
			wantActions(t, n, key, m.actions)
			g.wantState(key, m.state, m.reason)
			if m.state == "ambiguous" {
				wantProblem(t, first)
				wantNothingOfN8N(t, first)
				wantTransient(t, g.deliver(key), "manual_review")
			} else {
				wantReplay(t, g.deliver(key), first)
			}
			wantActions(t, n, key, m.actions)
			if n.Sends(key) > 1 || n.Connections() != connections+1 {
				t.Errorf("the event was sent %d times over %d connections", n.Sends(key), n.Connections()-connections)
			}
		})
	}
}

// slug makes an event's id out of a test's name.
func slug(name string) string {
	return "evt_" + strings.NewReplacer(" ", "_", "'", "", ",", "").Replace(name)
}

// wantNothingOfN8N checks an error of the gate that hides what n8n said.
func wantNothingOfN8N(t *testing.T, a answer) {
	t.Helper()
	for _, leak := range []string{"stack", "/usr/lib", "There was a problem", "127.0.0.1", "Location"} {
		if strings.Contains(a.body, leak) {
			t.Errorf("the sender got internals: %v", a)
		}
	}
	for _, name := range []string{"Location", "Content-Security-Policy", "Vary"} {
		if a.header.Get(name) != "" {
			t.Errorf("the sender got n8n's header %s: %v", name, a)
		}
	}
}

// The first answer carries what fits into memory; the receipt what is worth keeping.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	gate := startGate(t, n, config{})
	t.Run("over the receipt's size", func(t *testing.T) {
		g := gate.in(t)
		body := `{"rows": "` + strings.Repeat("x", 100<<10) + `"}`
		n.Next(fake.Answer(201, body, "Location: /rows"))

		first := g.deliver("evt_1")
		want(t, first, http.StatusCreated, "new")
		if first.body != body || first.header.Get("N8n-Gate-Body") != "" {
			t.Errorf("n8n's answer of %d bytes came as %v", len(body), first)
		}
		wantBodyDropped(t, g.deliver("evt_1"), http.StatusCreated, "replayed")
		wantActions(t, n, "evt_1", 1)
	})
	for name, behaviour := range map[string]fake.Behaviour{
		"20 MiB":           fake.Answer(200, strings.Repeat("x", 20<<20), "Content-Type: application/octet-stream"),
		"20 MiB in chunks": fake.AnswerChunked(200, strings.Repeat("x", 10<<20), strings.Repeat("y", 10<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			g, key := gate.in(t), slug(name)
			n.Next(behaviour)
			wantBodyDropped(t, g.deliver(key), http.StatusOK, "new")
			g.wantState(key, "completed", "response")
			wantBodyDropped(t, g.deliver(key), http.StatusOK, "replayed")
			wantActions(t, n, key, 1)
		})
	}
}

func wantBodyDropped(t *testing.T, a answer, status int, decision string) {
	t.Helper()
	want(t, a, status, decision)
	if a.body != "" || a.header.Get("N8n-Gate-Body") != "dropped" {
		t.Fatalf("the sender got %v, want no body and N8n-Gate-Body: dropped", a)
	}
}

func TestRedirectIsAnsweredNotFollowed(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	for i, status := range []int{301, 302, 303, 307, 308} {
		key := fmt.Sprintf("evt_%d", status)
		n.Next(fake.Answer(status, "", "Location: /webhook/orders"))

		first := g.deliver(key)
		want(t, first, status, "new")
		if first.header.Get("Location") != "/webhook/orders" {
			t.Errorf("%d: Location did not come: %v", status, first)
		}
		g.wantState(key, "completed", "response")
		wantReplay(t, g.deliver(key), first)
		if len(n.Requests()) != i+1 {
			t.Errorf("%d: n8n got %d requests in all", status, len(n.Requests()))
		}
	}
}
