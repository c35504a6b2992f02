package fake

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/n8n"
)

// Work is a workflow that acts and answers with what it did. Every action has
// an answer of its own, so that two actions can never look like one.
func Work(x *Exchange) {
	if number := x.Act(); number > 0 {
		x.answer(http.StatusOK, Done(x.Request.Key, number), sandboxed)
	}
}

// WorkAndLeave is Work that promises to keep the connection, and closes it.
func WorkAndLeave(x *Exchange) {
	Work(x)
	x.Drop()
}

// Done is the body with which Work answers.
func Done(key string, number int) string {
	return fmt.Sprintf(`{"done": %q,  "action": %d}`, key, number)
}

// Answer acts, and the workflow answers so. headers are "Name: value".
func Answer(status int, body string, headers ...string) Behaviour {
	return func(x *Exchange) {
		if x.Act() > 0 {
			x.answer(status, body, append([]string{sandboxed}, headers...)...)
		}
	}
}

// AnswerHead acts and answers HEAD: what headers say, and no body.
func AnswerHead(status int, headers ...string) Behaviour {
	return func(x *Exchange) {
		if x.Act() > 0 {
			x.Write(x.head(status, append([]string{sandboxed}, headers...)...))
		}
	}
}

// AnswerBare is Answer without n8n's sandbox CSP: something else than the
// workflow speaks. It counts as an action, because n8n may have acted.
func AnswerBare(status int, body string, headers ...string) Behaviour {
	return func(x *Exchange) {
		if x.Act() > 0 {
			x.answer(status, body, headers...)
		}
	}
}

// AnswerChunked acts and answers in chunks, without a Content-Length.
func AnswerChunked(status int, chunks ...string) Behaviour {
	return func(x *Exchange) {
		if x.Act() == 0 {
			return
		}
		x.Write(x.head(status, sandboxed, "Content-Type: application/json; charset=utf-8", "Transfer-Encoding: chunked"))
		for _, c := range chunks {
			x.Write(fmt.Sprintf("%x\r\n%s\r\n", len(c), c))
		}
		x.Write("0\r\n\r\n")
	}
}

// First writes raw bytes, for example a 103, before it goes on.
func First(raw string, then Behaviour) Behaviour {
	return func(x *Exchange) {
		if x.Act() > 0 {
			x.Write(raw)
			then(x)
		}
	}
}

// After acts at once and answers d later: the workflow takes that long.
func After(d time.Duration, then Behaviour) Behaviour {
	return func(x *Exchange) {
		if x.Act() == 0 {
			return
		}
		select {
		case <-time.After(d):
			then(x)
		case <-x.n.stopped:
			x.Drop()
		}
	}
}

// Hang acts and never answers.
func Hang(x *Exchange) {
	if x.Act() > 0 {
		x.AwaitHangUp()
	}
}

// Stall acts, answers the head and half of the body, and then nothing more.
func Stall(x *Exchange) {
	if x.Act() > 0 {
		x.Write(x.head(http.StatusOK, sandboxed, "Content-Length: 100") + `{"half":`)
		x.AwaitHangUp()
	}
}

// Switch acts and answers that it speaks another protocol now.
func Switch(x *Exchange) {
	if x.Act() > 0 {
		x.Write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		x.AwaitHangUp()
	}
}

// ResetBeforeReading resets the connection when the first byte comes.
func ResetBeforeReading(x *Exchange) { x.Reset() }

// ResetAfterHead resets the connection between the request's head and its body.
func ResetAfterHead(x *Exchange) {
	if x.ReceiveHead() {
		x.Reset()
	}
}

// ResetAfterReading acts and resets the connection without an answer.
func ResetAfterReading(x *Exchange) {
	if x.Act() > 0 {
		x.Reset()
	}
}

// DropAfterReading acts and closes the connection without an answer.
func DropAfterReading(x *Exchange) {
	if x.Act() > 0 {
		x.Drop()
	}
}

// CutHead acts and closes the connection within the answer's head.
func CutHead(x *Exchange) {
	if x.Act() > 0 {
		x.Write("HTTP/1.1 200 OK\r\nContent-Ty")
		x.Drop()
	}
}

// CutBody acts and closes the connection within a body of announced length.
func CutBody(x *Exchange) {
	if x.Act() > 0 {
		x.Write(x.head(http.StatusOK, sandboxed, "Content-Type: application/json", "Content-Length: 100") + `{"half":`)
		x.Drop()
	}
}

// CutChunks acts and closes the connection before the last chunk.
func CutChunks(x *Exchange) {
	if x.Act() > 0 {
		x.Write(x.head(http.StatusOK, sandboxed, "Content-Type: application/json", "Transfer-Encoding: chunked") + "8\r\n{\"half\":\r\n")
		x.Drop()
	}
}

// Nonsense acts and answers with something that is not HTTP.
func Nonsense(x *Exchange) {
	if x.Act() > 0 {
		x.Write("SSH-2.0-OpenSSH_9.9\r\n\r\n")
		x.Drop()
	}
}

// Hold is an action whose answer waits until the test lets it go.
type Hold struct {
	t        testing.TB
	then     Behaviour
	arrived  chan struct{}
	released chan struct{}
	once     sync.Once
}

// NewHold makes a Hold that answers as then does.
func NewHold(t testing.TB, then Behaviour) *Hold {
	return &Hold{t: t, then: then, arrived: make(chan struct{}, 1024), released: make(chan struct{})}
}

// Behave acts at once, says that it did, and answers when it is let go.
func (h *Hold) Behave(x *Exchange) {
	if x.Act() > 0 && h.Arrive(x) {
		h.then(x)
	}
}

// Arrive says that a request is there, and returns when it is let go; false: at the end
// of the test.
func (h *Hold) Arrive(x *Exchange) bool {
	h.arrived <- struct{}{}
	select {
	case <-h.released:
		return true
	case <-x.n.stopped:
		x.Drop()
		return false
	}
}

// Await returns when one more request has arrived and was acted on.
func (h *Hold) Await() {
	h.t.Helper()
	select {
	case <-h.arrived:
	case <-time.After(Patience):
		h.t.Fatal("no request arrived at n8n")
	}
}

// Release lets every answer go.
func (h *Hold) Release() { h.once.Do(func() { close(h.released) }) }

// sandboxed is the header that n8n sets on every answer of a workflow.
const sandboxed = "Content-Security-Policy: " + n8n.SandboxCSP

// answer sends a response as n8n does: JSON unless said otherwise.
func (x *Exchange) answer(status int, body string, headers ...string) {
	if !hasHeader(headers, "Content-Type") && body != "" {
		headers = append(headers, "Content-Type: application/json; charset=utf-8")
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		headers = append(headers, fmt.Sprintf("Content-Length: %d", len(body)))
	}
	x.Write(x.head(status, headers...) + body)
}

func (x *Exchange) head(status int, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	b.WriteString("Vary: Accept-Encoding\r\nDate: " + time.Now().UTC().Format(http.TimeFormat) + "\r\n")
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if x.Request.Header.Get("Connection") == "close" {
		b.WriteString("Connection: close\r\n")
	} else {
		b.WriteString("Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n")
	}
	return b.String() + "\r\n"
}

func hasHeader(headers []string, name string) bool {
	for _, h := range headers {
		if n, _, _ := strings.Cut(h, ":"); strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// NotRegistered answers, before any execution, that no workflow has this webhook, as
// n8n 2.40.7 does: without its mark, and without an action.
func NotRegistered(x *Exchange) {
	if !x.Receive() {
		return
	}
	path := strings.TrimPrefix(x.Request.Target, "/webhook/")
	x.answer(http.StatusNotFound, fmt.Sprintf(`{"code":404,"message":"The requested webhook \"%s %s\" is not registered.","hint":%q}`,
		x.Request.Method, path, "The workflow must be active for a production URL to run successfully. You can activate the workflow using the toggle in the top-right of the editor. "+
			"Note that unlike test URL calls, production URL calls aren't shown on the canvas (only in the executions list)"))
}

// Trigger is a trigger node that knows its sender by a secret in a header, and lets
// others no further, as n8n-nodes-base 2.40.2 does: without n8n's mark or an action.
func Trigger(header, secret string, then Behaviour) Behaviour {
	return func(x *Exchange) {
		switch {
		case !x.Receive():
		case x.Request.Header.Get(header) != secret:
			x.answer(http.StatusUnauthorized, "Unauthorized", "Content-Type: text/html; charset=utf-8")
		default:
			then(x)
		}
	}
}

// Filtered answers for a node that gave no output: no execution began.
func Filtered(x *Exchange) {
	if x.Receive() {
		x.answer(http.StatusOK, `{"message":"Webhook call received"}`)
	}
}

// Relays acts and answers with n8n's own words, marked as a workflow's: it acted, and
// then met such an answer elsewhere.
func Relays(x *Exchange) {
	if x.Act() > 0 {
		x.answer(http.StatusNotFound, `{"code":404,"message":"The requested webhook \"POST orders\" is not registered."}`, sandboxed)
	}
}
