package tests

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// answer is what a sender got. err stands alone: the connection broke.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (a answer) decision() string { return a.header.Get("N8n-Gate-Decision") }

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	body := a.body
	if len(body) > 300 {
		body = fmt.Sprintf("%s… (%d bytes)", body[:300], len(body))
	}
	return fmt.Sprintf("%d %s %v %s", a.status, a.decision(), a.header, body)
}

// newClient is a sender with HTTP/1.1 connections that it uses again.
func newClient(t *testing.T) *http.Client {
	return clientOf(t, &http.Transport{MaxIdleConnsPerHost: 256})
}

// newH2Client is a sender that speaks HTTP/2 over TLS and nothing else.
func newH2Client(t *testing.T) *http.Client {
	var h2 http.Protocols
	h2.SetHTTP2(true)
	return clientOf(t, &http.Transport{
		Protocols: &h2,
		// The authority that signed the certificate was made for this test.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // loopback
	})
}

// newH2CClient speaks HTTP/2 without TLS.
func newH2CClient(t *testing.T) *http.Client {
	var h2 http.Protocols
	h2.SetUnencryptedHTTP2(true)
	return clientOf(t, &http.Transport{Protocols: &h2})
}

func clientOf(t *testing.T, tr *http.Transport) *http.Client {
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		Timeout:       2 * fake.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// event is the body of the event with that id.
func event(id string) string { return fmt.Sprintf(`{"id": %q, "amount": 12}`, id) }

// deliver delivers the event with that id to webhook orders.
func (g *gate) deliver(id string) answer {
	g.t.Helper()
	return g.post("/webhook/orders", event(id))
}

// post delivers a JSON body. headers are "Name: value".
func (g *gate) post(path, body string, headers ...string) answer {
	g.t.Helper()
	return g.send(context.Background(), g.client, http.MethodPost, path, body, headers...)
}

func (g *gate) send(ctx context.Context, c *http.Client, method, path, body string, headers ...string) answer {
	g.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, g.url(path), strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	res, err := c.Do(req)
	if err != nil {
		return answer{err: err}
	}
	return read(res)
}

func read(res *http.Response) answer {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body), err}
}

// later delivers in the background.
func (g *gate) later(id string) <-chan answer {
	answers := make(chan answer, 1)
	go func() { answers <- g.deliver(id) }()
	return answers
}

// got waits for an answer in the background.
func got(t *testing.T, answers <-chan answer) answer {
	t.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(2 * fake.Patience):
		t.Fatal("the sender got no answer")
		return answer{}
	}
}

// raw sends the request as it is written and reads one answer.
func (g *gate) raw(request string) answer {
	g.t.Helper()
	c := g.dial()
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		return answer{err: err}
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return answer{err: err}
	}
	return read(res)
}

func (g *gate) dial() net.Conn {
	g.t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", g.port))
	if err != nil {
		g.t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(fake.Patience)); err != nil {
		g.t.Fatal(err)
	}
	return c
}

// want checks status and decision.
func want(t *testing.T, a answer, status int, decision string) {
	t.Helper()
	if a.err != nil || a.status != status || a.decision() != decision {
		t.Fatalf("the sender got %v, want %d %s", a, status, decision)
	}
}

// wantTransient checks an answer after which its sender tries again.
func wantTransient(t *testing.T, a answer, decision string) {
	t.Helper()
	want(t, a, http.StatusServiceUnavailable, decision)
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || after < 1 || after > 55 {
		t.Fatalf("Retry-After is %q, want 1 to 55", a.header.Get("Retry-After"))
	}
	wantProblem(t, a)
}

// wantProblem checks an error that the gate answers itself.
func wantProblem(t *testing.T, a answer) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("an error is answered as %q: %v", got, a)
	}
}

// wantReplay checks an answer that repeats first without n8n.
func wantReplay(t *testing.T, a, first answer) {
	t.Helper()
	want(t, a, first.status, "replayed")
	if a.body != first.body {
		t.Fatalf("the replay's body is %q, the first answer's was %q", a.body, first.body)
	}
	for _, name := range []string{"Content-Type", "Location"} {
		if got, want := a.header.Get(name), first.header.Get(name); got != want {
			t.Fatalf("the replay's %s is %q, the first answer's was %q", name, got, want)
		}
	}
	if got := a.header.Get("Idempotent-Replayed"); got != "true" {
		t.Fatalf("Idempotent-Replayed is %q", got)
	}
}

// wantActions checks n8n's own count.
func wantActions(t *testing.T, n *fake.N8N, key string, want int) {
	t.Helper()
	if got := n.Actions(key); got != want {
		t.Fatalf("the action for %q was carried out %d times, want %d", key, got, want)
	}
}
