package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// twilio is HMAC-SHA1 in base64 of the URL and the form's fields, or of a URL that has
// the body's hash. Source: twilio-go, client/request_validator.go.
type twilio struct {
	secret    []byte
	publicURL string
}

func (t twilio) verify(r *http.Request, body []byte, _ time.Time) error {
	value, err := one(r, "X-Twilio-Signature")
	if err != nil {
		return err
	}
	sent, err := decodeBase64(value)
	if err != nil {
		return ErrMalformed
	}
	fields, err := twilioFields(r, body)
	if err != nil {
		return err
	}
	match := false
	for _, origin := range twilioOrigins(originOf(t.publicURL, r)) {
		want := sum(hmac.New(sha1.New, t.secret), []byte(origin+target(r)), fields)
		match = anyOf([][]byte{sent}, want) || match
	}
	if !match {
		return ErrMismatch
	}
	return nil
}

// twilioFields is what Twilio signs behind the URL: each field's name and value, sorted,
// each value once. Of other bodies the URL has the hash: without it nothing would prove
// them.
func twilioFields(r *http.Request, body []byte) ([]byte, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, ErrQuery
	}
	if sums := query["bodySHA256"]; len(sums) > 0 {
		have := sha256.Sum256(body)
		sent, err := hex.DecodeString(sums[0])
		if len(sums) > 1 || err != nil || subtle.ConstantTimeCompare(sent, have[:]) != 1 {
			return nil, ErrMismatch
		}
		return nil, nil
	}
	if len(body) == 0 {
		return nil, nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, ErrMismatch
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, ErrMismatch
	}
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	var fields bytes.Buffer
	for _, name := range names {
		values := slices.Clone(form[name])
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			fields.WriteString(name)
			fields.WriteString(value)
		}
	}
	return fields.Bytes(), nil
}

// twilioOrigins are the spellings of the host that Twilio may have signed: with and
// without the scheme's own port.
func twilioOrigins(origin string) []string {
	scheme, host, _ := strings.Cut(origin, "://")
	port := ":443"
	if scheme == "http" {
		port = ":80"
	}
	if bare, ok := strings.CutSuffix(host, port); ok {
		return []string{origin, scheme + "://" + bare}
	}
	if strings.Contains(strings.TrimPrefix(host, "["), ":") && !strings.HasSuffix(host, "]") {
		return []string{origin}
	}
	return []string{origin, origin + port}
}
