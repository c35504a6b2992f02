package caddymodule

import (
	"errors"
	"net/http"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/provider"
)

// What is done with a sender's challenge.
const (
	handshakeAnswer = "answer"
	handshakePass   = "pass"
)

// challengedBy finds the webhook that path names and whose sender poses challenges
// with this method, which its events do not have.
func (h *Handler) challengedBy(path, method string, allow []string) (n8n.Match, bool) {
	for _, other := range allow {
		match := h.paths.Lookup(path, other)
		if match.Found {
			if s := h.webhooks[match.Index].sender; s != nil && s.HasUnsigned(method) {
				return match, true
			}
		}
	}
	return n8n.Match{}, false
}

// recognises says which of a sender's challenges a request is; nil: none.
type recognises func(s *provider.Sender, method string, in keyextract.Input) (*provider.Challenge, bool)

// handshake answers a challenge, which claims nothing, or lets n8n answer it. It
// reports whether the delivery was one.
func (d *delivery) handshake(body []byte, known recognises) (answer, bool) {
	if d.hook.sender == nil || d.request.Header.Get("Content-Encoding") != "" {
		return answer{}, false
	}
	in := d.input(body)
	challenge, ok := known(d.hook.sender, d.request.Method, in)
	switch {
	case !ok:
		return answer{}, false
	case d.hook.handshakes == handshakePass && len(body) > 0 && d.yieldsKey(in):
		return answer{}, false // an event in the guise of a challenge
	case d.hook.handshakes == handshakePass:
		return d.ping(body), true
	}
	reply, err := challenge.Answer()
	switch {
	case errors.Is(err, provider.ErrProof):
		return refusal(refuse(decidedUnauthenticated, http.StatusUnauthorized, "the request is not authenticated").because(err)), true
	case err != nil:
		return refusal(refuse(decidedMalformed, http.StatusBadRequest, "the challenge cannot be answered").because(err)), true
	}
	return answer{decision: decidedHandshake, status: reply.Status, header: responseOf(reply).headers(), body: []byte(reply.Body)}, true
}

func (d *delivery) yieldsKey(in keyextract.Input) bool {
	if d.hook.key == nil {
		return false
	}
	_, err := d.hook.key.Extract(in)
	return err == nil
}
