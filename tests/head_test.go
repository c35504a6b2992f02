package tests

import (
	"context"
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// An answer to HEAD says how long the body would be, as n8n said it: at once and
// replayed. Where n8n said nothing, nothing is said.
func TestAnswersToHEADKeepTheirLength(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{
		key: "key query id", webhook: "methods HEAD GET\nfingerprint off\nreceipt_header Etag",
	})
	send := func(method, id string) answer {
		t.Helper()
		return g.send(context.Background(), g.client, method, "/webhook/orders?id="+id, "")
	}
	for name, c := range map[string]struct {
		behaviour fake.Behaviour
		length    string
	}{
		"announced":    {fake.AnswerHead(200, "Content-Length: 1234", "Etag: x"), "1234"},
		"empty":        {fake.AnswerHead(200, "Content-Length: 0"), "0"},
		"unannounced":  {fake.AnswerHead(200, "Connection: close"), ""},
		"of no length": {fake.AnswerHead(204), ""},
	} {
		t.Run(name, func(t *testing.T) {
			n.Next(c.behaviour)
			for _, decision := range []string{"new", "replayed"} {
				a := send(http.MethodHead, slug(name))
				if a.decision() != decision || a.header.Get("Content-Length") != c.length || a.body != "" {
					t.Errorf("%s: got %v, want a length of %q", decision, a, c.length)
				}
			}
			wantActions(t, n, slug(name), 1)
			// There is no body for others.
			if a := send(http.MethodGet, slug(name)); a.err != nil || a.decision() != "replayed" || a.body != "" {
				t.Errorf("to GET: %v", a)
			}
		})
	}
	// What GET was answered has its own length, and so have the gate's own answers.
	n.Next(fake.Answer(200, "12345"))
	want(t, send(http.MethodGet, "evt_get"), http.StatusOK, "new")
	if a := send(http.MethodHead, "evt_get"); a.decision() != "replayed" || a.header.Get("Content-Length") != "5" || a.body != "" {
		t.Errorf("HEAD of what GET was answered: %v", a)
	}
	if a := send(http.MethodHead, ""); a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity || a.header.Get("Content-Length") == "0" {
		t.Errorf("a problem: %v", a)
	}
}
