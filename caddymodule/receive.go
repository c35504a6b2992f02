package caddymodule

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/signature"
	"github.com/n8n-gate/n8n-gate/store"
)

// authenticate comes before any look at the body or the store: a forged request
// neither creates nor probes a record. The sender learns nothing; the log the reason.
func (d *delivery) authenticate(body []byte) error {
	if d.hook.auth == nil || d.authentic {
		return nil
	}
	err := d.hook.auth.Verify(d.request, body)
	d.authentic = err == nil
	switch {
	case errors.Is(err, signature.ErrUnavailable):
		return transient(decidedOverloaded, "the sender's key cannot be fetched").because(err)
	case errors.Is(err, signature.ErrStale):
		return refuse(decidedStale, http.StatusUnauthorized, "the request is not authenticated").because(err)
	case err != nil:
		return refuse(decidedUnauthenticated, http.StatusUnauthorized, "the request is not authenticated").because(err)
	}
	return nil
}

// authenticateFirst spares what needs no body for its authentication the reading of
// it; a challenge, though, may come unauthenticated.
func (d *delivery) authenticateFirst() error {
	if d.hook.auth == nil || d.hook.auth.NeedsBody() || d.hook.sender != nil && d.hook.sender.HasUnsigned(d.request.Method) {
		return nil
	}
	return d.authenticate(nil)
}

// input is the request as rules for keys look at it.
func (d *delivery) input(body []byte) keyextract.Input {
	return keyextract.Input{
		Header: d.request.Header, Body: body, RawQuery: d.request.URL.RawQuery, Segments: d.match.Segments,
	}
}

// receive reads the whole body, so that an upload that breaks off claims nothing.
func (d *delivery) receive() ([]byte, error) {
	limit := d.hook.maxBody
	if d.request.ContentLength > limit {
		return nil, d.tooLarge()
	}
	d.body = buffer{share: &d.memory, bound: limit}
	if announced := d.request.ContentLength; announced >= 0 {
		d.body.expect(announced)
	}
	if err := d.body.fill(d.request.Body); err != nil {
		return nil, d.notReceived(err)
	}
	return d.body.data, nil
}

// notReceived refuses a body that did not arrive whole, or is too much to hold.
func (d *delivery) notReceived(err error) error {
	var handled caddyhttp.HandlerError
	switch {
	case errors.Is(err, errMemory):
		return overMemory()
	case errors.Is(err, errBound):
		return d.tooLarge()
	case errors.As(err, &handled) && handled.StatusCode == http.StatusRequestEntityTooLarge: // request_body max_size
		return d.tooLarge().because(err)
	}
	return refuse(decidedMalformed, http.StatusBadRequest, "the body did not arrive whole").because(err)
}

func overMemory() *refused {
	return transient(decidedOverloaded, "too much is held in memory").because(errMemory)
}

func (d *delivery) tooLarge() *refused {
	return refuse(decidedTooLarge, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", d.hook.maxBody))
}

// event is what a delivery says of itself.
type event struct {
	names       []store.ID // its record's name; then those that it may have had before
	fingerprint store.Hash // of its content; zero: nobody asks
	covers      string     // what that was taken of
	body        store.Hash // of the body alone, where reused bodies are looked for

	// auth upstream:
	own    string        // the event's own key, without its content
	proven []store.Alias // by which a record of it is found that n8n has proven
}

// extract finds out which event this is. It never invents a key.
func (d *delivery) extract(body []byte) (event, error) {
	if d.hook.key == nil {
		return event{}, nil
	}
	decoded, done, err := d.decode(body)
	defer done()
	switch {
	case errors.Is(err, errMemory):
		return event{}, overMemory()
	case errors.Is(err, keyextract.ErrTooLarge):
		return event{}, d.tooLarge().because(err)
	case err != nil && !d.hook.key.ReadsBody():
		decoded = body // only the fingerprint looks at it, and takes it as it is
	case err != nil:
		return event{}, refuse(decidedMalformed, http.StatusBadRequest, "the body cannot be decoded: "+err.Error()).because(err)
	}
	in := d.input(decoded)
	key, err := d.hook.key.Extract(in)
	if err != nil {
		return event{}, withoutKey(err)
	}
	var former string
	if d.hook.formerKey != nil {
		// An event that had no key under the former rule is not known by one.
		if key, err := d.hook.formerKey.Extract(in); err == nil {
			former = key.String()
		}
	}
	e := event{names: d.hook.operation.identity(key.String(), former)}
	d.id = e.names[0]
	if d.hook.differing != off {
		e.fingerprint, e.covers = d.hook.fingerprint.Sum(d.content(decoded)), d.hook.covers()
	}
	if d.hook.upstream {
		if err := e.nameByContent(); err != nil {
			return event{}, err
		}
	}
	if d.hook.reusedBody != off {
		// Neither query nor chosen members: a signature covers the body. One body may be
		// two events where a header says of what kind they are.
		e.body = wholeBody.Sum(keyextract.FingerprintInput{Method: d.eventType(), Header: d.request.Header, Body: decoded})
	}
	return e, nil
}

// withoutKey refuses a delivery whose key is missing, or no key.
func withoutKey(err error) error {
	var bad *keyextract.Error
	if errors.As(err, &bad) && bad.Missing {
		return refuse(decidedMissingKey, http.StatusUnprocessableEntity, "the event key is missing: "+err.Error()).because(err)
	}
	return refuse(decidedMalformed, http.StatusBadRequest, "the event key cannot be read: "+err.Error()).because(err)
}

// eventType is what the sender's headers say of the kind of event.
func (d *delivery) eventType() string {
	if d.hook.sender == nil {
		return ""
	}
	var kinds []string
	for _, name := range d.hook.sender.Preset().EventType {
		kinds = append(kinds, d.request.Header.Values(name)...)
	}
	return strings.Join(kinds, "\n")
}

// decode decodes the body, in memory that is accounted for until done. How large it
// becomes is not known before, so small limits are tried first.
func (d *delivery) decode(body []byte) (decoded []byte, done func(), err error) {
	done = func() {}
	switch d.request.Header.Get("Content-Encoding") {
	case "gzip", "deflate":
	default:
		decoded, err = keyextract.Decode(d.request.Header, body, d.hook.maxBody)
		return decoded, done, err
	}
	for limit := int64(firstDecoded); ; limit *= 4 {
		limit = min(limit, d.hook.maxBody)
		if !d.memory.take(limit) {
			return nil, done, errMemory
		}
		decoded, err = keyextract.Decode(d.request.Header, body, limit)
		if !errors.Is(err, keyextract.ErrTooLarge) || limit == d.hook.maxBody {
			return decoded, func() { d.memory.give(limit) }, err // what is decoded is of no use beyond
		}
		d.memory.give(limit)
	}
}

// firstDecoded is what nearly all bodies fit in.
const firstDecoded = 32 << 10

// content is what the fingerprint is taken of. Where several webhooks write one
// operation, one event may come by either: method and path tell nothing then. A token
// in the query says who sends, not what.
func (d *delivery) content(body []byte) keyextract.FingerprintInput {
	in := keyextract.FingerprintInput{
		Method: d.request.Method, Path: d.path, RawQuery: d.request.URL.RawQuery, Header: d.request.Header, Body: body,
	}
	if d.hook.operation.shared {
		in.Method, in.Path = "", ""
	}
	if d.hook.auth != nil {
		in.RawQuery = withoutParameter(in.RawQuery, d.hook.auth.Query())
	}
	return in
}

// covers says what the fingerprint is taken of: of a webhook that moved, or that
// shares its operation now, it was taken of something else before.
func (hook *webhook) covers() string {
	where := hook.pattern
	if hook.operation.shared {
		where = ""
	}
	return where + " " + hook.fingerprint.String()
}

// wholeBody is the fingerprint of a body and nothing else.
var wholeBody = func() *keyextract.Fingerprint {
	f, err := keyextract.CompileFingerprint(nil)
	if err != nil {
		panic(err) // no paths: there is nothing to go wrong
	}
	return f
}()

// withoutParameter drops a parameter from a raw query and leaves the rest as it is.
func withoutParameter(rawQuery, name string) string {
	if name == "" || rawQuery == "" {
		return rawQuery
	}
	kept := make([]string, 0, strings.Count(rawQuery, "&")+1)
	for part := range strings.SplitSeq(rawQuery, "&") {
		key, _, _ := strings.Cut(part, "=")
		if key, err := url.QueryUnescape(key); err != nil || key != name {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}

// pings reports whether err is that of a delivery without any key, where the
// webhook lets such through.
func (d *delivery) pings(err error) bool {
	switch {
	case d.hook.key == nil:
		return true // missing_key pass, and no key at all
	case err == nil || !d.hook.pings:
		return false
	}
	var bad *keyextract.Error
	var r *refused
	return errors.As(err, &r) && errors.As(r.err, &bad) && bad.All
}
