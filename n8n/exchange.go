package n8n

import (
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Exchange is one forwarded request, as far as n8n's answers repeat it, and
// n8n's whole answer to it.
type Exchange struct {
	Method string
	// Prefix and Path are what Rebuild made the forwarded path from: n8n's
	// webhook prefix, and the canonical path behind it, decoded.
	Prefix, Path string
	// RawQuery is the query as it was sent, without '?'.
	RawQuery string

	Status int
	// Header in canonical form, as net/http reads it.
	Header http.Header
	// Body is the whole body. Of an answer whose body was not kept nothing can
	// be told: it must not be asked about.
	Body []byte
}

const (
	cspHeader       = "Content-Security-Policy"
	challengeHeader = "Www-Authenticate"

	typeJSON = "application/json; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
)

// ShowsSandbox reports whether this answer shows that its n8n marks whatever a
// workflow answers with the sandbox CSP. Only then does the absence of the mark
// say that no workflow spoke, and what Recognise finds is proof.
//
// The mark on an answer in JSON is not enough. Up to 2.10.0, and in 1.x up to
// 1.123.21 at least, n8n sets it on HTML and on answers that have no type *yet*,
// which JSON has not before Express sends it; a workflow that sets the type
// itself answers without it. The policy's own words tell the two apart: they have
// held allow-popups-to-escape-sandbox since 2.20.0, and not in 2.17. In between
// (2.11 to 2.17, late 1.123) every answer is marked, but in words that are not
// known never to have stood before.
//
// Source: n8n's dist/webhooks/webhook-request-handler.js (setResponseHeaders) and
// n8n-core's dist/html-sandbox.js in 1.123.0, 1.123.21, 1.123.50, 1.123.81,
// 2.0.0, 2.4, 2.8, 2.10.0 (the former only), 2.11.4, 2.14.2, 2.16.1, 2.17 (the
// latter only), 2.20.0 and 2.40.7.
func ShowsSandbox(e Exchange) bool {
	contentType, ok := one(e.Header, "Content-Type")
	if !ok || !FromWorkflow(e.Header) {
		return false
	}
	if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != "application/json" {
		return false
	}
	return slices.ContainsFunc(e.Header.Values(cspHeader), func(policy string) bool {
		directive, _, _ := strings.Cut(policy, ";")
		first, escapes := "", false
		for word := range strings.FieldsSeq(directive) {
			if first == "" {
				first = word
			}
			escapes = escapes || word == "allow-popups-to-escape-sandbox"
		}
		return first == "sandbox" && escapes
	})
}

// FormNotFound reports whether n8n answered the request with the page that it
// has for unknown forms. The page carries the sandbox CSP although no workflow
// wrote it, so FromWorkflow is wrong about it; and a workflow may have written
// the same, so it is no proof of anything.
//
// n8n shows it in place of each of its own JSON answers with code 404 where the
// path's first segment holds "form" (a prefix "/platform/webhook") or the URL,
// query included, holds "n8n-form".
//
// Source: n8n 2.40.7, dist/response-helper.js (sendErrorResponse).
func FormNotFound(e Exchange) bool {
	if e.Status != http.StatusNotFound || !FromWorkflow(e.Header) {
		return false
	}
	if contentType, ok := one(e.Header, "Content-Type"); !ok || !strings.HasPrefix(contentType, "text/html") {
		return false
	}
	url := Rebuild(e.Prefix, e.Path) + "?" + e.RawQuery
	first, _, _ := strings.Cut(strings.TrimPrefix(url, "/"), "/")
	return strings.Contains(first, "form") || strings.Contains(url, "n8n-form")
}

// one gives a header that is there exactly once.
func one(h http.Header, name string) (value string, ok bool) {
	values := h.Values(name)
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}

// has reports whether a header is there exactly once and is value.
func has(h http.Header, name, value string) bool {
	got, ok := one(h, name)
	return ok && got == value
}

func hasNone(h http.Header, name string) bool { return len(h.Values(name)) == 0 }

// sandboxed reports whether any policy, however it is written, is about a sandbox:
// wider than FromWorkflow, because here a false yes costs a proof and a false no
// would be one.
func sandboxed(h http.Header) bool {
	return slices.ContainsFunc(h.Values(cspHeader), func(policy string) bool {
		return strings.Contains(strings.ToLower(policy), "sandbox")
	})
}
