package tests

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// setAnswer is an answer that the user wrote, and what stays of the gate's own.
type setAnswer struct {
	decision string
	status   int
	body     string
	kind     string // its Content-Type
	stays    string // "Name: value" of the gate's
}

const twiML = `<?xml version="1.0"?><Response/>`

// wantSet checks such an answer, with all its headers.
func wantSet(t *testing.T, a answer, w setAnswer) {
	t.Helper()
	want(t, a, w.status, w.decision)
	if a.body != w.body {
		t.Errorf("%s: the body is %q, want %q", w.decision, a.body, w.body)
	}
	list := maps.Clone(a.header)
	for _, name := range []string{"Date", "Server", "Connection"} {
		list.Del(name)
	}
	expected := http.Header{"N8n-Gate-Decision": {w.decision}, "Content-Length": {fmt.Sprint(len(w.body))}}
	if w.kind != "" {
		expected.Set("Content-Type", w.kind)
	}
	if w.stays == "Retry-After" {
		expected.Set("Retry-After", a.header.Get("Retry-After"))
		if a.header.Get("Retry-After") == "" {
			t.Errorf("%s: the sender is not told when to come again", w.decision)
		}
	} else if w.stays != "" {
		name, value, _ := strings.Cut(w.stays, ": ")
		expected.Add(name, value)
	}
	if !maps.EqualFunc(list, expected, slices.Equal) {
		t.Errorf("%s: the headers are %v, want %v", w.decision, list, expected)
	}
}

// Every answer of the gate can be set, and says what it is all the same.
func TestAnswersAsTheUserSetsThem(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := newGate(t, n, config{
		gate: "respond unrouted 410 `<gone/>` application/xml\nrespond conflict 400 `of the gate`\nrespond malformed 415 `of the gate`\nrespond method 404 `no`",
		auth: "auth token header X-Token secret {env.SHOP_SECRET}",
		webhook: "max_body 1KiB\nmax_in_flight 1\nin_flight reject\n" +
			"respond replayed 200 `" + twiML + "` text/xml\n" +
			"respond in_flight 429 busy\n" +
			"respond manual_review 500 `[accepted]` application/json\n" +
			"respond conflict 422 `of the webhook` text/css\n" +
			"respond missing_key 400\n" +
			"respond unauthenticated 403 `who?`\n" +
			"respond too_large 400 `ä` `text/plain; charset=utf-8`\n" +
			"respond upgrade 426 no text/plain\n" +
			"respond overloaded 429 `{}` application/json\n" +
			"respond not_carried_out 500 `again, please`",
	})
	g.env = []string{secretEnv}
	g.start()
	const text = "text/plain; charset=utf-8"
	post := func(body string, headers ...string) answer {
		return g.post("/webhook/orders", body, append([]string{"X-Token: " + secret}, headers...)...)
	}

	// What n8n answers cannot be set.
	first := post(event("evt_1"))
	want(t, first, http.StatusOK, "new")
	if first.body != fake.Done("evt_1", 1) {
		t.Errorf("n8n's answer came as %v", first)
	}
	wantSet(t, post(event("evt_1")), setAnswer{"replayed", 200, twiML, "text/xml", "Idempotent-Replayed: true"})
	n.Next(fake.ResetAfterReading)
	doubt := post(event("evt_2"))
	want(t, doubt, http.StatusBadGateway, "new")
	wantProblem(t, doubt)
	wantSet(t, post(event("evt_2")), setAnswer{"manual_review", 500, "[accepted]", "application/json", "Retry-After"})

	// The webhook's words come before the gate's, word by word.
	wantSet(t, post(`{"id": "evt_1", "amount": 13}`), setAnswer{"conflict", 422, "of the webhook", "text/css", ""})
	wantSet(t, post(`{"id": 1.5}`), setAnswer{"malformed", 415, "of the gate", text, ""})
	wantSet(t, g.post("/webhook/nowhere", "{}"), setAnswer{"unrouted", 410, "<gone/>", "application/xml", ""})
	wantSet(t, g.send(context.Background(), g.client, http.MethodPut, "/webhook/orders", "{}"), setAnswer{"method", 404, "no", text, "Allow: POST"})

	wantSet(t, post(`{}`), setAnswer{"missing_key", 400, "", "", ""})
	wantSet(t, g.post("/webhook/orders", event("evt_1")), setAnswer{"unauthenticated", 403, "who?", text, ""})
	wantSet(t, post(fmt.Sprintf(`{"id": "evt_3", "x": %q}`, make([]byte, 1024))), setAnswer{"too_large", 400, "ä", text, ""})
	wantSet(t, post(event("evt_3"), "Connection: Upgrade", "Upgrade: websocket"), setAnswer{"upgrade", 426, "no", "text/plain", ""})

	hold := fake.NewHold(t, fake.Work)
	n.Next(hold.Behave)
	held := make(chan answer, 1)
	go func() { held <- post(event("evt_4")) }()
	hold.Await()
	wantSet(t, post(event("evt_4")), setAnswer{"in_flight", 429, "busy", text, "Retry-After"})
	wantSet(t, post(event("evt_5")), setAnswer{"overloaded", 429, "{}", "application/json", "Retry-After"})
	hold.Release()
	want(t, got(t, held), http.StatusOK, "new")

	n.Close()
	for _, decision := range []string{"new", "retry"} {
		wantSet(t, post(event("evt_6")), setAnswer{decision, 500, "again, please", text, "Retry-After"})
	}
	n.Open()
	want(t, post(event("evt_6")), http.StatusOK, "retry")
	wantActions(t, n, "evt_6", 1)
}

// For a method that no webhook takes the gate's word counts.
func TestAnswerToAMethodAsTheGateSetsIt(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{gate: "respond method 404 gate"})
	wantSet(t, g.send(context.Background(), g.client, http.MethodPut, "/webhook/orders", "{}"),
		setAnswer{"method", 404, "gate", "text/plain; charset=utf-8", "Allow: POST"})
}

// What the gate sets for every webhook counts for one in mode pass too, as far as the
// gate itself answers there.
func TestAnswersOfThePassedAsTheGateSetsThem(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := newGate(t, n, config{
		gate:     "respond unauthenticated 403 `who?`",
		webhooks: "webhook chat {\nmode pass\nauth token header X-Token secret {env.SHOP_SECRET}\n}",
	})
	g.env = []string{secretEnv}
	g.start()
	wantSet(t, g.post("/webhook/chat", "{}"), setAnswer{"unauthenticated", 403, "who?", "text/plain; charset=utf-8", ""})
}
