package tests

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/signature"
	"github.com/n8n-gate/n8n-gate/signature/signaturetest"
	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// An example's time has long passed: here only what was signed counts.
const anyTime = "1000000h"

// Whatever of the published examples HTTP can carry to a webhook gives the published
// result at a running gate, and with a byte changed it leaves no record.
func TestVectors(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := newGate(t, n, config{gate: "retention 1h\nmax_body 2MiB"})
	var carried []signaturetest.Vector
	for _, v := range signaturetest.All() {
		if !carries(v) {
			continue
		}
		block := authOf(v.Config())
		for i, secret := range v.Secrets() {
			name := fmt.Sprintf("VECTOR_%d_%d", len(carried), i)
			g.env = append(g.env, name+"="+secret)
			block += " {env." + name + "}"
		}
		// What names the event is no part of these examples.
		g.config.webhooks += fmt.Sprintf("webhook v%d {\n%s\nkey header X-Event\n}\n", len(carried), block)
		carried = append(carried, v)
	}
	if len(carried) < 50 {
		t.Fatalf("only %d examples", len(carried))
	}
	g.start()
	for i, v := range carried {
		t.Run(v.ID, func(t *testing.T) {
			g := g.in(t)
			operation := fmt.Sprintf("v%d", i)
			request, body := v.Request()
			a := g.carry(request, operation, body)
			if !valid(t, v) {
				want(t, a, http.StatusUnauthorized, "unauthenticated")
				g.wantRecords(operation, 0)
				return
			}
			want(t, a, http.StatusOK, "new")
			for at := 0; at < len(body); at += 1 + len(body)/8 {
				changed := bytes.Clone(body)
				changed[at] ^= 1
				if strings.HasPrefix(v.Scheme, "adyen-item") {
					break // of the body some members are signed, and not the rest
				}
				want(t, g.carry(request, operation, changed), http.StatusUnauthorized, "unauthenticated")
			}
			for name := range v.Headers {
				forged := request.Clone(request.Context())
				forged.Header.Del(name)
				if a := g.carry(forged, operation, body); a.decision() != "unauthenticated" && needed(name) {
					t.Errorf("without %s: %v", name, a)
				}
			}
			g.wantRecords(operation, 1)
		})
	}
}

// carries: the URL stands below a webhook's, and auth has words for it.
func carries(v signaturetest.Vector) bool {
	return v.URL == "" && v.Config().Kind != signature.KindTwilio
}

// valid is the published result, but for the time.
func valid(t *testing.T, v signaturetest.Vector) bool {
	t.Helper()
	c := v.Config()
	if v.Now != "" {
		c.Tolerance = 1_000_000 * time.Hour
	}
	check, err := c.Verifier(v.Secrets(), v.World())
	if err != nil {
		t.Fatal(err)
	}
	request, body := v.Request()
	ignoringTime := check.Verify(request, body) == nil
	if v.Valid && !ignoringTime {
		t.Fatal("the published example is refused")
	}
	return ignoringTime
}

// needed: without this header a delivery is refused. Box signs with two secrets, either of
// which will do.
func needed(name string) bool {
	switch strings.ToLower(name) {
	case "box-delivery-id", "box-signature-primary", "box-signature-secondary", "x-hubspot-signature-version":
		return false
	}
	return true
}

// carry sends an example to a webhook of its own.
func (g *gate) carry(example *http.Request, webhook string, body []byte) answer {
	g.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), example.Method, g.url("/webhook/"+webhook), bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	request.Header = example.Header.Clone()
	request.Header.Set("X-Event", "evt_1")
	response, err := g.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	return read(response)
}

func (g *gate) wantRecords(operation string, n int) {
	g.t.Helper()
	if got := len(g.list(map[string]string{"operation": operation})); got != n {
		g.t.Errorf("%d records, want %d", got, n)
	}
}

// authOf writes a proof as a user would in a Caddyfile; the secrets come last.
func authOf(c signature.Config) string {
	line := "auth " + c.Kind
	word := func(name string, values ...string) {
		if values[0] != "" {
			line += " " + name
			for _, value := range values {
				line += " `" + value + "`"
			}
		}
	}
	line += " " + c.Hash + " " + c.Encoding
	word("header", append([]string{c.Header}, c.Also...)...)
	word("field", c.Field)
	word("prefix", c.Prefix)
	word("version", c.Version)
	word("sign", c.Sign)
	word("id", c.ID)
	word("key", c.Key)
	place := "header"
	switch {
	case c.Timestamp.Item != "":
		place = "item"
	case c.Timestamp.Field != "":
		place = "field"
	}
	if name := c.Timestamp.Header + c.Timestamp.Item + c.Timestamp.Field; name != "" {
		line += " timestamp " + place + " " + name + " " + c.Timestamp.Unit
	}
	if c.Timestamp != (signature.Timestamp{}) || c.Kind == signature.KindStandard {
		line += " tolerance " + anyTime
	}
	return line + requires(c) + " secret"
}

func requires(c signature.Config) string {
	line := ""
	for name, value := range c.Require {
		line += " require " + name + " " + value
	}
	return line
}
