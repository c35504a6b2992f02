package tests

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// An odd body: n8n must get it to the byte, or a signature over it breaks.
const oddBody = " {\r\n\t\"id\" :\t\"evt_1\" , \"\\u0061\": \"\\/ü\u2028\", \"n\": 1.0e+2,\"big\":12345678901234567890 }\n\n"

func TestBodyArrivesToTheByte(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})

	t.Run("with a length", func(t *testing.T) {
		want(t, g.post("/webhook/orders", oddBody), http.StatusOK, "new")
		wantPlainTransfer(t, n.Last(), oddBody)
	})
	t.Run("in chunks", func(t *testing.T) {
		body := strings.Replace(oddBody, "evt_1", "evt_2", 1)
		var chunks strings.Builder
		for i := 0; i < len(body); i += 7 {
			c := body[i:min(i+7, len(body))]
			fmt.Fprintf(&chunks, "%x\r\n%s\r\n", len(c), c)
		}
		a := g.raw("POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
			"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\n" + chunks.String() + "0\r\nX-Sum: 1\r\n\r\n")
		want(t, a, http.StatusOK, "new")
		wantPlainTransfer(t, n.Last(), body)
	})
	t.Run("megabytes", func(t *testing.T) {
		body := `{"id": "evt_3", "blob": "` + strings.Repeat("0123456789", 800_000) + `"}`
		want(t, g.post("/webhook/orders", body), http.StatusOK, "new")
		wantPlainTransfer(t, n.Last(), body)
	})
}

func TestBinaryBodyArrivesToTheByte(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{key: "key header X-Event-Id"})
	body := "\x00\x01\xff\r\n--not json\x1f\x8b"
	a := g.post("/webhook/orders", body, "X-Event-Id: evt_1")
	want(t, a, http.StatusOK, "new")
	wantPlainTransfer(t, n.Last(), body)

	want(t, g.post("/webhook/orders", "", "X-Event-Id: evt_2"), http.StatusOK, "new")
	wantPlainTransfer(t, n.Last(), "")
}

func wantPlainTransfer(t *testing.T, r fake.Request, body string) {
	t.Helper()
	if string(r.Body) != body {
		t.Errorf("n8n got a body of %d bytes, %.200q; the sender sent %d, %.200q", len(r.Body), r.Body, len(body), body)
	}
	if got := r.Header.Get("Content-Length"); got != fmt.Sprint(len(body)) {
		t.Errorf("Content-Length is %q", got)
	}
	for _, name := range []string{"Transfer-Encoding", "Trailer", "Te"} {
		if lines := r.HeaderLines(name); len(lines) > 0 {
			t.Errorf("n8n got %q", lines)
		}
	}
}

func TestHeadersThatN8NGets(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})

	forged := []string{
		"N8n-Gate-Operation: forged", "N8n-Gate-Event-Key: forged", "N8n-Gate-Attempt: 99", "N8n-Gate-Token: forged",
		"N8n-Gate-Idempotency-Key: forged", "n8n-gate-something: forged", "N8N_GATE_TOKEN: forged",
	}
	a := g.post("/webhook/orders", event("evt:1 ü"), append([]string{
		"Origin: https://shop.example", "Accept-Encoding: br, gzip", "Expect: 100-continue",
		"X-Shop: one", "X-Shop: two", "Authorization: Bearer of-the-sender", "User-Agent: Shop/1.0",
		"Connection: X-Hop", "X-Hop: 1", "Keep-Alive: timeout=9", "Proxy-Authorization: Basic eA==",
	}, forged...)...)
	want(t, a, http.StatusOK, "new")

	r := n.Last()
	if strings.Contains(r.Head, "forged") {
		t.Errorf("n8n got what the sender forged:\n%s", r.Head)
	}
	for _, name := range []string{"Origin", "Accept-Encoding", "Expect", "X-Hop", "Keep-Alive", "Proxy-Authorization"} {
		if lines := r.HeaderLines(name); len(lines) > 0 {
			t.Errorf("n8n got %q", lines)
		}
	}
	for name, value := range map[string]string{
		"N8n-Gate-Operation": "create_order",
		"N8n-Gate-Event-Key": "evt%3A1%20%C3%BC",
		"N8n-Gate-Attempt":   "1",
		"Content-Type":       "application/json",
		"Authorization":      "Bearer of-the-sender",
		"User-Agent":         "Shop/1.0",
		"Connection":         "close",
		"Host":               fmt.Sprintf("127.0.0.1:%d", g.port),
	} {
		if got := r.Header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("n8n got %s %q, want %q", name, got, value)
		}
	}
	if got := r.Header.Values("X-Shop"); len(got) != 2 || got[0] != "one" || got[1] != "two" {
		t.Errorf("n8n got X-Shop %q", got)
	}
	token := r.Header.Values("N8n-Gate-Token")
	if len(token) != 1 {
		t.Fatalf("n8n got the tokens %q", token)
	}
	if bits, err := base64.RawURLEncoding.DecodeString(token[0]); err != nil || len(bits) != 16 {
		t.Errorf("the token %q is not 128 bits", token[0])
	}
	if got := r.Header.Get("X-Forwarded-For"); got != "127.0.0.1" {
		t.Errorf("X-Forwarded-For is %q", got)
	}
}

// The token belongs to an attempt, the idempotency key to the event.
func TestTokenAndIdempotencyKey(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Next(fake.DropAfterReading)
	g := startGate(t, n, config{})

	want(t, g.deliver("evt_1"), http.StatusBadGateway, "new")
	g.resolve("evt_1", "--retryable")
	want(t, g.deliver("evt_1"), http.StatusOK, "retry")
	want(t, g.deliver("evt_2"), http.StatusOK, "new")
	r := n.Requests()
	header := func(i int, name string) string { return r[i].Header.Get("N8n-Gate-" + name) }
	if header(0, "Attempt") != "1" || header(1, "Attempt") != "2" {
		t.Errorf("attempts %q and %q", header(0, "Attempt"), header(1, "Attempt"))
	}
	if header(0, "Token") == header(1, "Token") || header(1, "Token") == header(2, "Token") {
		t.Error("a token was used again")
	}
	if k := header(0, "Idempotency-Key"); k == "" || k != header(1, "Idempotency-Key") || k == header(2, "Idempotency-Key") {
		t.Errorf("idempotency keys %q, %q, %q", k, header(1, "Idempotency-Key"), header(2, "Idempotency-Key"))
	}
}

// n8n gets the path that the gate matched, and the query as it was sent.
func TestPathIsRebuiltAndQueryKept(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{key: "key header X-Event-Id", webhooks: "webhook shop/orders {\noperation shop_order\nauth none\nkey header X-Event-Id\n}"})
	for i, path := range []struct{ sent, arrives string }{
		{"/webhook/orders", "/webhook/orders"},
		{"/webhook/orders/", "/webhook/orders"},
		{"/WEBHOOK/orders", "/webhook/orders"},
		{"/WebHook/%6Frders/", "/webhook/orders"},
		{"/webhook/orders?", "/webhook/orders?"},
		{"/webhook/orders?a=%41&b=+&c&&d=%zz&e=ü", "/webhook/orders?a=%41&b=+&c&&d=%zz&e=ü"},
		{"/webhook/orders/?a=/x/../y", "/webhook/orders?a=/x/../y"},
		{"/webhook/shop/orders", "/webhook/shop/orders"},
	} {
		a := g.raw(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Event-Id: evt_%d\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", path.sent, g.port, i))
		if a.err != nil || a.status != http.StatusOK || a.decision() != "new" {
			t.Errorf("%s: the sender got %v", path.sent, a)
			continue
		}
		got := n.Last().Target
		if got != path.arrives && got+"?" != path.arrives {
			t.Errorf("%s arrived as %s, want %s", path.sent, got, path.arrives)
		}
	}
}

// What the gate answers itself is plain: no header of n8n, none of a former answer.
func TestHeadersThatTheSenderGets(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})

	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")
	for name, values := range first.header {
		if strings.HasPrefix(name, "N8n-Gate-") && name != "N8n-Gate-Decision" {
			t.Errorf("the sender got %s: %q", name, values)
		}
	}
	for _, name := range []string{"N8n-Gate-Token", "Keep-Alive"} {
		if first.header.Get(name) != "" {
			t.Errorf("the sender got %s", name)
		}
	}
	replay := g.deliver("evt_1")
	wantReplay(t, replay, first)
	if len(replay.header.Values("Date")) != 1 || len(replay.header.Values("N8n-Gate-Decision")) != 1 {
		t.Errorf("headers stand twice: %v", replay.header)
	}
	a := g.post("/webhook/orders", "{}")
	want(t, a, http.StatusUnprocessableEntity, "missing_key")
	wantProblem(t, a)
}

// A body that the workflow compressed is of no use without the header that says so.
func TestCompressedAnswerIsReplayed(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	n.Next(fake.Answer(http.StatusOK, "\x1f\x8bnot really gzip", "Content-Encoding: gzip", "Content-Type: application/json"))
	g := startGate(t, n, config{})
	ask := func() answer { return g.post("/webhook/orders", event("evt_1"), "Accept-Encoding: gzip") }
	first := ask()
	want(t, first, http.StatusOK, "new")
	replay := ask()
	wantReplay(t, replay, first)
	if got, want := replay.header.Get("Content-Encoding"), first.header.Get("Content-Encoding"); got != want {
		t.Errorf("the replay's Content-Encoding is %q, the first answer's was %q", got, want)
	}
}
