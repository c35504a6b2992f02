package tests

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// workflowAnswer is an answer of a workflow, and what of it is to be replayed.
type workflowAnswer struct {
	name    string
	path    string // of the webhook; default orders
	status  int
	headers []string // "Name: value": the ones that a receipt keeps
	body    string
	dropped bool // the body is too long for a receipt
}

// In the webhook "keeps" a receipt may have 1 MiB, and X-Id is kept.
const keeps = "/webhook/keeps"

var workflowAnswers = []workflowAnswer{
	{name: "JSON", status: 200, headers: []string{"Content-Type: application/json; charset=utf-8"}, body: ` {"a":  "\u00e4ü", "b": 1.0e2}` + "\r\n"},
	{name: "XML", status: 201, headers: []string{"Content-Type: text/xml"}, body: `<?xml version="1.0"?><Response/>` + "\n"},
	{name: "empty", status: 200},
	{name: "empty with a type", status: 200, headers: []string{"Content-Type: application/json"}},
	{name: "binary", status: 200, headers: []string{"Content-Type: application/octet-stream"}, body: "\x00\x01\xff\r\n\r\n\x00<html>\x1f\x8b\x00"},
	{name: "without a type", status: 200, body: "<html>\x00 no type"},
	{name: "compressed", status: 200, headers: []string{"Content-Type: text/plain", "Content-Encoding: gzip"}, body: zipped("0123456789")},
	{name: "64 KiB", status: 200, headers: []string{"Content-Type: text/plain"}, body: strings.Repeat("0123456789abcde\n", 4<<10)},
	{name: "over 64 KiB", status: 202, headers: []string{"Content-Type: text/plain", "Location: /rows/1"}, body: strings.Repeat("0123456789abcde\n", 4<<10) + "x", dropped: true},
	{name: "204", status: 204},
	{name: "307", status: 307, headers: []string{"Location: /webhook/orders?again=%C3%A4#x"}},
	{name: "303 with a body", status: 303, headers: []string{"Location: https://elsewhere.example/", "Content-Type: text/html; charset=utf-8"}, body: "<a href=x>see other</a>"},
	{name: "404 of the workflow", status: 404, headers: []string{"Content-Type: application/json"}, body: `{"no":"such order"}`},
	{name: "with X-Id", path: keeps, status: 200, headers: []string{"Content-Type: application/json", "X-Id: inv_1", "X-Id: inv_2"}, body: `{}`},
	{name: "1 MiB", path: keeps, status: 200, headers: []string{"Content-Type: text/plain", "X-Id: inv_3"}, body: strings.Repeat("0123456789abcde\x00", 64<<10)},
	{name: "over 1 MiB", path: keeps, status: 200, headers: []string{"Content-Type: text/plain", "X-Id: inv_4"}, body: strings.Repeat("0123456789abcde\x00", 64<<10) + "x", dropped: true},
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

const dateOfN8N = "Mon, 01 Jan 2001 01:01:01 GMT"

// once are headers that belong to one answer and to none of its replays.
var once = []string{
	"Set-Cookie: session=1; Path=/", "Date: " + dateOfN8N, "Via: 1.1 elsewhere", "Vary: Accept-Encoding", "Etag: \"1\"",
	"X-Other: not asked for", "N8n-Gate-Token: forged", "Idempotent-Replayed: false", "Keep-Alive: timeout=5", "Connection: close",
}

// behave is the answer on the wire, to the byte.
func (w workflowAnswer) behave(x *fake.Exchange) {
	if x.Act() == 0 {
		return
	}
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Security-Policy: %s\r\n", w.status, http.StatusText(w.status), n8n.SandboxCSP)
	for _, h := range slices.Concat(w.headers, once) {
		head += h + "\r\n"
	}
	if w.status != http.StatusNoContent {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(w.body))
	}
	x.Write(head + "\r\n" + w.body)
	x.Drop()
}

func (w workflowAnswer) deliver(g *gate) answer {
	g.t.Helper()
	// What is asked for is not decoded on the way.
	return g.post(or(w.path, "/webhook/orders"), event(slug(w.name)), "Accept-Encoding: identity")
}

// replay is the header list of a replay, but Date.
func (w workflowAnswer) replay() http.Header {
	h := http.Header{
		"Content-Security-Policy": {n8n.SandboxCSP}, "Content-Length": {fmt.Sprint(len(w.body))}, "Server": {"Caddy"},
		"N8n-Gate-Decision": {"replayed"}, "Idempotent-Replayed": {"true"},
	}
	for _, line := range w.headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	if w.dropped {
		h.Set("Content-Length", "0")
		h.Set("N8n-Gate-Body", "dropped")
	}
	if w.status == http.StatusNoContent {
		h.Del("Content-Length")
	}
	return h
}

func (w workflowAnswer) wantReplay(t *testing.T, a answer) {
	t.Helper()
	want(t, a, w.status, "replayed")
	body := w.body
	if w.dropped {
		body = ""
	}
	if a.body != body {
		t.Errorf("the replay has %d bytes, %.100q; n8n had answered %d, %.100q", len(a.body), a.body, len(body), body)
	}
	if date := a.header["Date"]; len(date) != 1 || date[0] == dateOfN8N {
		t.Errorf("the replay's Date is %q", date)
	}
	list := maps.Clone(a.header)
	list.Del("Date")
	if want := w.replay(); !maps.EqualFunc(list, want, slices.Equal) {
		t.Errorf("the replay's headers are\n%v, want\n%v", list, want)
	}
}

// A replay has the status, the header list and the body of what n8n answered, to the
// byte: while n8n is there, while it is not, and in every later life of the gate.
func TestReplaysAreEqualToTheByte(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	c := config{webhooks: "webhook keeps {\nauth none\nkey json id\nreceipt_header X-Id\nreceipt_body 1MiB\n}"}
	g := startGate(t, n, c)
	each := func(when string, do func(*testing.T, *gate, workflowAnswer)) {
		for _, w := range workflowAnswers {
			t.Run(when+"/"+w.name, func(t *testing.T) { do(t, g.in(t), w) })
		}
	}
	replayed := func(t *testing.T, g *gate, w workflowAnswer) { w.wantReplay(t, w.deliver(g)) }

	each("first", func(t *testing.T, g *gate, w workflowAnswer) {
		n.Next(w.behave)
		first := w.deliver(g)
		want(t, first, w.status, "new")
		if first.body != w.body {
			t.Errorf("n8n's %d bytes came as %d", len(w.body), len(first.body))
		}
		kept := w.replay()
		for _, name := range []string{"Content-Type", "Content-Encoding", "Location", "X-Id", "Content-Security-Policy"} {
			if !slices.Equal(first.header[name], kept[name]) {
				t.Errorf("%s came as %q, n8n had sent %q", name, first.header[name], kept[name])
			}
		}
		for name, value := range map[string]string{"Set-Cookie": "session=1; Path=/", "X-Other": "not asked for", "N8n-Gate-Token": "", "Idempotent-Replayed": ""} {
			if got := first.header.Get(name); got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
	})
	each("at once", replayed)
	n.Close()
	each("while n8n is down", replayed)
	g.kill()
	g.start()
	each("after a restart", replayed)
	n.Open()
	c.webhook = "timeout 80s"
	g.reload(c)
	g.client.CloseIdleConnections() // the old server's
	each("after a reload", replayed)
	if n.AllActions() != len(workflowAnswers) {
		t.Errorf("n8n acted %d times on %d events", n.AllActions(), len(workflowAnswers))
	}
}

// What a receipt cannot keep is refused when the configuration is loaded.
func TestReceiptHeadersThatBelongToOneAnswer(t *testing.T) {
	t.Parallel()
	g := startGate(t, fake.Start(t), config{})
	for _, name := range []string{"Set-Cookie", "set-cookie", "Date", "Via", "Connection", "Transfer-Encoding", "Content-Length", "N8n-Gate-Token"} {
		message, ok := g.load(config{webhook: "receipt_header X-Id " + name})
		if ok || !strings.Contains(message, "receipt_header") {
			t.Errorf("receipt_header %s: ok is %v, the message %q", name, ok, message)
		}
	}
}
