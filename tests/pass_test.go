package tests

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// A webhook in mode pass streams: what n8n has written arrives before it has ended.
func TestPassedWebhooksStream(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhooks: "webhook chat {\nmode pass\n}"})
	hold := fake.NewHold(t, func(x *fake.Exchange) { x.Write("5\r\nworld\r\n0\r\n\r\n") })
	n.Next(fake.First("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n", hold.Behave))
	res, err := g.client.Post(g.url("/webhook/chat"), "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 6)
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "hello " {
		t.Fatalf("%q, %v before n8n went on", first, err)
	}
	hold.Release()
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != "world" || res.Header.Get("N8n-Gate-Decision") != "passed" {
		t.Fatalf("%q, %v, %v", rest, err, res.Header)
	}
}

// And it may be upgraded.
func TestPassedWebhooksAreUpgraded(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhooks: "webhook chat {\nmode pass\nmethods GET\n}"})
	n.Next(fake.First("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello", func(x *fake.Exchange) { x.AwaitHangUp() }))
	conn := g.dial()
	if _, err := fmt.Fprintf(conn, "GET /webhook/chat HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", g.port); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	hello := make([]byte, 5)
	if _, err := io.ReadFull(in, hello); err != nil || string(hello) != "hello" {
		t.Fatalf("%q, %v on the upgraded connection", hello, err)
	}
	_ = conn.Close()
}
