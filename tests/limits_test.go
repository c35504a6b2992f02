package tests

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

func TestBodiesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "max_body 1KiB"})
	fits := `{"id": "evt_1", "x": "` + strings.Repeat("x", 1000) + `"}`
	if len(fits) != 1024 {
		t.Fatalf("the body is %d bytes", len(fits))
	}
	want(t, g.post("/webhook/orders", fits), http.StatusOK, "new")

	over := strings.Replace(fits, "evt_1", "evt_22", 1)
	a := g.post("/webhook/orders", over)
	want(t, a, http.StatusRequestEntityTooLarge, "too_large")
	wantProblem(t, a)
	a = g.raw(fmt.Sprintf("POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(over), over))
	want(t, a, http.StatusRequestEntityTooLarge, "too_large")
	g.wantNoRecord("evt_22")
	if n.AllActions() != 1 {
		t.Errorf("%d actions", n.AllActions())
	}
}

// An upload that breaks off is no delivery.
func TestUploadThatBreaksOff(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{key: "key header X-Event-Id"})
	for _, transfer := range []string{"Content-Length: 100", "Transfer-Encoding: chunked"} {
		body := `{"id": "evt_1"}`
		if strings.Contains(transfer, "chunked") {
			body = "f\r\n" + body + "\r\n"
		}
		c := g.dial()
		if _, err := io.WriteString(c, "POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Event-Id: evt_1\r\n"+transfer+"\r\n\r\n"+body); err != nil {
			t.Fatal(err)
		}
		// Close only our half, to hear when the gate is done with it.
		if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			if a := read(res); a.status < 400 || a.status >= 500 {
				t.Errorf("%s: the sender got %v", transfer, a)
			}
		}
		c.Close()
	}
	g.wantNoRecord("evt_1")
	if n.Connections() != 0 {
		t.Error("half a body was forwarded")
	}
}

func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Usually(hold.Behave)
	g := startGate(t, n, config{webhook: "max_in_flight 2\nin_flight reject"})
	first, second := g.later("evt_1"), g.later("evt_2")
	hold.Await()
	hold.Await()
	wantTransient(t, g.deliver("evt_3"), "overloaded")
	g.wantNoRecord("evt_3")
	wantTransient(t, g.deliver("evt_1"), "in_flight") // this one needs no forward
	hold.Release()
	want(t, got(t, first), http.StatusOK, "new")
	want(t, got(t, second), http.StatusOK, "new")
	want(t, g.deliver("evt_3"), http.StatusOK, "new")
	want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
}

// A waiter whose patience ends is told to come again; the attempt goes on.
func TestWaiterGivesUp(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Usually(hold.Behave)
	g := startGate(t, n, config{webhook: "in_flight wait 200ms"})
	first := g.later("evt_1")
	hold.Await()
	wantTransient(t, g.deliver("evt_1"), "in_flight")
	hold.Release()
	want(t, got(t, first), http.StatusOK, "new")
	wantActions(t, n, "evt_1", 1)
}

// Waiters are answered from what became of the record.
func TestWaitersOfAnAttemptThatFails(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, func(x *fake.Exchange) { x.Reset() })
	n.Usually(hold.Behave)
	g := startGate(t, n, config{webhook: "in_flight wait 60s"})
	first := g.later("evt_1")
	hold.Await()
	waiter := g.later("evt_1")
	hold.Release()
	want(t, got(t, first), http.StatusBadGateway, "new")
	wantTransient(t, got(t, waiter), "manual_review")
	wantActions(t, n, "evt_1", 1)
}
