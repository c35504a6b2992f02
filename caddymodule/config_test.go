package caddymodule

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/standard" // the matchers and handlers of the examples
)

var update = flag.Bool("update", false, "write what is adapted into the golden files")

const ruler = "----------\n"

func adapt(t *testing.T, caddyfile string) ([]byte, error) {
	t.Helper()
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddyfile), map[string]any{"filename": "Caddyfile"})
	return config, err
}

// load provisions and validates a configuration, as caddy validate does.
func load(t *testing.T, config []byte) error {
	t.Helper()
	var cfg caddy.Config
	if err := caddy.StrictUnmarshalJSON(config, &cfg); err != nil {
		t.Fatal(err)
	}
	return caddy.Validate(&cfg)
}

// TestAdapt holds every golden file: a Caddyfile, and the JSON or the error that
// it must become.
func TestAdapt(t *testing.T) {
	files, err := filepath.Glob("testdata/adapt/*.caddyfiletest")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".caddyfiletest"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, want, _ := strings.Cut(string(content), ruler)
			config, err := adapt(t, in)
			var got bytes.Buffer
			if err != nil {
				got.WriteString("error: " + err.Error())
			} else if err := json.Indent(&got, config, "", "\t"); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			if *update {
				if err := os.WriteFile(file, []byte(in+ruler+got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != want {
				t.Errorf("got\n%swant\n%s", got.String(), want)
			}
		})
	}
}

// site is a Caddyfile with one gate.
func site(block string) string {
	return "{\n\tadmin off\n}\nhttp://127.0.0.1:9999 {\n\tn8n_gate {\n" + block + "\n\t}\n}\n"
}

const whole = "forward 127.0.0.1:5678\nwebhook demo {\nauth none\nkey json id\n}\n"

func TestLoadErrors(t *testing.T) {
	t.Setenv("GATE_EMPTY", "")
	t.Setenv("GATE_SECRET", "s")
	for _, test := range []struct{ name, block, want string }{
		{"it is fine", whole, ""},
		{"without forward", "webhook demo {\nauth none\nkey json id\n}", "no upstream: say with `forward` where n8n is"},
		{"without webhooks", "forward 127.0.0.1:5678", "no webhook is named"},
		{"all passed", "forward 127.0.0.1:5678\nother pass", ""},
		{"without auth", "forward x:1\nwebhook demo {\nkey json id\n}", "no authentication"},
		{"auth of the gate", "forward x:1\nauth none\nwebhook demo {\nkey json id\n}", ""},
		{"without key", "forward x:1\nwebhook demo {\nauth none\n}", "no event key"},
		{"key of the gate", "forward x:1\nkey json id\nwebhook demo {\nauth none\n}", ""},
		{"a path that would pick", "forward x:1\nwebhook demo {\nauth none\nkey json items.*.id\n}", "key"},
		{"a literal secret", "forward x:1\nwebhook demo {\nauth token header X secret hunter2\nkey json id\n}", "must be one {env.NAME} or {file./path} placeholder"},
		{"an empty secret", "forward x:1\nwebhook demo {\nauth token header X secret {env.GATE_EMPTY}\nkey json id\n}", "{env.GATE_EMPTY} is empty or cannot be read"},
		{"an unreadable secret", "forward x:1\nwebhook demo {\nauth token header X secret {file./nowhere/at/all}\nkey json id\n}", "is empty or cannot be read"},
		{"a request as secret", "forward x:1\nwebhook demo {\nauth token header X secret {http.request.header.X}\nkey json id\n}", "must be one {env.NAME}"},
		{"a secret of the environment", "forward x:1\nwebhook demo {\nauth token header X secret {env.GATE_SECRET}\nkey json id\n}", ""},
		{"two webhooks of one operation", whole + "webhook other {\noperation demo\nauth none\nkey json id\n}", `two webhooks end with the operation "demo"`},
		{"two that say so", "forward x:1\nauth none\nkey json id\nwebhook a {\noperation demo\n}\nwebhook b {\noperation demo\n}", ""},
		{"one path twice", whole + "webhook demo {\noperation b\nauth none\nkey json id\n}", "demo"},
		{"an operation of the gate's own", "forward x:1\nwebhook demo {\noperation .rule\nauth none\nkey json id\n}", "begin with a dot"},
		{"a wildcard", "forward x:1\nwebhook demo/* {\nauth none\nkey json id\n}", ""},
		{"wildcards that overlap", "forward x:1\nauth none\nkey json id\nwebhook a/*\nwebhook */b", "overlaps"},
		{"a prefix without slash", "prefix webhook\n" + whole, "prefix"},
		{"other something", "other maybe\n" + whole, `other "maybe": must be refuse or pass`},
		{"missing_key pass", "missing_key pass\n" + whole, ""},
		{"missing_key something", "missing_key maybe\n" + whole, "must be reject or pass"},
		{"n8n_sandbox", "n8n_sandbox absent\n" + whole, ""},
		{"n8n_sandbox something", "n8n_sandbox maybe\n" + whole, "must be required, assumed or absent"},
		{"on_response", "on_response 409,422 header X-Done yes json ok true completed\non_response 500 ambiguous\n" + whole, ""},
		{"on_response without an end", "on_response 409 header X-Done yes\n" + whole, "expected `header NAME VALUE`"},
		{"on_response of no status", "on_response soon completed\n" + whole, "expected statuses"},
		{"on_response of 1xx", "on_response 103 completed\n" + whole, "no final HTTP status"},
		{"on_response to processing", "on_response 200 processing\n" + whole, "must end in completed"},
		{"on_response of a path that would pick", "on_response 200 json a.* b completed\n" + whole, "json a.*"},
		{"complete_when", "complete_when json done true\n" + whole, ""},
		{"complete_when of two", "complete_when json done true header X y\n" + whole, "wrong argument count"},
		{"complete_when of something", "complete_when cookie a b\n" + whole, "expected `header NAME VALUE`"},
		{"complete_when twice", "complete_when json a b\ncomplete_when json a c\n" + whole, "more than once"},
		{"respond", "respond replayed 200 <Response/> text/xml\nrespond not_carried_out 500\n" + whole, ""},
		{"respond twice", "respond replayed 200\nrespond replayed 201\n" + whole, "respond replayed: stands more than once"},
		{"respond that lies", "respond manual_review 200\n" + whole, "a 2xx would tell the sender"},
		{"respond to new", "respond new 500\n" + whole, "not an answer that can be set"},
		{"respond to passed", "respond passed 500\n" + whole, "not an answer that can be set"},
		{"respond of no status", "respond replayed soon\n" + whole, "no HTTP status"},
		{"respond with 99", "respond replayed 99\n" + whole, "no final HTTP status"},
		{"respond with too much", "respond replayed 200 a b c\n" + whole, "wrong argument count"},
		{"action_id", "action_id json invoice.id\n" + whole, ""},
		{"action_id of something", "action_id cookie a\n" + whole, "action_id: expected"},
		{"action_id of a path that would pick", "action_id json a.*\n" + whole, "json a.*"},
		{"receipt_body", "receipt_body 1MiB\n" + whole, ""},
		{"receipt_body too much", "receipt_body 1GiB\n" + whole, "receipt_body must be positive and at most"},
		{"receipt_header", "receipt_header X-A X-B\nreceipt_header X-C\n" + whole, ""},
		{"receipt_header that no replay repeats", "receipt_header Set-Cookie\n" + whole, "belongs to one answer only"},
		{"receipt_header of the gate", "receipt_header N8n-Gate-Token\n" + whole, "only the gate sets it"},
		{"receipt_header of the gate, in lower case", "receipt_header n8n-gate-decision\n" + whole, "only the gate sets it"},
		{"receipt_header hop by hop", "receipt_header X-A keep-alive\n" + whole, "belongs to one answer only"},
		{"receipt_header of a proxy", "receipt_header Proxy-Connection\n" + whole, "belongs to one answer only"},
		{"receipt_header Date", "receipt_header date\n" + whole, "belongs to one answer only"},
		{"receipt_header that says it is a replay", "receipt_header Idempotent-Replayed\n" + whole, "belongs to one answer only"},
		{"receipt_header that is none", "receipt_header a:b\n" + whole, `receipt_header: "a:b" can be no header's name`},
		{"receipt_header off", "receipt_header off\n" + whole, ""},
		{"receipt_header off and others", "receipt_header X-A\nreceipt_header off\n" + whole, "off: must stand alone"},
		{"receipt_header others after off", "receipt_header off\nreceipt_header X-A\n" + whole, "off: must stand alone"},
		{"on_response of no header", "on_response 200 header `X Done` yes completed\n" + whole, `on_response: "X Done" can be no header's name`},
		{"on_response off", "on_response off\n" + whole, ""},
		{"on_response off and others", "on_response 500 ambiguous\non_response off\n" + whole, "off: must stand alone"},
		{"on_response others after off", "on_response off\non_response 500 ambiguous\n" + whole, "off: must stand alone"},
		{"on_response off twice", "on_response off\non_response off\n" + whole, "off: must stand alone"},
		{"complete_when of no header", "complete_when header X:Done yes\n" + whole, `complete_when: "X:Done" can be no header's name`},
		{"complete_when off", "complete_when off\n" + whole, ""},
		{"action_id of no header", "action_id header Ünvoice\n" + whole, `action_id: "Ünvoice" can be no header's name`},
		{"action_id off", "action_id off\n" + whole, ""},
		{"key of no header", "forward x:1\nwebhook demo {\nauth none\nkey header `X Id`\n}", "cannot stand in a header's name"},
		{"auth of no header", "forward x:1\nwebhook demo {\nauth token header `X Token` secret {env.GATE_SECRET}\nkey json id\n}", "cannot stand in a header's name"},
		{"repeat_safe", "repeat_safe 24h\n" + whole, ""},
		{"repeat_safe off", "repeat_safe off\n" + whole, ""},
		{"repeat_safe of nothing", "repeat_safe\n" + whole, "repeat_safe: expected one value"},
		{"repeat_safe of no duration", "repeat_safe long\n" + whole, "repeat_safe long: must be a duration"},
		{"repeat_safe that repeats nothing", "repeat_safe 2m\n" + whole, "repeat_safe must be longer than timeout and 30s, together 2m0s"},
		{"repeat_safe that repeats little", "timeout 1s\nrepeat_safe 32s\n" + whole, ""},
		{"repeat_safe too short for one webhook", "repeat_safe 3m\nforward x:1\nwebhook demo {\nauth none\nkey json id\ntimeout 5m\n}", "webhook demo: repeat_safe must be longer"},
		{"receipt_header that is kept anyway", "receipt_header content-type\n" + whole, "it is kept anyway"},
		{"max_body beyond max_memory", "max_body 600MiB\n" + whole, "must be within half of max_memory"},
		{"response_buffers", "forward x:1 {\nresponse_buffers 1MiB\n}\nauth none\nkey json id\nwebhook demo", "request_buffers and response_buffers are refused"},
		{"max_response", "max_response 1MiB\n" + whole, ""},
		{"max_response too much", "max_response 2TiB\n" + whole, "max_response must be positive and at most"},
		{"origin", "origin keep\n" + whole, ""},
		{"origin something", "origin drop\n" + whole, "must be keep or off"},
		{"store_down", "store_down pass\n" + whole, ""},
		{"store_down something", "store_down maybe\n" + whole, "must be reject or pass"},
		{"respond of the gate in a webhook", "forward x:1\nwebhook demo {\nauth none\nkey json id\nrespond method 405\n}", "respond method: belongs to the gate"},
		{"mode something", "mode maybe\n" + whole, "must be enforce or pass"},
		{"missing_key pass and no key", "forward x:1\nwebhook demo {\nauth none\nmissing_key pass\n}", ""},
		{"mode pass with a key of its own", "forward x:1\nwebhook chat {\nmode pass\nkey json id\n}", "mode pass claims nothing"},
		{"mode pass where the gate has a key", "forward x:1\nkey json id\nwebhook chat {\nmode pass\n}", ""},
		{"mode pass", "forward x:1\nwebhook chat {\nmode pass\n}", ""},
		{"fingerprint of members", "fingerprint hold id amount\n" + whole, ""},
		{"fingerprint of a path that would pick", "fingerprint hold items.#\n" + whole, "fingerprint"},
		{"fingerprint off", "fingerprint off\n" + whole, ""},
		{"fingerprint off with members", "fingerprint off id\n" + whole, "takes no members"},
		{"fingerprint something", "fingerprint maybe\n" + whole, "must be hold, flag or off"},
		{"reused_body", "reused_body hold\n" + whole, ""},
		{"reused_body something", "reused_body maybe\n" + whole, "must be hold, flag or off"},
		{"key_changed fresh", "key_changed fresh\n" + whole, ""},
		{"key_changed from", "key_changed from {\nkey header X\n}\n" + whole, ""},
		{"key_changed from nothing", "key_changed from\n" + whole, "key_changed"},
		{"key_changed from a path that would pick", "key_changed from {\nkey json a.*\n}\n" + whole, "key_changed from"},
		{"key_changed something", "key_changed maybe\n" + whole, "must be fresh or from"},
		{"test_urls", "test_urls private\n" + whole, ""},
		{"test_urls something", "test_urls maybe\n" + whole, "must be refuse or private"},
		{"methods", "methods GET POST\n" + whole, ""},
		{"a method in lower case", "methods get\n" + whole, "upper case"},
		{"one path, two methods", whole + "webhook demo {\nmethods GET\nauth none\nkey query id\n}", ""},
		{"GET over kept-alive connections", "forward x:1 {\ntransport http {\nkeepalive 4s\n}\n}\nauth none\nkey query id\nwebhook demo {\nmethods GET\n}", "keepalive"},
		{"operation_was", "forward x:1\nwebhook demo {\noperation_was old\nauth none\nkey json id\n}", ""},
		{"operation_was of the gate's own", "forward x:1\nwebhook demo {\noperation_was .rule\nauth none\nkey json id\n}", "begin with a dot"},
		{"log_key something", "log_key maybe\n" + whole, "must be hash, plain or off"},
		{"a timeout of years", "timeout 800d\n" + whole, "at most 24h0m0s"},
		{"an endless retention", "retention 20000d\n" + whole, "at most 3650 days"},
		{"a body of terabytes", "max_body 2TiB\n" + whole, "max_body must be positive and at most"},

		{"handle_response", "forward x:1 {\nhandle_response {\nrespond 200\n}\n}\nauth none\nkey json id\nwebhook demo", "handle_response"},
		{"replace_status", "forward x:1 {\nreplace_status 200\n}\nauth none\nkey json id\nwebhook demo", "replace_status"},
		{"rewrite", "forward x:1 {\nrewrite /x\n}\nauth none\nkey json id\nwebhook demo", "rewrite and method are refused"},
		{"method", "forward x:1 {\nmethod GET\n}\nauth none\nkey json id\nwebhook demo", "rewrite and method are refused"},
		{"lb_retry_match", "forward x:1 {\nlb_retries 2\nlb_retry_match {\nmethod POST\n}\n}\nauth none\nkey json id\nwebhook demo", "lb_retry_match is refused"},
		{"lb_retries", "forward x:1 y:1 {\nlb_retries 2\n}\nauth none\nkey json id\nwebhook demo", ""},
		{"an upstream of the sender's choice", "forward {header.X-Up}:1\nauth none\nkey json id\nwebhook demo", "a sender could choose"},
		{"a dynamic one", "forward {\ndynamic a {header.X-Up} 80\n}\nauth none\nkey json id\nwebhook demo", "a sender could choose"},
		{"header_up of the gate's", "forward x:1 {\nheader_up N8n-Gate-Token x\n}\nauth none\nkey json id\nwebhook demo", "header_up N8n-Gate-Token is refused"},
		{"header_up of the gate's, unknown", "forward x:1 {\nheader_up n8n-gate-foo x\n}\nauth none\nkey json id\nwebhook demo", "is refused"},
		{"header_up deletes the gate's", "forward x:1 {\nheader_up -N8n-*\n}\nauth none\nkey json id\nwebhook demo", "header_up -N8n-* is refused"},
		{"header_up deletes all", "forward x:1 {\nheader_up -*\n}\nauth none\nkey json id\nwebhook demo", "header_up -* is refused"},
		{"header_up idempotency key", "forward x:1 {\nheader_up Idempotency-Key x\n}\nauth none\nkey json id\nwebhook demo", "header_up Idempotency-Key is refused"},
		{"header_up by the sender's choice", "forward x:1 {\nheader_up {header.X} x\n}\nauth none\nkey json id\nwebhook demo", "is refused"},
		{"header_up of another", "forward x:1 {\nheader_up X-Tenant a\nheader_up -Cookie\n}\nauth none\nkey json id\nwebhook demo", ""},
		{"header_down of the CSP", "forward x:1 {\nheader_down Content-Security-Policy x\n}\nauth none\nkey json id\nwebhook demo", "header_down Content-Security-Policy is refused"},
		{"header_down deletes the CSP", "forward x:1 {\nheader_down -content-sec*\n}\nauth none\nkey json id\nwebhook demo", "is refused"},
		{"header_down replaces in all", "forward x:1 {\nheader_down * a b\n}\nauth none\nkey json id\nwebhook demo", "is refused"},
		{"header_down of another", "forward x:1 {\nheader_down -Server\n}\nauth none\nkey json id\nwebhook demo", ""},
		{"http/2", "forward x:1 {\ntransport http {\nversions 2\n}\n}\nauth none\nkey json id\nwebhook demo", "version 2 is refused"},
		{"h2c", "forward h2c://x:1\nauth none\nkey json id\nwebhook demo", "is refused"},
		{"fastcgi", "forward x:1 {\ntransport fastcgi\n}\nauth none\nkey json id\nwebhook demo", "transport fastcgi is refused"},
		{"keepalive too long", "forward x:1 {\ntransport http {\nkeepalive 5s\n}\n}\nauth none\nkey json id\nwebhook demo", "keepalive must be shorter than"},
		{"keepalive", "forward x:1 {\ntransport http {\nkeepalive 4s\n}\n}\nauth none\nkey json id\nwebhook demo", ""},
		{"keepalive off", "forward x:1 {\ntransport http {\nkeepalive off\n}\n}\nauth none\nkey json id\nwebhook demo", ""},
		{"idle connections without a bound", "forward x:1 {\ntransport http {\nkeepalive_idle_conns 4\n}\n}\nauth none\nkey json id\nwebhook demo", "keepalive must be shorter than"},
		{"https", "forward https://x:1\nauth none\nkey json id\nwebhook demo", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			config, err := adapt(t, site(test.block))
			if err == nil {
				err = load(t, config)
			}
			wantError(t, err, test.want)
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Fatalf("error: %v", err)
	case want != "" && err == nil:
		t.Fatalf("no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Fatalf("error %q, want %q", err, want)
	}
}

// What the Caddyfile's parser refuses, JSON must be refused as well.
func TestLoadErrorsOfJSON(t *testing.T) {
	for _, test := range []struct{ name, gate, app, want string }{
		{"it is fine", `{}`, `{}`, ""},
		{"an unknown word", `{"frobnicate":1}`, `{}`, `unknown field "frobnicate"`},
		{"an option to come, at the gate", `{"confirm":"receipt"}`, `{}`, "confirm: not built yet"},
		{"an option to come, in a webhook", `{"webhooks":[{"pattern":"a","confirm":"receipt"}]}`, `{}`, "confirm: not built yet"},
		{"an unknown word in a webhook", `{"webhooks":[{"pattern":"a","frobnicate":1}]}`, `{}`, `unknown field "frobnicate"`},
		{"a webhook that is null", `{"webhooks":[null]}`, `{}`, "the path is empty"},
		{"a global to come", `{}`, `{"notify":1}`, "notify: not built yet"},
		{"negative memory", `{}`, `{"max_memory":-1}`, "max_memory must be positive"},
		{"a respond that lies", `{"respond":{"in_flight":{"status":200}}}`, `{}`, "a 2xx would tell the sender"},
		{"a respond of nothing", `{"respond":{"new":{"status":500}}}`, `{}`, "not an answer that can be set"},
		{"an unknown global", `{}`, `{"frobnicate":1}`, `unknown field "frobnicate"`},
		{"an engine to come", `{}`, `{"store":{"engine":"postgres"}}`, "store postgres: not built yet"},
		{"a negative interval", `{}`, `{"sweep_interval":-1}`, "must be at least 1ms"},
		{"a timeout of a nanosecond", `{"timeout":1}`, `{}`, "timeout must be at least 1ms"},
		{"an unknown word in the proxy", `{"forward":{"handler":"reverse_proxy","upstreams":[{"dial":"x:1"}],"typo":1}}`, `{}`, `unknown field "typo"`},
		{"an unknown word in its transport", `{"forward":{"handler":"reverse_proxy","upstreams":[{"dial":"x:1"}],"transport":{"protocol":"http","dial_timout":1}}}`, `{}`, `unknown field "dial_timout"`},
		{"the gate's own transport", `{"forward":{"handler":"reverse_proxy","upstreams":[{"dial":"x:1"}],"transport":{"protocol":"n8n_gate"}}}`, `{}`, "transport n8n_gate is refused"},
		{"a negative timeout", `{"timeout":-1}`, `{}`, "timeout must be at least 1ms"},
		{"a condition on both", `{"complete_when":{"header":"a","path":"b","value":"c"}}`, `{}`, "either a header or a JSON member"},
		{"a condition on no header", `{"complete_when":{"header":"a b","value":"c"}}`, `{}`, "can be no header's name"},
		{"a rule on no header", `{"on_response":[{"status":[200],"when":[{"header":"a:","value":"c"}],"then":"completed"}]}`, `{}`, "can be no header's name"},
		{"an action id in no header", `{"action_id":{"header":"a\n"}}`, `{}`, "action_id: \"a\\n\" can be no header's name"},
		{"an action id in both", `{"action_id":{"header":"a","path":"b"}}`, `{}`, "action_id: a part of the answer is either"},
		{"a receipt header that is empty", `{"receipt_header":[""]}`, `{}`, "can be no header's name"},
		{"all that can be off is off", `{"webhooks":[{"pattern":"demo","on_response":[],"complete_when":{},"action_id":{},"receipt_header":[],"repeat_safe":0,"origin":"off"}]}`, `{}`, ""},
		{"a condition of a value alone", `{"complete_when":{"value":"c"}}`, `{}`, "either a header or a JSON member"},
		{"repeat_safe of a nanosecond", `{"repeat_safe":1}`, `{}`, "repeat_safe must be at least 1ms, or 0"},
		{"a rule without status", `{"on_response":[{"then":"completed"}]}`, `{}`, "on_response needs a status"},
		{"a rule without end", `{"on_response":[{"status":[200]}]}`, `{}`, "must end in completed"},
		{"sandbox unknown", `{"n8n_sandbox":"maybe"}`, `{}`, "must be required, assumed or absent"},
		{"negative attempts", `{"max_attempts":-1}`, `{}`, "max_attempts must be positive"},
		{"negative wait", `{"in_flight_wait":-1}`, `{}`, "in_flight wait must not be negative"},
		{"hmac of nothing", `{"auth":{"kind":"hmac","header":"a","secrets":["{env.X}"]}}`, `{}`, "auth hmac needs hash"},
		{"hmac with a user", `{"auth":{"kind":"hmac","hash":"sha256","encoding":"hex","header":"a","user":"b","secrets":["{env.X}"]}}`, `{}`, "auth hmac takes no user"},
		{"a tolerance below zero", `{"auth":{"kind":"standard_webhooks","tolerance":-1,"secrets":["{env.X}"]}}`, `{}`, "tolerance must be positive"},
		{"a key that can be fetched by anybody", `{"auth":{"kind":"oidc","keys_url":"http://a.example","issuer":"a","audience":"b"}}`, `{}`, "must be an https URL"},
		{"mtls with a secret", `{"auth":{"kind":"mtls","subjects":["a"],"secrets":["{env.X}"]}}`, `{}`, "auth mtls takes no secret"},
		{"a kind of presets", `{"auth":{"kind":"sns"}}`, `{}`, "auth sns: say provider sns"},
		{"auth unknown", `{"auth":{"kind":"frob"}}`, `{}`, `auth "frob": unknown kind`},
		{"token without place", `{"auth":{"kind":"token","secrets":["{env.X}"]}}`, `{}`, "either a header or a query parameter"},
		{"token in both places", `{"auth":{"kind":"token","header":"a","query":"b","secrets":["{env.X}"]}}`, `{}`, "either a header or a query parameter"},
		{"token without secret", `{"auth":{"kind":"token","header":"a"}}`, `{}`, "at least one secret"},
		{"none with arguments", `{"auth":{"kind":"none","header":"a"}}`, `{}`, "takes no arguments"},
		{"a key source that is none", `{"key":[{"source":"xpath","name":"a"}]}`, `{}`, "xpath"},
		{"a key source with too much", `{"key":[{"source":"json","path":"a","name":"b"}]}`, `{}`, "name"},
		{"key_changed both ways", `{"key_changed":{"fresh":true,"from":[{"source":"json","path":"a"}]}}`, `{}`, "either fresh, or from"},
		{"another handler to forward", `{"forward":{"handler":"static_response"}}`, `{}`, "must be reverse_proxy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			gate := map[string]any{
				"handler":  "n8n_gate",
				"forward":  map[string]any{"handler": "reverse_proxy", "upstreams": []any{map[string]any{"dial": "127.0.0.1:5678"}}},
				"auth":     map[string]any{"kind": "none"},
				"key":      []any{map[string]any{"source": "json", "path": "id"}},
				"webhooks": []any{map[string]any{"pattern": "demo"}},
			}
			if err := json.Unmarshal([]byte(test.gate), &gate); err != nil {
				t.Fatal(err)
			}
			config := jsonOf(t, map[string]any{
				"admin": map[string]any{"disabled": true},
				"apps": map[string]any{
					"n8n_gate": json.RawMessage(test.app),
					"http": map[string]any{"servers": map[string]any{"srv": map[string]any{
						"listen": []string{"127.0.0.1:9999"},
						"routes": []any{map[string]any{"handle": []any{gate}}},
					}}},
				},
			})
			wantError(t, load(t, config), test.want)
		})
	}
}

// The same directive served by two servers is one webhook, not two that collide.
func TestOneDirectiveOnTwoServers(t *testing.T) {
	config, err := adapt(t, "{\n\tadmin off\n}\nhttp://127.0.0.1:9998, http://127.0.0.1:9999 {\n\tn8n_gate {\n"+whole+"\n\t}\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, load(t, config), "")
}
