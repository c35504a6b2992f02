package caddymodule

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/store"
)

const demo = "/webhook/demo"

func TestFingerprint(t *testing.T) {
	for _, test := range []struct {
		name, webhook string
		first, second string // bodies
		target        string // of the second; empty: as the first
		status        int
		what          decision
	}{
		{"another body is held", `{}`, `{"id":"e1","n":1}`, `{"id":"e1","n":2}`, "", http.StatusConflict, decidedConflict},
		{"the same body in another order is a replay", `{}`, `{"id":"e1","n":1}`, `{"n":1,  "id":"e1"}`, "", http.StatusOK, decidedReplayed},
		{"another query is held", `{}`, `{"id":"e1"}`, `{"id":"e1"}`, demo + "?a=1", http.StatusConflict, decidedConflict},
		{"a flag lets it pass", `{"fingerprint":{"mode":"flag"}}`, `{"id":"e1","n":1}`, `{"id":"e1","n":2}`, "", http.StatusOK, decidedReplayed},
		{"off does not look", `{"fingerprint":{"mode":"off"}}`, `{"id":"e1","n":1}`, `{"id":"e1","n":2}`, "", http.StatusOK, decidedReplayed},
		{"members that are the same", `{"fingerprint":{"mode":"hold","members":["amount"]}}`, `{"id":"e1","amount":5,"try":1}`, `{"id":"e1","amount":5,"try":2}`, "", http.StatusOK, decidedReplayed},
		{"members that differ", `{"fingerprint":{"mode":"hold","members":["amount"]}}`, `{"id":"e1","amount":5}`, `{"id":"e1","amount":6}`, "", http.StatusConflict, decidedConflict},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, test.webhook, func(g *testGate) {
				g.wants(g.send(http.MethodPost, demo, test.first), http.StatusOK, decidedNew, "")
				target := demo
				if test.target != "" {
					target = test.target
				}
				g.wants(g.send(http.MethodPost, target, test.second), test.status, test.what, "")
				if g.acted() != 1 {
					t.Fatalf("%d actions", g.acted())
				}
			})
		})
	}
}

// What a fingerprint is taken of may change with the configuration; then it cannot
// be compared, and retries go on as before.
func TestFingerprintsOfAnotherConfiguration(t *testing.T) {
	inBubble(t, `{}`, func(g *testGate) {
		g.wants(g.deliver("e1"), http.StatusOK, decidedNew, "")
		hook := g.handler.webhooks[0]
		for name, change := range map[string]func(){
			"the webhook moved":     func() { hook.pattern = "moved" },
			"it shares":             func() { hook.operation.shared = true },
			"others members matter": func() { hook.fingerprint, _ = keyextract.CompileFingerprint([]string{"id"}) },
		} {
			operation, pattern, fingerprint := *hook.operation, hook.pattern, hook.fingerprint
			change()
			if e, err := extractFor(g, `{"id":"e1","try":2}`); err != nil || e.differs(g.record("e1")) {
				t.Errorf("%s: %v, and the retry counts as another event", name, err)
			}
			*hook.operation, hook.pattern, hook.fingerprint = operation, pattern, fingerprint
		}
	})
}

// extractFor runs a delivery up to its claim.
func extractFor(g *testGate, body string) (event, error) {
	r := httptest.NewRequest(http.MethodPost, demo, strings.NewReader(body))
	d := newDelivery(g.handler, "demo", g.handler.paths.Lookup("demo", http.MethodPost), r)
	return d.extract([]byte(body))
}

// A token in the query says who sends, not what: it may be rotated between two tries.
func TestFingerprintLeavesTheTokenOut(t *testing.T) {
	t.Setenv("GATE_OLD", "old")
	t.Setenv("GATE_NEW", "new")
	inBubble(t, `{"auth":{"kind":"token","query":"t","secrets":["{env.GATE_OLD}","{env.GATE_NEW}"]}}`, func(g *testGate) {
		g.wants(g.send(http.MethodPost, demo+"?t=old&a=1", `{"id":"e1"}`), http.StatusOK, decidedNew, "")
		g.wants(g.send(http.MethodPost, demo+"?a=1&t=new", `{"id":"e1"}`), http.StatusOK, decidedReplayed, "")
		g.wants(g.send(http.MethodPost, demo+"?a=2&t=new", `{"id":"e1"}`), http.StatusConflict, decidedConflict, "")
	})
}

// Every try of a multipart form has another boundary.
func TestFingerprintOfAForm(t *testing.T) {
	form := func(boundary, amount string) *http.Request {
		body := strings.NewReplacer("B", boundary, "\n", "\r\n").Replace("--B\nContent-Disposition: form-data; name=\"id\"\n\ne1\n--B\nContent-Disposition: form-data; name=\"amount\"\n\n") + amount + "\r\n--" + boundary + "--\r\n"
		r := httptest.NewRequest(http.MethodPost, demo, strings.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		return r
	}
	inBubble(t, `{"key":[{"source":"form","field":"id"}]}`, func(g *testGate) {
		g.wants(g.serve(form("one", "5")), http.StatusOK, decidedNew, "")
		g.wants(g.serve(form("two", "5")), http.StatusOK, decidedReplayed, "")
		g.wants(g.serve(form("three", "6")), http.StatusConflict, decidedConflict, "")
	})
}

// Another content under the key of a failed event may be another event as well.
func TestFingerprintOfARetry(t *testing.T) {
	inBubble(t, `{}`, func(g *testGate) {
		g.handler.proxy = unreachable{}
		g.wants(g.send(http.MethodPost, demo, `{"id":"e1","n":1}`), http.StatusServiceUnavailable, decidedNew, "")
		g.handler.proxy = g
		g.wants(g.send(http.MethodPost, demo, `{"id":"e1","n":2}`), http.StatusConflict, decidedConflict, "")
		g.wants(g.send(http.MethodPost, demo, `{"id":"e1","n":1}`), http.StatusOK, decidedRetry, "")
	})
}

func TestReusedBody(t *testing.T) {
	for _, test := range []struct {
		mode    string
		status  int
		what    decision
		actions int
	}{
		{"hold", http.StatusConflict, decidedConflict, 1},
		{"flag", http.StatusOK, decidedNew, 2},
		{"off", http.StatusOK, decidedNew, 2},
	} {
		t.Run(test.mode, func(t *testing.T) {
			// The key stands in a header that no signature covers; the body is the same.
			inBubble(t, `{"key":[{"source":"header","name":"X-Id"}],"reused_body":"`+test.mode+`"}`, func(g *testGate) {
				g.wants(g.sendAs("a", `{"amount":1}`), http.StatusOK, decidedNew, "")
				g.wants(g.sendAs("b", `{"amount":1}`), test.status, test.what, "")
				g.wants(g.sendAs("a", `{"amount":1}`), http.StatusOK, decidedReplayed, "")
				g.wants(g.sendAs("c", `{"amount":2}`), http.StatusOK, decidedNew, "")
				if g.acted() != test.actions+1 {
					t.Fatalf("%d actions", g.acted())
				}
			})
		})
	}
}

// sendAs sends a body with an id that stands in a header.
func (g *testGate) sendAs(id, body string) *http.Response {
	g.t.Helper()
	r := httptest.NewRequest(http.MethodPost, demo, strings.NewReader(body))
	r.Header.Set("X-Id", id)
	return g.serve(r)
}

func TestMissingKeyPass(t *testing.T) {
	inBubble(t, `{"missing_key":"pass","key":[{"source":"json","path":"id"},{"source":"query","name":"part"},{"source":"literal","text":"x"}]}`, func(g *testGate) {
		for _, body := range []string{``, `{"zen":"ping"}`} {
			g.wants(g.send(http.MethodPost, demo, body), http.StatusOK, decidedPassed, "")
			g.wants(g.send(http.MethodPost, demo, body), http.StatusOK, decidedPassed, "")
		}
		if g.acted() != 4 {
			t.Fatalf("%d pings arrived", g.acted())
		}
		g.wants(g.send(http.MethodPost, demo, `{"id":"e1"}`), http.StatusUnprocessableEntity, decidedMissingKey, "")
		g.wants(g.send(http.MethodPost, demo+"?part=1", `{}`), http.StatusUnprocessableEntity, decidedMissingKey, "")
		g.wants(g.send(http.MethodPost, demo, `{"id":null}`), http.StatusBadRequest, decidedMalformed, "")
		g.wants(g.send(http.MethodPost, demo, `{"id":"a","id":"b"}`), http.StatusBadRequest, decidedMalformed, "")
		g.wants(g.send(http.MethodPost, demo, `{"id"`), http.StatusBadRequest, decidedMalformed, "")
		if g.acted() != 4 {
			t.Fatalf("%d actions", g.acted())
		}
		g.handler.proxy = unreachable{}
		g.wants(g.send(http.MethodPost, demo, ``), http.StatusServiceUnavailable, decidedPassed, "")
	})
}

// A webhook in mode pass claims nothing, whatever comes; but strangers stay outside.
func TestModePass(t *testing.T) {
	t.Setenv("GATE_TOKEN", "s3cret")
	inBubble(t, `{"mode":"pass","key":null,"methods":["GET","POST"],"auth":{"kind":"token","query":"t","secrets":["{env.GATE_TOKEN}"]}}`, func(g *testGate) {
		for range 2 {
			g.wants(g.send(http.MethodPost, demo+"?t=s3cret", `{"id":"e1"}`), http.StatusOK, decidedPassed, "")
			g.wants(g.send(http.MethodGet, demo+"?t=s3cret", ``), http.StatusOK, decidedPassed, "")
		}
		g.wants(g.send(http.MethodPost, demo+"?t=guess", `{"id":"e1"}`), http.StatusUnauthorized, decidedUnauthenticated, "")
		g.wants(g.send(http.MethodPut, demo+"?t=s3cret", ``), http.StatusMethodNotAllowed, decidedMethod, "")
		if g.acted() != 4 || g.record("e1").Version != 0 {
			t.Fatalf("%d requests passed, record version %d", g.acted(), g.record("e1").Version)
		}
	})
}

// What passes ungated is judged all the same: n8n's own words from before any execution
// are no answer for a sender, nor are its errors.
func TestPingsThatN8NDidNotTake(t *testing.T) {
	inBubble(t, `{"missing_key":"pass","n8n_sandbox":"assumed"}`, func(g *testGate) {
		g.reply = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("n8n is starting up. Please wait"))
		}
		g.wants(g.send(http.MethodPost, demo, ``), http.StatusServiceUnavailable, decidedPassed, "")
		g.reply = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"code":0,"message":"x","stacktrace":"at y"}`))
		}
		g.wants(g.send(http.MethodPost, demo, ``), http.StatusBadGateway, decidedPassed, "")
	})
}

// unreachable is a proxy whose upstream cannot be connected to.
type unreachable struct{}

func (unreachable) ServeHTTP(http.ResponseWriter, *http.Request, caddyhttp.Handler) error {
	return errors.New("connection refused")
}

func TestWildcardSegmentsComeFirstInTheKey(t *testing.T) {
	inBubble(t, `{"pattern":"shop/*/orders","operation":"order","key":[{"source":"json","path":"id"}]}`, func(g *testGate) {
		g.wants(g.send(http.MethodPost, "/webhook/shop/berlin/orders", `{"id":"1"}`), http.StatusOK, decidedNew, "")
		g.wants(g.send(http.MethodPost, "/webhook/shop/bonn/orders", `{"id":"1"}`), http.StatusOK, decidedNew, "")
		g.wants(g.send(http.MethodPost, "/webhook/shop/berlin/orders/", `{"id":"1"}`), http.StatusOK, decidedReplayed, "")
		g.wants(g.send(http.MethodPost, "/webhook/shop/orders", `{"id":"1"}`), http.StatusNotFound, decidedUnrouted, "")
		have, err := g.faults.real.Get(context.Background(), store.ID{Operation: "order", EventKey: "berlin:1"})
		if err != nil || have[0].State != store.Completed {
			t.Fatalf("%v %s", err, have[0].State)
		}
	})
}

func TestMethods(t *testing.T) {
	inBubble(t, `{"methods":["GET","PUT"],"key":[{"source":"query","name":"id"}]}`, func(g *testGate) {
		g.wants(g.send(http.MethodGet, demo+"?id=1", ``), http.StatusOK, decidedNew, "")
		g.wants(g.send(http.MethodGet, demo+"?id=1", ``), http.StatusOK, decidedReplayed, "")
		resp := g.send(http.MethodPost, demo+"?id=1", ``)
		g.wants(resp, http.StatusMethodNotAllowed, decidedMethod, "")
		if allow := resp.Header.Get("Allow"); allow != "GET, PUT" {
			t.Fatalf("Allow: %q", allow)
		}
		have, err := g.faults.real.Get(context.Background(), store.ID{Operation: "GET+PUT/demo", EventKey: "1"})
		if err != nil || have[0].State != store.Completed {
			t.Fatalf("%v %s", err, have[0].State)
		}
	})
}

// An event that was not carried out, and whose sender stays away, is found.
func TestStranded(t *testing.T) {
	inBubble(t, `{}`, func(g *testGate) {
		g.handler.proxy = unreachable{}
		g.wants(g.deliver("e1"), http.StatusServiceUnavailable, decidedNew, "")
		wantStranded := func(n int) {
			t.Helper()
			got, err := list(t.Context(), g.faults.real, ListRequest{State: stranded})
			found, countErr := countStranded(t.Context(), g.faults.real, g.app.patience)
			if err != nil || countErr != nil || len(got.Records) != n || found["demo"] != n {
				t.Fatalf("%v %v: %d listed, %v counted, want %d", err, countErr, len(got.Records), found, n)
			}
		}
		wantStranded(0)
		time.Sleep(strandedAfter + time.Second) // the bubble's clock
		wantStranded(1)
		g.handler.proxy = g
		g.wants(g.deliver("e1"), http.StatusOK, decidedRetry, "")
		wantStranded(0)
	})
}

// Many conflicts at once: none pushes another out while there is room.
func TestNotesFindRoom(t *testing.T) {
	inBubble(t, `{}`, func(g *testGate) {
		const events = 60
		for i := range events {
			g.wants(g.send(http.MethodPost, demo, fmt.Sprintf(`{"id":"e%d"}`, i)), http.StatusOK, decidedNew, "")
			g.wants(g.send(http.MethodPost, demo, fmt.Sprintf(`{"id":"e%d","n":2}`, i)), http.StatusConflict, decidedConflict, "")
		}
		got, err := list(t.Context(), g.faults.real, ListRequest{State: "conflict"})
		if err != nil || len(got.Records) != events {
			t.Fatalf("%v, %d of %d conflicts are listed", err, len(got.Records), events)
		}
	})
}

// The limit holds for what a body becomes when it is decoded, whatever the key reads.
func TestDecodedBodyIsBounded(t *testing.T) {
	inBubble(t, `{"max_body":1024,"key":[{"source":"header","name":"X-Id"}]}`, func(g *testGate) {
		var body bytes.Buffer
		z := gzip.NewWriter(&body)
		_, _ = z.Write(make([]byte, 100_000))
		_ = z.Close()
		r := httptest.NewRequest(http.MethodPost, demo, &body)
		r.Header.Set("Content-Encoding", "gzip")
		r.Header.Set("X-Id", "1")
		g.wants(g.serve(r), http.StatusRequestEntityTooLarge, decidedTooLarge, "")
	})
}

// A webhook whose events have no key lets everything pass.
func TestNoKeyAtAll(t *testing.T) {
	inBubble(t, `{"key":[],"missing_key":"pass"}`, func(g *testGate) {
		g.wants(g.deliver("e1"), http.StatusOK, decidedPassed, "")
		g.wants(g.deliver("e1"), http.StatusOK, decidedPassed, "")
	})
}

// Refused deliveries leave notes for a person: bounded, and without a body.
func TestNotes(t *testing.T) {
	inBubble(t, `{}`, func(g *testGate) {
		g.wants(g.send(http.MethodPost, demo, `{"id":"e1","secret":"one"}`), http.StatusOK, decidedNew, "")
		for range 3 {
			g.wants(g.send(http.MethodPost, demo, `{"id":"e1","secret":"two"}`), http.StatusConflict, decidedConflict, "")
		}
		g.wants(g.send(http.MethodPost, demo, `{"secret":"three"}`), http.StatusUnprocessableEntity, decidedMissingKey, "")
		g.wants(g.send(http.MethodPost, demo, `{"secret`), http.StatusBadRequest, decidedMalformed, "")
		for what, key := range map[decision]string{decidedConflict: "e1", decidedMissingKey: "", decidedMalformed: ""} {
			got, err := list(t.Context(), g.faults.real, ListRequest{State: string(what)})
			if err != nil || len(got.Records) != 1 || got.Records[0].EventKey != key || got.Records[0].Operation != "demo" || got.Records[0].Attempt != 1 {
				t.Errorf("%s: %v %+v", what, err, got.Records)
			}
		}
		page, err := g.faults.real.Scan(t.Context(), store.Query{Operation: noteOperation})
		if err != nil || len(page.Records) != 3 {
			t.Fatalf("%v, %d notes", err, len(page.Records))
		}
		for _, r := range page.Records {
			if text := string(r.Receipt.Result); strings.Contains(text, "two") || strings.Contains(text, "three") || r.ExpiresAt.IsZero() {
				t.Errorf("a note holds what it must not, or stays for ever: %s", text)
			}
		}
	})
}
