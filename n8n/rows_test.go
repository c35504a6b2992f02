package n8n

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// example is one answer, to the byte as n8n gives it.
type example struct {
	row string
	Exchange
	// echo is what the answer repeats of the request: of m(ethod), p(ath) and
	// P(refix).
	echo string
	// tolerates are the deviations that are another answer of the same row.
	tolerates []string
}

func (e example) clone() Exchange {
	c := e.Exchange
	c.Header, c.Body = c.Header.Clone(), slices.Clone(c.Body)
	return c
}

// header builds the headers of an answer from pairs, with those that every one
// of n8n's has.
func header(pairs ...string) http.Header {
	h := http.Header{"Date": {"Tue, 01 Dec 2026 16:11:32 GMT"}, "Connection": {"keep-alive"}, "Keep-Alive": {"timeout=5"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func answer(status int, body string, pairs ...string) Exchange {
	return Exchange{
		Method: "POST", Prefix: "/webhook", Path: "gate-demo", RawQuery: "a=1",
		Status: status, Header: header(pairs...), Body: []byte(body),
	}
}

// ofJSON is an answer as Express' json sends it.
func ofJSON(status int, body string) Exchange {
	return answer(status, body, "Content-Type", typeJSON, "Content-Length", strconv.Itoa(len(body)), "Etag", `W/"2f-GuSfCgzbbSBfa3Yc/aJYw7SBm0c"`, "Vary", "Accept-Encoding")
}

// ofHTML is an answer as Express' send sends it.
func ofHTML(status int, body string) Exchange {
	return answer(status, body, "Content-Type", typeHTML, "Content-Length", strconv.Itoa(len(body)), "Etag", `W/"1f-mLaR3Gmxo33cuwMmHVCxDQf9bcU"`)
}

// ofExpress is a page of Express itself.
func ofExpress(status int, body string) Exchange {
	return answer(status, body, "Content-Security-Policy", "default-src 'none'", "X-Content-Type-Options", "nosniff",
		"Content-Type", typeHTML, "Content-Length", strconv.Itoa(len(body)), "Vary", "Accept-Encoding")
}

func basicAuth(status int, body string) Exchange {
	return answer(status, body, "WWW-Authenticate", `Basic realm="Webhook"`)
}

func with(e Exchange, method, prefix, path string) Exchange {
	e.Method, e.Prefix, e.Path = method, prefix, path
	return e
}

const (
	cannotPost = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Error</title>\n</head>\n<body>\n<pre>Cannot POST /webhook/gate-demo</pre>\n</body>\n</html>\n"
	// cannotPath is what Express 5.1.0 answered to POST /webhook/a%20b&c/%27?x=1.
	cannotPath    = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Error</title>\n</head>\n<body>\n<pre>Cannot POST /webhook/a%20b&amp;c/%27</pre>\n</body>\n</html>\n"
	expressFailed = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Error</title>\n</head>\n<body>\n<pre>Internal Server Error</pre>\n</body>\n</html>\n"

	hint     = `"hint":"The workflow must be active for a production URL to run successfully. You can activate the workflow using the toggle in the top-right of the editor. Note that unlike test URL calls, production URL calls aren't shown on the canvas (only in the executions list)"`
	testHint = `"hint":"Click the 'Execute workflow' button on the canvas, then try again. (In test mode, the webhook only works for one call after you click this button)"`

	credentials = `{"readyToExecute":false,"credentials":[` +
		`{"credentialId":"a1","credentialName":"Mail","credentialType":"smtp","status":"configured","iconUrl":"https://n8n.example/i.svg"},` +
		`{"credentialId":"b2","credentialName":"Sheets","credentialType":"googleSheetsOAuth2Api","resolverId":"r","status":"missing","authorizationUrl":"https://n8n.example/rest/x"}]}`
	challenge = `Bearer realm="n8n Webhook", resource_metadata="https://n8n.example/.well-known/oauth-protected-resource/webhook/gate-demo?method=POST"`
)

// in2xx are the deviations in status that a person may have chosen.
var in2xx = []string{"status 200", "status 201", "status 202"}

var examples = []example{
	{row: "starting_up", Exchange: ofHTML(200, "n8n is starting up. Please wait")},
	{row: "database_not_ready", Exchange: ofJSON(503, `{"code":503,"message":"Database is not ready!"}`)},
	{row: "database_not_ready", Exchange: ofJSON(503, `{"code":503,"message":"Database is not ready!","stacktrace":"ResponseError: Database is not ready!\n    at /usr/lib/node_modules/n8n/dist/abstract-server.js:136:60"}`)},
	{row: "no_route", echo: "mpP", Exchange: ofExpress(404, cannotPost)},
	{row: "no_route", echo: "mpP", Exchange: with(ofExpress(404, cannotPath), "POST", "/webhook", "a b&c/'")},
	{row: "not_registered", echo: "mp", Exchange: ofJSON(404, `{"code":404,"message":"The requested webhook \"POST gate-demo\" is not registered.",`+hint+`}`)},
	{row: "not_registered", echo: "mp", Exchange: with(ofJSON(404, `{`+hint+`,"message":"The requested webhook \"PUT a/\"é\"\\\" is not registered.","code":404}`), "PUT", "/hooks", `a/"é"\`)},
	{row: "not_registered", echo: "mp", Exchange: ofJSON(404, `{"code":404,"message":"The requested webhook \"POST gate-demo\" is not registered.",`+hint+`,"stacktrace":"NotFoundError: The requested webhook \"POST gate-demo\" is not registered.\n    at LiveWebhooks.findWebhook (x.js:205:19)\n    at y"}`)},
	{row: "workflow_gone", Exchange: ofJSON(404, `{"code":404,"message":"Could not find workflow with id \"gateDemo00000001\""}`)},
	{row: "workflow_gone", Exchange: ofJSON(404, `{"code":404,"message":"Active version not found for workflow with id \"gateDemo00000001\""}`)},
	{row: "workflow_gone", Exchange: ofJSON(404, `{"code":404,"message":"Published version not found for workflow with id \"gateDemo00000001\""}`)},
	{row: "workflow_gone", Exchange: ofJSON(404, `{"code":404,"message":"Cannot find workflow"}`)},
	{row: "node_gone", Exchange: ofJSON(404, `{"code":404,"message":"Could not find node to process webhook."}`)},
	{row: "oauth_unavailable", Exchange: ofHTML(503, "OAuth token validation is not available")},

	{row: "wrong_method", echo: "m", Exchange: ofJSON(404, `{"code":404,"message":"This webhook is not registered for POST requests. Did you mean to make a GET request?"}`)},
	{row: "wrong_method", echo: "m", Exchange: ofJSON(404, `{"code":404,"message":"This webhook is not registered for POST requests. Did you mean to make a GET or PUT request?"}`)},
	{row: "wrong_method", echo: "m", Exchange: with(ofJSON(404, `{"code":404,"message":"This webhook is not registered for GET requests. Did you mean to make a PATCH, POST or DELETE request?"}`), "GET", "/webhook", "x")},
	{row: "test_webhook", echo: "p", Exchange: with(ofJSON(404, `{"code":404,"message":"The requested webhook \"gate-demo\" is not registered.",`+testHint+`}`), "POST", "/webhook-test", "gate-demo")},
	{row: "unparsable", tolerates: []string{"hint: capitals", "hint: longer", "hint: longer, a line", "hint: longer before"}, Exchange: ofJSON(422, `{"code":422,"message":"Failed to parse request body","hint":"Unexpected token 'a', \"abc\" is not valid JSON"}`)},
	{row: "form_too_large", Exchange: ofJSON(413, `{"code":413,"message":"The submitted form data exceeds the allowed size."}`)},
	{row: "form_unparsable", Exchange: ofJSON(400, `{"code":400,"message":"The submitted form data could not be parsed."}`)},
	{row: "engine_v2", Exchange: ofJSON(400, `{"code":400,"message":"Engine 2.0 cannot run the \"My Webhook\" trigger yet."}`)},
	{row: "engine_v2", Exchange: ofJSON(400, `{"code":400,"message":"Engine 2.0 cannot run the \"Webhook\" trigger yet, because it takes credentials from the request."}`)},
	{row: "engine_v2", Exchange: ofJSON(400, `{"code":400,"message":"Engine 2.0 does not support the 'lastNode' response mode yet. Respond immediately instead."}`)},
	{row: "engine_v2", Exchange: ofJSON(400, `{"code":400,"message":"Engine 2.0 cannot receive files from a webhook yet."}`)},
	{row: "ip_not_allowed", Exchange: answer(403, "IP is not allowed to access the webhook!")},
	{row: "ip_not_allowed", Exchange: answer(403, "IP is not whitelisted to access the webhook!")},
	{row: "unauthenticated", Exchange: basicAuth(401, "Authorization is required!")},
	{row: "unauthenticated", Exchange: basicAuth(401, "Authentication data is wrong!")},
	{row: "unauthenticated", Exchange: basicAuth(401, "No token provided")},
	{row: "unauthorised", Exchange: basicAuth(403, "Authorization data is wrong!")},
	{row: "bad_token", Exchange: basicAuth(403, "jwt expired")},
	{row: "bad_token", Exchange: basicAuth(403, "secretOrPublicKey must be a symmetric key when using HS256")},
	{row: "bad_token", Exchange: basicAuth(403, `"alg" parameter "ES256" requires curve "prime256v1".`)},
	{row: "bad_token", tolerates: []string{"body: twice"}, Exchange: basicAuth(403, `Unexpected token 'a', "abc" is not valid JSON`)},
	{row: "bad_token", Exchange: basicAuth(403, "Unexpected token 'é', \"éééé\nééé\"... is not valid JSON")},
	{row: "bad_token", tolerates: []string{"body: longer by 1"}, Exchange: basicAuth(403, `Expected property name or '}' in JSON at position 1`)},
	{row: "bad_token", Exchange: basicAuth(403, `Bad control character in string literal in JSON at position 2 (line 1 column 3)`)},
	{row: "no_credential", Exchange: basicAuth(500, "No authentication data defined on node!")},
	{row: "oauth_unauthenticated", echo: "m", Exchange: answer(401, "", "WWW-Authenticate", challenge)},
	{row: "oauth_unauthenticated", echo: "m", Exchange: answer(401, "", "WWW-Authenticate", challenge+`, error="invalid_token"`)},
	{row: "oauth_unauthorised", echo: "m", Exchange: answer(403, "", "WWW-Authenticate", challenge+`, error="insufficient_scope"`)},
	{row: "credentials_missing", Exchange: ofJSON(428, credentials)},
	{row: "trigger_unauthenticated", Exchange: ofHTML(401, "Unauthorized")},
	{row: "trigger_unauthorised", Exchange: ofJSON(403, `{"message":"Provided secret is not valid"}`)},
	{row: "trigger_unauthorised", Exchange: ofJSON(403, `{"message":"Provided authentication data is not valid"}`)},
	{row: "trigger_unauthorised", Exchange: ofJSON(403, `{"message":"Auth settings are not valid, some data are missing"}`)},

	{row: "call_received", tolerates: in2xx, Exchange: ofJSON(200, `{"message":"Webhook call received"}`)},
	{row: "no_data", tolerates: in2xx, Exchange: ofJSON(201, `{"message":"Workflow executed successfully but the last node did not return any data"}`)},

	{row: "failed_at_start", tolerates: in2xx, Exchange: ofJSON(200, `{"message":"Workflow executed successfully but no data was returned"}`)},
	{row: "error_in_workflow", Exchange: ofJSON(500, `{"message":"Error in workflow"}`)},
	{row: "execution_failed", Exchange: ofJSON(500, `{"message":"Workflow execution failed"}`)},
	{row: "problem_executing", Exchange: ofJSON(500, `{"code":0,"message":"There was a problem executing the workflow"}`)},
	{row: "problem_executing", Exchange: ofJSON(500, `{"code":0,"message":"There was a problem executing the workflow","stacktrace":"OperationalError: There was a problem executing the workflow\n    at x"}`)},
	{row: "not_started", Exchange: ofJSON(500, `{"code":0,"message":"Workflow Webhook Error: Workflow could not be started!"}`)},
	{row: "not_started", Exchange: ofJSON(500, `{"code":0,"message":"No Respond to Webhook node found in the workflow"}`)},
	{row: "cancelled", Exchange: ofJSON(500, `{"code":0,"message":"The execution was cancelled because it timed out"}`)},
	{row: "nothing_to_return", Exchange: ofJSON(500, `{"code":0,"message":"No item to return was found"}`)},
	{row: "nothing_to_return", Exchange: ofJSON(500, `{"code":0,"message":"The binary property 'data' which should be returned does not exist"}`)},
	{row: "method_unsupported", echo: "m", Exchange: with(ofJSON(500, `{"code":0,"message":"The method PROPFIND is not supported."}`), "PROPFIND", "/webhook", "x")},
	{row: "body_aborted", Exchange: ofJSON(400, `{"code":400,"message":"Request body stream was aborted mid-read or is not readable"}`)},
	{row: "no_answer", tolerates: in2xx, Exchange: answer(200, "", "Content-Type", typeJSON, "Vary", "Accept-Encoding")},
	{row: "express_error", Exchange: ofExpress(500, expressFailed)},
	{row: "editor_page", echo: "m", tolerates: []string{"body: trailing newline", "body: trailing space", "body: twice", "body: cut", "policy another", "policy twice"}, Exchange: with(ofHTML(200, "<!DOCTYPE html>\n<html lang=\"en\">\n\t<head>\n\t\t<title>n8n.io - Workflow Automation</title>\n\t</head>\n\t<body><div id=\"app\"></div></body>\n</html>\n"), "GET", "/webhook", "x")},
}

// Every row is found by its examples, and every row has one.
func TestRows(t *testing.T) {
	missing := map[string]bool{}
	for _, row := range rows {
		if missing[row.Name] {
			t.Errorf("%s is there twice", row.Name)
		}
		missing[row.Name] = true
		if row.Class < Refused || row.Class > Doubtful || row.Seen == "" || row.Source == "" || row.match == nil {
			t.Errorf("%s: not whole: %+v", row.Name, row)
		}
		if strings.Trim(row.Name, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
			t.Errorf("%q is no name for logs", row.Name)
		}
	}
	for _, e := range examples {
		t.Run(e.row+": "+string(e.Body[:min(len(e.Body), 60)]), func(t *testing.T) {
			delete(missing, e.row)
			if row, ok := Recognise(e.Exchange); !ok || row.Name != e.row {
				t.Errorf("Recognise = %q, %v, want %q", row.Name, ok, e.row)
			}
			matching := 0
			for _, row := range rows {
				if ex := e.clone(); row.match(&ex) {
					matching++
				}
			}
			if matching != 1 {
				t.Errorf("%d rows match: it depends on their order", matching)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s has no example", name)
	}
}
