package n8n

import (
	"net/http"
	"strings"
)

// SandboxCSP is the Content-Security-Policy with which n8n 2.x marks every
// answer that a workflow wrote; a workflow can neither set nor remove it, and
// n8n's own errors never carry it. The whole value, for whoever plays n8n.
//
// Source: n8n 2.40.7, n8n-core/dist/html-sandbox.js and
// dist/webhooks/webhook-response-headers.js (the list of protected headers).
const SandboxCSP = sandboxStart + " allow-forms allow-modals allow-orientation-lock allow-pointer-lock allow-popups" +
	" allow-popups-to-escape-sandbox allow-presentation allow-scripts allow-top-navigation-by-user-activation" +
	" allow-top-navigation-to-custom-protocols"

// sandboxStart is the part that is matched: later versions may allow more or
// less behind it.
const sandboxStart = "sandbox allow-downloads"

// FromWorkflow reports whether a workflow wrote the answer with these headers:
// then an execution began. Without the mark nothing is proven either way.
func FromWorkflow(h http.Header) bool {
	for _, value := range h.Values("Content-Security-Policy") {
		// Whole words: "allow-downloads-…" would be another keyword.
		if rest, ok := strings.CutPrefix(value, sandboxStart); ok && (rest == "" || rest[0] == ' ' || rest[0] == ';') {
			return true
		}
	}
	return false
}

// Settled reports whether a status, of an answer that the workflow wrote, is
// its last word on the event, to be replayed as it is: everything from 200
// below 500, save those that ask to come again (408, 409, 423, 425, 429).
func Settled(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return 200 <= status && status < 500
}
