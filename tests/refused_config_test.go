package tests

import (
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// What a configuration may not say: a running gate refuses it, says why, and
// goes on with the one that it has.
func TestConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	refuse := func(name string, c config, message string) {
		t.Helper()
		if got, ok := g.load(c); ok || !strings.Contains(got, message) {
			t.Errorf("%s: taken is %v, and the message %q; want it to say %q", name, ok, got, message)
		}
	}

	// Words of later versions are never ignored.
	for _, line := range []string{
		"mode observe",
		"confirm receipt 10m", "confirm response",
		"execution_id header X-Id", "batch items", "batch_forward new", "batch_max 10",
		"owner shop-team",
	} {
		refuse("webhook: "+line, config{webhook: line}, "not built yet")
		refuse("gate: "+line, config{gate: line}, "not built yet")
	}
	refuse("missing_key review", config{webhook: "missing_key review"}, "not built yet")
	for _, line := range []string{"notify https://example.com {\nsecret {env.X}\n}"} {
		refuse("global: "+line, config{app: line}, "not built yet")
	}

	// What makes no sense, or would make every event one.
	for line, message := range map[string]string{
		"no_such_word":                       "no_such_word",
		"timeout":                            "",
		"timeout 5s 6s":                      "",
		"timeout -1s":                        "timeout",
		"timeout 5s\ntimeout 6s":             "timeout",
		"max_body 0":                         "max_body",
		"max_body lots":                      "max_body",
		"max_attempts 0x":                    "max_attempts",
		"max_in_flight -1":                   "max_in_flight",
		"in_flight":                          "in_flight",
		"in_flight wait":                     "in_flight",
		"in_flight hope":                     "in_flight",
		"log_key always":                     "log_key",
		"missing_key invent":                 "missing_key",
		"retention soon":                     "retention",
		"auth token header X-T secret plain": "",
	} {
		refuse(line, config{webhook: line}, message)
	}
	for _, key := range []string{`json "items.#.id"`, "json a|b", "json @this", `json "!\"x\""`, "json a.*", "json a..b", "json {id}", "json [id]", `json ""`, "json", "header", "cookie id",
		strings.Repeat("json id\nkey ", 8) + "json id"} {
		refuse("key "+key, config{key: "key " + key}, "")
	}
	for name, c := range map[string]config{
		"fingerprint off":  {auth: "auth upstream", webhook: "fingerprint off"},
		"fingerprint flag": {auth: "auth upstream", webhook: "fingerprint flag"},
		"8 parts":          {auth: "auth upstream", key: strings.Repeat("key json id\n", 7) + "key json other"},
		"shared":           {auth: "auth upstream", webhooks: "webhook other {\nauth none\nkey json id\noperation create_order\n}"},
	} {
		refuse("auth upstream, "+name, c, "auth upstream")
	}
	refuse("handshake without a provider", config{webhook: "handshake pass"}, "handshake")
	refuse("no key", config{key: "# none"}, "key")
	refuse("no authentication", config{auth: "# none"}, "auth")
	refuse("two operations alike", config{webhooks: "webhook a {\nauth none\nkey json id\n}\nwebhook A/../a {\nauth none\nkey json id\noperation a\n}"}, "")
	refuse("one webhook twice", config{webhooks: "webhook orders {\noperation again\nauth none\nkey json id\n}"}, "")

	// What could send a delivery twice, change where it goes, or hide what n8n said.
	for _, line := range []string{
		"lb_retries 3\nlb_retry_match method POST", "handle_response {\nrespond 200\n}", "@a status 5xx\nreplace_status @a 200", "rewrite /elsewhere", "method GET",
		"header_up N8n-Gate-Token x", "header_down -Content-Security-Policy", "header_down Content-Type text/plain",
		"transport http {\nversions 2\n}", "transport http {\nversions h2c\n}", "transport fastcgi", "transport http {\nkeepalive 2m\n}", "to {http.request.host}:80",
	} {
		refuse("forward: "+line, config{forward: line}, "")
	}

	want(t, g.insist("evt_1"), http.StatusOK, "new")
	want(t, g.insist("evt_1"), http.StatusOK, "replayed")
	wantActions(t, n, "evt_1", 1)
}
