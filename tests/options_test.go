package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// The downstream's id of what was done stands where a person looks.
func TestActionID(t *testing.T) {
	t.Parallel()
	for option, behaviour := range map[string]fake.Behaviour{
		"action_id json invoice.id": fake.Answer(200, `{"invoice": {"id": "inv_456"}}`),
		"action_id header X-Id":     fake.Answer(204, "", "X-Id: inv_456"),
	} {
		t.Run(option, func(t *testing.T) {
			n := fake.Start(t)
			g := startGate(t, n, config{webhook: option + "\nlog_key plain"})
			n.Next(behaviour)
			g.deliver("evt_1")
			if r := g.wantState("evt_1", "completed", "response"); r.ActionID != "inv_456" {
				t.Errorf("the desk's action id is %q", r.ActionID)
			}
			want(t, g.deliver("evt_2"), http.StatusOK, "new") // an answer that names none
			if r := g.wantState("evt_2", "completed", "response"); r.ActionID != "" {
				t.Errorf("the desk's action id of another event is %q", r.ActionID)
			}
			if out, errOut, ok := g.desk("show", operation, "evt_1"); !ok || !strings.Contains(out, "inv_456") {
				t.Errorf("the command show says %s%s", out, errOut)
			}
			g.stop()
			for i, id := range []string{"inv_456", ""} {
				if l := g.log.deliveries()[i]; l.text("action_id") != id {
					t.Errorf("the log's action id is not %q: %s", id, l.raw)
				}
			}
		})
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for option, expected := range map[string]string{"": "", "origin keep": "https://shop.example"} {
		t.Run(or(option, "by default"), func(t *testing.T) {
			n := fake.Start(t)
			g := startGate(t, n, config{webhook: option})
			want(t, g.post("/webhook/orders", event("evt_1"), "Origin: https://shop.example"), http.StatusOK, "new")
			if origin := n.Last().Header.Get("Origin"); origin != expected {
				t.Errorf("n8n got the Origin %q, want %q", origin, expected)
			}
		})
	}
}

// An answer over max_response has come whole, and is answered without its body.
func TestMaxResponse(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	gate := startGate(t, n, config{webhook: "max_response 1KiB"})
	t.Run("that fits", func(t *testing.T) {
		g, body := gate.in(t), strings.Repeat("x", 1024)
		n.Next(fake.Answer(200, body))
		first := g.deliver("evt_1")
		want(t, first, http.StatusOK, "new")
		if first.body != body || first.header.Get("N8n-Gate-Body") != "" {
			t.Errorf("1 KiB came as %v", first)
		}
		wantReplay(t, g.deliver("evt_1"), first)
	})
	for name, behaviour := range map[string]fake.Behaviour{
		"one byte over":    fake.Answer(201, strings.Repeat("x", 1025), "Location: /rows"),
		"over in chunks":   fake.AnswerChunked(201, strings.Repeat("x", 1000), strings.Repeat("x", 1000)),
		"over by far":      fake.Answer(201, strings.Repeat("x", 3<<20)),
		"over, compressed": fake.Answer(201, strings.Repeat("x", 2000), "Content-Encoding: gzip"),
	} {
		t.Run(name, func(t *testing.T) {
			g, key := gate.in(t), slug(name)
			n.Next(behaviour)
			wantBodyDropped(t, g.deliver(key), http.StatusCreated, "new")
			g.wantState(key, "completed", "response")
			wantBodyDropped(t, g.deliver(key), http.StatusCreated, "replayed")
			wantActions(t, n, key, 1)
		})
	}
}

func TestCompleteWhen(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	for option, answers := range map[string]struct{ done, not fake.Behaviour }{
		"complete_when json status ok":  {fake.AnswerBare(500, `{"status": "ok"}`), fake.Answer(200, `{"status": "no"}`)},
		"complete_when json done true":  {fake.Answer(409, `{"done": true}`), fake.Answer(200, `{"done": true, "done": false}`)},
		"complete_when header X-Done 1": {fake.Answer(200, "", "X-Done: 1"), fake.Answer(200, "", "X-Done: 1", "X-Done: 1")},
	} {
		t.Run(option, func(t *testing.T) {
			g := startGate(t, n, config{webhook: option})
			done, not := slug(option)+"_done", slug(option)+"_not"
			n.Next(answers.done, answers.not)
			first := g.deliver(done)
			if first.decision() != "new" || first.header.Get("Content-Type") == "application/problem+json" {
				t.Fatalf("the sender got %v", first)
			}
			g.wantState(done, "completed", "response")
			wantReplay(t, g.deliver(done), first)
			want(t, g.deliver(not), http.StatusBadGateway, "new")
			g.wantState(not, "ambiguous", "condition")
		})
	}
}

// n8n 1.x marks nothing: there a success with a body is the workflow's.
func TestSandboxAbsent(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	gate := startGate(t, n, config{webhook: "n8n_sandbox absent"})
	for name, c := range map[string]struct {
		behaviour fake.Behaviour
		state     string
	}{
		"JSON":                    {fake.AnswerBare(201, `{"ok":true}`), "completed"},
		"text":                    {fake.AnswerBare(200, "ok", "Content-Type: text/plain"), "completed"},
		"marked all the same":     {fake.Answer(200, `{"ok":true}`), "completed"},
		"HTML":                    {fake.AnswerBare(200, "<html>", "Content-Type: text/html"), "ambiguous"},
		"n8n is starting":         {fake.AnswerBare(200, "n8n is starting up. Please wait", "Content-Type: text/html; charset=utf-8"), "ambiguous"},
		"204":                     {fake.AnswerBare(204, ""), "ambiguous"},
		"nothing":                 {fake.AnswerBare(200, ""), "ambiguous"},
		"302":                     {fake.AnswerBare(302, "", "Location: /x"), "ambiguous"},
		"an error":                {fake.AnswerBare(500, `{"ok":true}`), "ambiguous"},
		"no proof of n8n's words": {fake.NotRegistered, "ambiguous"},
		// n8n 1.123.0 says so where the workflow failed at its start.
		"n8n's own doubt": {fake.AnswerBare(200, `{"message":"Workflow executed successfully but no data was returned"}`), "ambiguous"},
	} {
		t.Run(name, func(t *testing.T) {
			g, key := gate.in(t), slug(name)
			n.Next(c.behaviour)
			first := g.deliver(key)
			g.wantState(key, c.state, "")
			if c.state == "ambiguous" {
				want(t, first, http.StatusBadGateway, "new")
				wantNothingOfN8N(t, first)
			} else {
				wantReplay(t, g.deliver(key), first)
			}
		})
	}
}

// ownAnswers are errors of n8n itself, with the stack traces that it adds.
var ownAnswers = map[string]fake.Behaviour{
	"not registered":    fake.NotRegistered,
	"workflow gone":     ownError(404, 404, "Cannot find workflow"),
	"node gone":         ownError(404, 404, "Could not find node to process webhook."),
	"database away":     ownError(503, 503, "Database is not ready!"),
	"wrong method":      ownError(404, 404, "This webhook is not registered for POST requests. Did you mean to make a GET request?"),
	"problem":           ownError(500, 0, "There was a problem executing the workflow"),
	"not started":       ownError(500, 0, "Workflow Webhook Error: Workflow could not be started!"),
	"cancelled":         ownError(500, 0, "The execution was cancelled"),
	"body aborted":      ownError(400, 400, "Request body stream was aborted or is not readable"),
	"unheard of":        ownError(507, 0, "stack overflow"),
	"error in workflow": fake.AnswerBare(500, `{"message":"Error in workflow"}`),
	"starting up":       fake.AnswerBare(200, "n8n is starting up. Please wait", "Content-Type: text/html; charset=utf-8"),
	"no route":          fake.AnswerBare(404, "<!DOCTYPE html><html><body><pre>Cannot POST /webhook/orders<br>at /usr/lib/x</pre></body></html>", "Content-Type: text/html; charset=utf-8"),
	"express":           fake.AnswerBare(500, "<!DOCTYPE html><html><body><pre>Error<br> at /usr/lib/node_modules/n8n</pre></body></html>", "Content-Type: text/html; charset=utf-8"),
	"refused address":   fake.AnswerBare(403, "IP is not allowed to access the webhook! (127.0.0.1)"),
}

// ownError is an error in n8n's own frame.
func ownError(status, code int, message string) fake.Behaviour {
	trace := fmt.Sprintf("Error: %s\n    at /usr/lib/node_modules/n8n/dist/webhooks/webhook-helpers.js:1:1", message)
	return fake.AnswerBare(status, fmt.Sprintf(`{"code":%d,"message":%q,"stacktrace":%q}`, code, message, trace))
}

// n8n's own errors never reach the sender: neither where they prove something nor
// where they do not.
func TestNothingOfN8NsErrorsReachesTheSender(t *testing.T) {
	t.Parallel()
	for _, sandbox := range []string{"required", "assumed", "absent"} {
		t.Run(sandbox, func(t *testing.T) {
			n := fake.Start(t)
			gate := startGate(t, n, config{webhook: "n8n_sandbox " + sandbox})
			for _, shown := range []string{"first", "shown"} {
				for name, behaviour := range ownAnswers {
					t.Run(shown+"/"+name, func(t *testing.T) {
						g, key := gate.in(t), slug(shown+" "+name)
						n.Next(behaviour)
						wantHidden(t, g.deliver(key), "new")
						// Nor does the next delivery tell.
						n.Next(behaviour)
						wantHidden(t, g.deliver(key), "retry", "manual_review")
						n.Forget()
					})
				}
				want(t, gate.deliver("evt_"+shown), http.StatusOK, "new") // n8n shows its mark
			}
		})
	}
}

// wantHidden checks an error of the gate's own.
func wantHidden(t *testing.T, a answer, decisions ...string) {
	t.Helper()
	if a.status != http.StatusServiceUnavailable && a.status != http.StatusBadGateway {
		t.Fatalf("the sender got %v", a)
	}
	if !strings.Contains(strings.Join(decisions, " "), a.decision()) {
		t.Errorf("the decision is %q, want one of %q", a.decision(), decisions)
	}
	wantProblem(t, a)
	wantNothingOfN8N(t, a)
}

// What an author says of a status is said of the workflow's answers. n8n's own error
// may have that status as well; its stack trace stays here.
func TestRulesDoNotOpenN8NsErrors(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	for _, option := range []string{"on_response 500 completed", "complete_when json code 0"} {
		for _, sandbox := range []string{"required", "assumed", "absent"} {
			t.Run(option+", "+sandbox, func(t *testing.T) {
				g, key := startGate(t, n, config{webhook: option + "\nn8n_sandbox " + sandbox}), slug(option+sandbox)
				n.Next(ownAnswers["problem"])
				for range 2 {
					if a := g.deliver(key); strings.Contains(a.body, "stack") || strings.Contains(a.body, "/usr/lib") {
						t.Errorf("the sender got n8n's stack trace: %v", a)
					}
				}
				wantActions(t, n, key, 1)
			})
		}
	}
}
