package provider

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/n8n-gate/n8n-gate/signature"
)

// How far a signed time may be from now. Where nobody knows whether retries are signed
// anew, it is longer than the sender goes on: what is older meets its record.
const (
	tolerance     = 5 * time.Minute
	wideTolerance = 25 * time.Hour
)

// What bounds the work on a header before its signature is known to be right.
const (
	maxHeader     = 8 << 10
	maxSignatures = 32
)

var (
	stripeScheme      = timedScheme("Stripe-Signature", tolerance)
	calendlyScheme    = timedScheme("Calendly-Webhook-Signature", wideTolerance)
	githubScheme      = bodyScheme("X-Hub-Signature-256", "sha256=", decodeHex)
	jiraScheme        = bodyScheme("X-Hub-Signature", "sha256=", decodeHex)
	calComScheme      = bodyScheme("X-Cal-Signature-256", "", decodeHex)
	typeformScheme    = bodyScheme("Typeform-Signature", "sha256=", decodeBase64)
	shopifyScheme     = bodyScheme("X-Shopify-Hmac-Sha256", "", decodeBase64)
	tallyScheme       = bodyScheme("Tally-Signature", "", decodeBase64)
	lineScheme        = bodyScheme("X-Line-Signature", "", decodeBase64)
	woocommerceScheme = withKey(html.UnescapeString, bodyScheme("X-WC-Webhook-Signature", "", decodeBase64))
)

func decodeHex(text string) ([]byte, error) { return hex.DecodeString(text) }

// decodeBase64 takes one spelling only: others would be another header for the same
// signature.
func decodeBase64(text string) ([]byte, error) { return base64.StdEncoding.Strict().DecodeString(text) }

// withKey derives the key from the secret.
func withKey(derive func(string) string, scheme Scheme) Scheme {
	return func(secret string, settings Settings) (check, error) { return scheme(derive(secret), settings) }
}

// one is the header's value, there once and not too long.
func one(r *http.Request, name string) (string, error) {
	switch values := r.Header.Values(name); {
	case len(values) == 0, len(values) == 1 && values[0] == "":
		return "", signature.ErrMissing
	case len(values) > 1:
		return "", signature.ErrRepeated
	case len(values[0]) > maxHeader:
		return "", signature.ErrMismatch
	default:
		return strings.Trim(values[0], " \t"), nil
	}
}

// sum is the HMAC of the parts one behind the other.
func sum(hash func() hash.Hash, key []byte, parts ...[]byte) []byte {
	m := hmac.New(hash, key)
	for _, part := range parts {
		m.Write(part)
	}
	return m.Sum(nil)
}

// fresh reads seconds since 1970, or milliseconds, and compares them with now.
func fresh(text string, unit, allowed time.Duration, now time.Time) error {
	if len(text) == 0 || len(text) > 13 || strings.Trim(text, "0123456789") != "" {
		return signature.ErrMismatch
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return signature.ErrMismatch
	}
	at := time.Unix(n, 0)
	if unit == time.Millisecond {
		at = time.UnixMilli(n)
	}
	if age := now.Sub(at); age > allowed || age < -allowed {
		return ErrStale
	}
	return nil
}

// bodyScheme is HMAC-SHA256 of the body in a header.
func bodyScheme(header, prefix string, decode func(string) ([]byte, error)) Scheme {
	return func(secret string, _ Settings) (check, error) {
		return func(r *http.Request, body []byte, _ time.Time) error {
			value, err := one(r, header)
			if err != nil {
				return err
			}
			text, ok := strings.CutPrefix(value, prefix)
			sent, err := decode(text)
			if !ok || err != nil || !hmac.Equal(sent, sum(sha256.New, []byte(secret), body)) {
				return signature.ErrMismatch
			}
			return nil
		}, nil
	}
}

// timedScheme is Stripe's: "t=…,v1=…", several v1, HMAC-SHA256 in hex of the time, a
// dot and the body.
func timedScheme(header string, allowed time.Duration) Scheme {
	return func(secret string, _ Settings) (check, error) {
		return func(r *http.Request, body []byte, now time.Time) error {
			value, err := one(r, header)
			if err != nil {
				return err
			}
			at, sent := "", []string(nil)
			for part := range strings.SplitSeq(value, ",") {
				name, text, _ := strings.Cut(strings.TrimSpace(part), "=")
				switch {
				case name == "t" && at != "":
					return signature.ErrRepeated
				case name == "t":
					at = text
				case name == "v1" && len(sent) < maxSignatures:
					sent = append(sent, text)
				}
			}
			want := sum(sha256.New, []byte(secret), []byte(at), []byte("."), body)
			if !anyOf(sent, want, decodeHex) {
				return signature.ErrMismatch
			}
			return fresh(at, time.Second, allowed, now)
		}, nil
	}
}

func anyOf(sent []string, want []byte, decode func(string) ([]byte, error)) bool {
	match := 0
	for _, text := range sent {
		if mac, err := decode(text); err == nil {
			match |= subtle.ConstantTimeCompare(mac, want)
		}
	}
	return match == 1
}

// slackScheme is HMAC-SHA256 in hex of "v0:", the time, a colon and the body.
func slackScheme(allowed time.Duration) Scheme {
	return func(secret string, _ Settings) (check, error) {
		return func(r *http.Request, body []byte, now time.Time) error {
			value, err := one(r, "X-Slack-Signature")
			if err != nil {
				return err
			}
			at, err := one(r, "X-Slack-Request-Timestamp")
			if err != nil {
				return err
			}
			text, ok := strings.CutPrefix(value, "v0=")
			if want := sum(sha256.New, []byte(secret), []byte("v0:"+at+":"), body); !ok || !anyOf([]string{text}, want, decodeHex) {
				return signature.ErrMismatch
			}
			return fresh(at, time.Second, allowed, now)
		}, nil
	}
}

// standardScheme is Standard Webhooks', with headers that begin so: "v1," and an
// HMAC-SHA256, or "v1a," and an ed25519 signature, in base64, of id, time and body.
func standardScheme(prefix string) Scheme {
	return func(secret string, _ Settings) (check, error) {
		key, public, err := standardKey(secret)
		if err != nil {
			return nil, err
		}
		return func(r *http.Request, body []byte, now time.Time) error {
			id, err := one(r, prefix+"-Id")
			if err != nil {
				return err
			}
			at, err := one(r, prefix+"-Timestamp")
			if err != nil {
				return err
			}
			value, err := one(r, prefix+"-Signature")
			if err != nil {
				return err
			}
			message := bytes.Join([][]byte{[]byte(id), []byte(at), body}, []byte("."))
			if !standardMatch(strings.Fields(value), key, public, message) {
				return signature.ErrMismatch
			}
			return fresh(at, time.Second, tolerance, now)
		}, nil
	}
}

func standardMatch(sent []string, key []byte, public ed25519.PublicKey, message []byte) bool {
	want := sum(sha256.New, key, message)
	match := false
	for _, one := range sent[:min(len(sent), maxSignatures)] {
		version, text, _ := strings.Cut(one, ",")
		mac, err := decodeBase64(text)
		switch {
		case err != nil:
		case version == "v1" && key != nil:
			match = hmac.Equal(mac, want) || match
		case version == "v1a" && public != nil && len(mac) == ed25519.SignatureSize:
			match = ed25519.Verify(public, message, mac) || match
		}
	}
	return match
}

var errStandardKey = errors.New("the secret must be whsec_ or whpk_ and base64")

func standardKey(secret string) (key []byte, public ed25519.PublicKey, err error) {
	if text, ok := strings.CutPrefix(secret, "whpk_"); ok {
		public, err = decodeBase64(text)
		if err != nil || len(public) != ed25519.PublicKeySize {
			return nil, nil, errStandardKey
		}
		return nil, public, nil
	}
	key, err = decodeBase64(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, nil, errStandardKey
	}
	return key, nil, nil
}

// tokenScheme is a constant word in a header.
func tokenScheme(header string) Scheme {
	return func(secret string, _ Settings) (check, error) {
		token, err := signature.NewToken(header, "", []string{secret})
		if err != nil {
			return nil, err
		}
		return func(r *http.Request, _ []byte, _ time.Time) error { return token.Verify(r) }, nil
	}
}

// origin is scheme and host of the URL to which the sender sent.
func origin(r *http.Request, settings Settings) string {
	if set := settings[publicURL.Name]; len(set) > 0 {
		return set[0]
	}
	return "https://" + r.Host
}

// target is path and query as they were sent.
func target(r *http.Request) string {
	if r.RequestURI != "" && r.RequestURI[0] == '/' {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// hubspotScheme is HMAC-SHA256 in base64 of method, URI, body and time.
func hubspotScheme(secret string, settings Settings) (check, error) {
	return func(r *http.Request, body []byte, now time.Time) error {
		value, err := one(r, "X-HubSpot-Signature-v3")
		if err != nil {
			return err
		}
		at, err := one(r, "X-HubSpot-Request-Timestamp")
		if err != nil {
			return err
		}
		uri := origin(r, settings) + hubspotURI.Replace(target(r))
		if want := sum(sha256.New, []byte(secret), []byte(r.Method), []byte(uri), body, []byte(at)); !anyOf([]string{value}, want, decodeBase64) {
			return signature.ErrMismatch
		}
		return fresh(at, time.Millisecond, wideTolerance, now)
	}, nil
}

// hubspotURI decodes the escapes that HubSpot does not sign.
var hubspotURI = strings.NewReplacer(
	"%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2C", ",", "%3B", ";",
)

// hubspotSchemeV1 is SHA-256 in hex of the secret and the body: no MAC, but what private
// apps are sent. Who has a delivery can append to it, which is no JSON then.
func hubspotSchemeV1(secret string, _ Settings) (check, error) {
	return func(r *http.Request, body []byte, _ time.Time) error {
		value, err := one(r, "X-HubSpot-Signature")
		if err != nil {
			return err
		}
		h := sha256.New()
		h.Write([]byte(secret))
		h.Write(body)
		if !anyOf([]string{value}, h.Sum(nil), decodeHex) {
			return signature.ErrMismatch
		}
		return nil
	}, nil
}
