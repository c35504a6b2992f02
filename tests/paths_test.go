package tests

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// pathSender sends request lines to the letter over one connection, or a new one
// where the gate closed it.
type pathSender struct {
	g    *gate
	conn net.Conn
	r    *bufio.Reader
}

func (s *pathSender) close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

func (s *pathSender) send(method, target, body string) answer {
	s.g.t.Helper()
	if s.conn == nil {
		s.conn = s.g.dial()
		s.r = bufio.NewReader(s.conn)
	}
	if err := s.conn.SetDeadline(time.Now().Add(fake.Patience)); err != nil {
		s.g.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, target, s.g.port, len(body), body); err != nil {
		s.g.t.Fatal(err)
	}
	res, err := http.ReadResponse(s.r, &http.Request{Method: method})
	if err != nil {
		s.close()
		return answer{err: err}
	}
	a := read(res)
	if res.Close || a.err != nil {
		s.close()
	}
	return a
}

// However a sender writes a path: what n8n would start as a production webhook
// reaches it through the gate or not at all, though a catch-all stands beside it.
func TestNoPathLeadsPastTheGate(t *testing.T) {
	t.Parallel()
	tricks := 2500
	if testing.Short() {
		tricks = 300
	}
	for _, rules := range []string{"other refuse", "other pass", "other pass\ntest_urls private"} {
		t.Run(rules, func(t *testing.T) {
			t.Parallel()
			// behind stands where the gate forwards to, beside where the catch-all does.
			behind, beside := fake.Start(t), fake.Start(t)
			beside.Usually(fake.AnswerBare(200, "beside"))
			g := startGate(t, behind, config{
				gate:     rules,
				webhooks: pathWebhooks,
				site:     "handle {\nreverse_proxy " + beside.Addr + "\n}",
			})
			s := pathSender{g: g}
			defer s.close()
			forwarded := map[string]string{} // by event key
			refused := 0
			for i, target := range pathTricks(tricks) {
				key := fmt.Sprintf("evt_%d", i)
				a := s.send("POST", target, event(key))
				switch {
				case a.err != nil:
					t.Fatalf("POST %q: %v", target, a.err)
				case a.decision() == "new" && a.status == http.StatusOK:
					forwarded[key] = target
				case a.decision() != "" && a.decision() != "passed":
					refused++
				}
				mount, path := n8nReads(asPassedOn(target))
				if mount == "/webhook/" && path != "" && a.decision() == "" && a.status != http.StatusBadRequest {
					t.Errorf("POST %q: n8n's webhook %q was answered without the gate: %v", target, path, a)
				}
			}
			arrived := map[string]int{}
			for _, r := range behind.Requests() {
				key := r.Key[strings.LastIndex(r.Key, ":")+1:] // behind what wildcards matched
				arrived[key]++
				sent, mine := forwarded[key]
				_, want := n8nReads(asPassedOn(sent))
				mount, path := n8nReads(r.Target)
				if !mine || r.Header.Get("N8n-Gate-Operation") == "" || mount != "/webhook/" || !n8nStarts(path) || path != want {
					t.Errorf("%q was forwarded as %q, for event %q of %q", sent, r.Target, r.Key, r.Header.Get("N8n-Gate-Operation"))
				}
			}
			for key, target := range forwarded {
				if arrived[key] != 1 {
					t.Errorf("POST %q was forwarded %d times", target, arrived[key])
				}
			}
			for _, r := range beside.Requests() {
				wantBeside(t, r.Target, strings.Contains(rules, "other pass"), strings.Contains(rules, "private"))
			}
			t.Logf("%d forwarded, %d refused, %d past the gate", len(forwarded), refused, len(beside.Requests()))
			if len(forwarded) < tricks/20 || refused < tricks/20 || len(beside.Requests()) < tricks/20 {
				t.Error("that is too few to say much")
			}
		})
	}
}

// wantBeside checks what went past the gate: nothing that n8n, or somebody on the
// way to it, takes for a gated webhook, not through n8n's side doors either; other
// webhooks and test webhooks only where they may pass, and only as n8n itself
// reads them.
func wantBeside(t *testing.T, target string, others, tests bool) {
	t.Helper()
	itself, _ := n8nReads(target)
	for _, reading := range append(carelessly(target), target) {
		mount, path := n8nReads(reading)
		switch {
		case path == "":
		case mount == "/webhook-test/" && tests && itself == mount:
		case mount == "/webhook/" && others && itself == mount && !n8nStarts(path):
		case mount == "/webhook/", mount == "/webhook-test/", n8nStarts(path):
			t.Errorf("%q went past the gate, and reads as %q, %q of %q", target, reading, path, mount)
			return
		}
	}
}
