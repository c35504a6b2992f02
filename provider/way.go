package provider

import (
	"errors"
	"net/http"
	"time"

	"github.com/n8n-gate/n8n-gate/signature"
)

// Way is one way in which a sender proves who it is.
type Way struct {
	// Option holds the secrets.
	Option string

	// Header chooses this way of several with one option: it is there.
	Header string

	// Signs is what the proof covers; nothing, if it is a constant token.
	Signs Signs

	// Scheme makes the proof's check.
	Scheme Scheme
}

// Scheme makes, for one secret, what checks a proof.
type Scheme func(secret string, settings Settings) (check, error)

// check reports why a request, with the body as it was sent, is no true one at that
// time.
type check func(r *http.Request, body []byte, now time.Time) error

// ErrStale says that a signature is right, but too old or from the future.
var ErrStale = errors.New("signature is stale")

// readyWay is a Way with the user's secrets.
type readyWay struct {
	Way
	checks []check
}

func (w Way) ready(settings Settings) (readyWay, error) {
	ready := readyWay{Way: w}
	for _, secret := range settings[w.Option] {
		c, err := w.Scheme(secret, settings)
		if err != nil {
			return ready, err
		}
		ready.checks = append(ready.checks, c)
	}
	return ready, nil
}

// verify tries every secret, whichever matches, and gives the reason that says most.
func (w *readyWay) verify(r *http.Request, body []byte) error {
	now := time.Now()
	var reason error
	proven := false
	for _, c := range w.checks {
		err := c(r, body, now)
		proven = proven || err == nil
		if reason == nil || errors.Is(reason, signature.ErrMismatch) {
			reason = err
		}
	}
	if proven {
		return nil
	}
	return reason
}
