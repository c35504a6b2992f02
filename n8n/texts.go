package n8n

import (
	"net/http"
	"slices"
	"strings"
)

// The texts of n8n's own answers that are longer than a line, or repeat what was
// sent.

// hintProduction is what n8n adds for a webhook that is not registered, hintTest
// what it adds for one that is not being tested.
//
// Source: n8n 1.123.0 to 2.40.7 and the main branch,
// dist/errors/response-errors/webhook-not-found.error.js.
const (
	hintProduction = "The workflow must be active for a production URL to run successfully. You can activate the workflow using the toggle in the top-right of the editor. Note that unlike test URL calls, production URL calls aren't shown on the canvas (only in the executions list)"
	hintTest       = "Click the 'Execute workflow' button on the canvas, then try again. (In test mode, the webhook only works for one call after you click this button)"
)

// notRegistered repeats the method and the path. The path is the decoded one,
// without the trailing slash that findWebhook cuts off: the canonical path.
func notRegistered(e *Exchange, got string) bool {
	return got == `The requested webhook "`+e.Method+" "+e.Path+`" is not registered.`
}

// notTested repeats the path alone: TestWebhooks.getWebhookMethods throws first.
func notTested(e *Exchange, got string) bool {
	return got == `The requested webhook "`+e.Path+`" is not registered.`
}

const methodWord = `(?:DELETE|GET|HEAD|PATCH|POST|PUT)`

var methodList = like(methodWord + `|` + methodWord + `(?:, ` + methodWord + `)* or ` + methodWord)

// wrongMethod repeats the method, but not the path. Our own method may be among
// those that n8n proposes: a form's path below the webhook prefix gives that.
func wrongMethod(e *Exchange, got string) bool {
	rest, ok := strings.CutPrefix(got, "This webhook is not registered for "+e.Method+" requests. Did you mean to make a ")
	if !ok {
		return false
	}
	methods, ok := strings.CutSuffix(rest, " request?")
	return ok && methodList(e, methods)
}

func methodUnsupported(e *Exchange, got string) bool {
	return got == "The method "+e.Method+" is not supported."
}

// cannot is what finalhandler says where no route took the request: the path
// alone, as it was sent. encodeurl changes nothing in what Rebuild escaped.
func cannot(e *Exchange) string { return "Cannot " + e.Method + " " + Rebuild(e.Prefix, e.Path) }

func internalServerError(*Exchange) string { return "Internal Server Error" }

var workflowGone = either(
	is("Cannot find workflow"),
	like(`(?:Could not find workflow|Active version not found for workflow|Published version not found for workflow) with id "[0-9A-Za-z_-]{1,64}"`),
)

// engineV2 are the refusals of the second execution engine. Names of nodes are
// anything.
var engineV2 = like(`Engine 2\.0 (?:` +
	`cannot run the "[^\n]{1,1000}" trigger yet(?:, because it takes credentials from the request)?\.|` +
	`does not support the '[A-Za-z]{1,64}' response mode yet\. Respond immediately instead\.|` +
	`cannot receive files from a webhook yet\.)`)

// basic is the challenge with which the Webhook node refuses, whatever kind of
// authentication it is set to.
var basic = is(`Basic realm="Webhook"`)

// bearer is the challenge for n8n's own OAuth2. It repeats the method; the path in
// it is the node's, which may have parameters where the request has values.
func bearer(suffix string) text {
	challenge := like(`Bearer realm="n8n Webhook", resource_metadata="https?://[^"\s]+"` + suffix)
	return func(e *Exchange, got string) bool {
		return challenge(e, got) && strings.Contains(got, "/.well-known/oauth-protected-resource/") &&
			strings.Contains(got, "?method="+e.Method+`"`)
	}
}

// badToken is what jsonwebtoken says of a token; what is not JSON inside is
// reported in V8's words, which quote up to 40 characters of it.
//
// Source: jsonwebtoken 9.0.3, verify.js and lib/validateAsymmetricKey.js; V8's
// messages as Node 20 gives them.
var badToken = either(
	is(
		"jwt malformed", "invalid token", "invalid algorithm", "invalid signature", "jwt signature is required",
		"jwt expired", "invalid exp value", "jwt not active", "invalid nbf value",
		"secret or public key must be provided", "secretOrPublicKey is not valid key material",
	),
	like(`secretOrPublicKey must be (?:a symmetric|an asymmetric) key when using [A-Z]{2}[0-9]{3}`),
	like(`Unknown key type "[a-z0-9-]{1,32}"\.`),
	like(`"alg" parameter for "[a-z0-9-]{1,32}" key type must be one of: [A-Z0-9, ]{1,64}\.`),
	like(`"alg" parameter "[A-Z0-9]{1,8}" requires curve "[a-z0-9]{1,32}"\.`),
	is("Unexpected end of JSON input"),
	like(`(?s:Unexpected token '.{1,2}', )?(?:\.\.\.)?"(?s:.{0,48})"(?:\.\.\.)? is not valid JSON`),
	like(`(?:Expected property name or '\}'|Expected ',' or '\}' after property value|Expected ',' or '\]' after array element|`+
		`Expected ':' after property name|Expected double-quoted property name|Unterminated string|Bad Unicode escape|`+
		`Bad control character in string literal|Bad escaped character|No number after minus sign|`+
		`Unterminated fractional number|Exponent part is missing a number|Unexpected string|Unexpected number) in JSON`+position),
	like(`Unexpected non-whitespace character after JSON`+position),
)

const position = ` at position [0-9]{1,9}(?: \(line [0-9]{1,9} column [0-9]{1,9}\))?`

// credentialsMissing is the list of a caller's credentials that n8n wants first:
// one of them at least is not there.
//
// Source: n8n 2.40.7, dist/webhooks/webhook-helpers.js and
// dist/modules/dynamic-credentials.ee/services/credential-check-proxy.service.js.
func credentialsMissing(e *Exchange) bool {
	o, ok := ownJSON(e)
	if !ok || e.Status != http.StatusPreconditionRequired ||
		!o.only([]string{"readyToExecute", "credentials"}, nil) || !o.is("readyToExecute", "false") {
		return false
	}
	list, ok := parseArray(o["credentials"])
	if !ok {
		return false
	}
	missing := false
	for _, element := range list {
		credential, ok := parseObject(element)
		if !ok || !isCredential(credential) {
			return false
		}
		missing = missing || !credential.is("status", `"configured"`)
	}
	return missing
}

func isCredential(o jsonObject) bool {
	for name := range o {
		if _, ok := o.text(name); !ok {
			return false
		}
	}
	return slices.Contains([]string{`"missing"`, `"configured"`, `"resolver_missing"`}, string(o["status"])) && o.only(
		[]string{"credentialId", "credentialName", "credentialType", "status"},
		[]string{"resolverId", "authorizationUrl", "revokeUrl", "iconUrl"},
	)
}

// empty is what is left where the workflow had to answer and ended without: JSON
// of nothing. Node sends it in chunks, or says that it has no length.
func empty(e *Exchange) bool {
	return success(e.Status) && has(e.Header, "Content-Type", typeJSON) && hasNone(e.Header, cspHeader) && len(e.Body) == 0 &&
		(hasNone(e.Header, "Content-Length") || has(e.Header, "Content-Length", "0"))
}

// editor is the page of n8n's editor. It differs from release to release and is
// known by its ends and its title only.
func editor(e *Exchange) bool {
	body := string(e.Body)
	return e.Status == http.StatusOK && e.Method == http.MethodGet && has(e.Header, "Content-Type", typeHTML) &&
		strings.HasPrefix(body, "<!DOCTYPE html>") && strings.HasSuffix(strings.TrimSpace(body), "</html>") &&
		strings.Contains(body, "<title>n8n.io - Workflow Automation</title>")
}
