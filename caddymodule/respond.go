package caddymodule

import (
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// Response is an answer that the user writes.
type Response struct {
	Status      int    `json:"status"`
	Body        string `json:"body,omitempty"`
	ContentType string `json:"content_type,omitempty"` // default: text/plain; charset=utf-8

	header map[string]string // of a preset's answer
}

// headers are those that the answer brings itself.
func (r Response) headers() http.Header {
	h := make(http.Header, len(r.header)+1)
	for name, value := range r.header {
		h.Set(name, value)
	}
	if r.Body != "" {
		h.Set("Content-Type", first(r.ContentType, "text/plain; charset=utf-8"))
	}
	return h
}

// notCarriedOut is the word for an attempt that ended failed_retryable.
const notCarriedOut decision = "not_carried_out"

// respondable are the words that a user may answer in their own way. Of those, the
// ones that are true carry a 2xx: the others would tell the sender that all is done.
var respondable = map[decision]bool{
	decidedReplayed: true, decidedHandshake: true,
	notCarriedOut: false, decidedInFlight: false, decidedManualReview: false, decidedConflict: false,
	decidedMissingKey: false, decidedMalformed: false, decidedUnauthenticated: false, decidedStale: false, decidedUnrouted: false,
	decidedMethod: false, decidedTooLarge: false, decidedUpgrade: false, decidedUnavailable: false, decidedOverloaded: false,
}

func (r Response) validate(word string) error {
	truthful, known := respondable[decision(word)]
	switch {
	case !known:
		return fmt.Errorf("respond %s: not an answer that can be set", word)
	case r.Status < 200 || r.Status > 599:
		return fmt.Errorf("respond %s %d: no final HTTP status", word, r.Status)
	case r.Status < 300 && !truthful:
		return fmt.Errorf("respond %s %d: a 2xx would tell the sender that the event was carried out", word, r.Status)
	case r.ContentType != "" && !httpguts.ValidHeaderFieldValue(r.ContentType):
		return fmt.Errorf("respond %s: %q is no content type", word, r.ContentType)
	}
	return nil
}

// asSet is the answer as the user wants it, where they do. What the answer is about
// stays: its decision, and headers that are not about the body.
func (a answer) asSet(respond map[string]Response) answer {
	r, set := respond[string(a.wordFor())]
	if !set {
		return a
	}
	header := r.headers()
	for _, name := range []string{"Retry-After", "Allow", "Idempotent-Replayed", "N8n-Gate-Receipt"} {
		if v := a.header.Values(name); len(v) > 0 {
			header[name] = v
		}
	}
	a.status, a.header, a.body = r.Status, header, []byte(r.Body)
	return a
}

// wordFor is the word under which the answer can be set.
func (a answer) wordFor() decision {
	if a.notCarriedOut {
		return notCarriedOut
	}
	return a.decision
}

// distinct returns header names in their canonical form, each once.
func distinct(names []string) []string {
	canonical := make([]string, len(names))
	for i, name := range names {
		canonical[i] = http.CanonicalHeaderKey(name)
	}
	slices.Sort(canonical)
	return slices.Compact(canonical)
}

// checkReceiptHeader refuses headers that no replay may repeat.
func checkReceiptHeader(name string) error {
	if err := checkHeaderName(name); err != nil {
		return inOption("receipt_header", err)
	}
	switch http.CanonicalHeaderKey(name) {
	case "Set-Cookie", "Set-Cookie2", "Date", "Content-Length", "Idempotent-Replayed", "Via",
		// hop by hop (RFC 9110, section 7.6.1)
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Proxy-Authentication-Info", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return fmt.Errorf("receipt_header %s: it belongs to one answer only", name)
	}
	if slices.Contains(receiptHeaders, http.CanonicalHeaderKey(name)) {
		return fmt.Errorf("receipt_header %s: it is kept anyway", name)
	}
	if ownHeader(name) {
		return fmt.Errorf("receipt_header %s: only the gate sets it", name)
	}
	return nil
}

// checkHeaderName refuses what can be no header's name: nothing would ever have it.
func checkHeaderName(name string) error {
	if !httpguts.ValidHeaderFieldName(name) {
		return fmt.Errorf("%q can be no header's name", name)
	}
	return nil
}

// inOption says of an error where it is.
func inOption(word string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", word, err)
}
