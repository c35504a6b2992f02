package caddymodule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/store"
)

// authenticate comes before any look at the body or the store: a forged request
// neither creates nor probes a record. The sender learns nothing; the log the reason.
func (d *delivery) authenticate() error {
	if d.hook.auth == nil {
		return nil
	}
	if err := d.hook.auth.Verify(d.request); err != nil {
		return refuse(decidedUnauthenticated, http.StatusUnauthorized, "the request is not authenticated").because(err)
	}
	return nil
}

// receive reads the whole body, so that an upload that breaks off claims nothing.
func (d *delivery) receive() ([]byte, error) {
	limit := d.hook.maxBody
	tooLarge := refuse(decidedTooLarge, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
	if d.request.ContentLength > limit {
		return nil, tooLarge
	}
	var body bytes.Buffer
	if d.request.ContentLength > 0 {
		// One byte more than it holds, and bytes.Buffer reads to the end without growing.
		body.Grow(int(min(d.request.ContentLength, firstRead)) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(d.request.Body, limit+1))
	var handled caddyhttp.HandlerError
	switch {
	case errors.As(err, &handled) && handled.StatusCode == http.StatusRequestEntityTooLarge: // request_body max_size
		return nil, tooLarge.because(err)
	case err != nil:
		return nil, refuse(decidedMalformed, http.StatusBadRequest, "the body did not arrive whole").because(err)
	case n > limit:
		return nil, tooLarge
	}
	return body.Bytes(), nil
}

// firstRead is how much memory a sender gets on its word alone.
const firstRead = 64 << 10

// extract finds out which event this is. It never invents a key.
func (d *delivery) extract(body []byte) (store.ID, error) {
	key, err := d.hook.key.Extract(keyextract.Input{Header: d.request.Header, Body: body})
	var bad *keyextract.Error
	switch {
	case err == nil:
		d.id = store.ID{Operation: d.hook.operation, EventKey: key.String()}
		return d.id, nil
	case errors.As(err, &bad) && bad.Missing:
		return store.ID{}, refuse(decidedMissingKey, http.StatusUnprocessableEntity, "the event key is missing: "+err.Error()).because(err)
	default:
		return store.ID{}, refuse(decidedMalformed, http.StatusBadRequest, "the event key cannot be read: "+err.Error()).because(err)
	}
}
