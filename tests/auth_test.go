package tests

import (
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

const (
	secret    = "s3cret-of-the-shop"
	secretEnv = "SHOP_SECRET=" + secret
)

// startGuarded starts a gate whose webhook asks for a token.
func startGuarded(t *testing.T, n *fake.N8N, where string) *gate {
	t.Helper()
	g := newGate(t, n, config{auth: "auth token " + where + " secret {env.SHOP_SECRET}"})
	g.env = []string{secretEnv}
	g.start()
	return g
}

func TestTokenInAHeader(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGuarded(t, n, "header X-Token")

	first := g.post("/webhook/orders", event("evt_1"), "X-Token: "+secret)
	want(t, first, http.StatusOK, "new")
	for name, headers := range map[string][]string{
		"none":            {},
		"empty":           {"X-Token: "},
		"wrong":           {"X-Token: s3cret-of-the-shoq"},
		"a prefix":        {"X-Token: " + secret[:5]},
		"with more":       {"X-Token: " + secret + "x"},
		"other case":      {"X-Token: " + strings.ToUpper(secret)},
		"the placeholder": {"X-Token: {env.SHOP_SECRET}"},
		"right and wrong": {"X-Token: " + secret, "X-Token: wrong"},
		"wrong and right": {"X-Token: wrong", "X-Token: " + secret},
	} {
		// A forged request neither probes a record nor makes one.
		for _, body := range []string{event("evt_1"), event("evt_forged"), "not json", ""} {
			a := g.post("/webhook/orders", body, headers...)
			if a.status != http.StatusUnauthorized || a.decision() != "unauthenticated" {
				t.Errorf("%s, body %q: the sender got %v", name, body, a)
			}
		}
	}
	g.wantNoRecord("evt_forged")
	wantReplay(t, g.post("/webhook/orders", event("evt_1"), "X-Token: "+secret), first)
	if n.AllActions() != 1 || n.Connections() != 1 {
		t.Errorf("n8n acted %d times over %d connections", n.AllActions(), n.Connections())
	}
}

func TestTokenInTheQuery(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGuarded(t, n, "query token")

	want(t, g.post("/webhook/orders?shop=1&token="+secret, event("evt_1")), http.StatusOK, "new")
	for _, query := range []string{"", "?token=", "?token=wrong", "?Token=" + secret, "?x=1;token=" + secret, "?token=" + secret + "&token=wrong"} {
		want(t, g.post("/webhook/orders"+query, event("evt_2")), http.StatusUnauthorized, "unauthenticated")
	}
	g.wantNoRecord("evt_2")
	if n.AllActions() != 1 {
		t.Errorf("n8n acted %d times", n.AllActions())
	}
}

// The token is checked before the body is looked at, and before it is read:
// nobody fills the memory of a gate that does not know him. (Where the connection
// is to stay open, net/http itself reads on before it sends an answer.)
func TestStrangersAreRefusedFirst(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGuarded(t, n, "header X-Token")
	a := g.raw("POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n{")
	want(t, a, http.StatusUnauthorized, "unauthenticated")
}

func TestSecretsAreNeverEmptyOrWrittenOut(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	for name, c := range map[string]struct{ secret, env string }{
		"written out":         {"s3cret", ""},
		"empty":               {`""`, ""},
		"a variable unset":    {"{env.SHOP_SECRET}", ""},
		"a variable empty":    {"{env.SHOP_SECRET}", "SHOP_SECRET="},
		"a file not there":    {"{file./nowhere/secret}", ""},
		"of the request":      {"{http.request.header.X-Token}", ""},
		"a placeholder twice": {"{env.A}{env.B}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, n, config{auth: "auth token header X-Token secret " + c.secret})
			g.env = []string{or(c.env, "X=")}
			if err := g.tryStart(); err == nil {
				t.Error("the gate started")
			}
		})
	}
	t.Run("in a file", func(t *testing.T) {
		g := newGate(t, n, config{})
		path := g.dir + "/secret"
		writeFile(t, path, secret+"\n")
		g.config.auth = "auth token header X-Token secret {file." + path + "}"
		g.start()
		want(t, g.post("/webhook/orders", event("evt_1"), "X-Token: "+secret), http.StatusOK, "new")
		want(t, g.post("/webhook/orders", event("evt_1"), "X-Token: "), http.StatusUnauthorized, "unauthenticated")
	})
}
