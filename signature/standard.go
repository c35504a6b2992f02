package signature

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"
)

// standard is Standard Webhooks': "v1," and an HMAC-SHA256, or "v1a," and an ed25519
// signature, in base64, of id, time and body joined by dots. Not the specification's own
// library: it knows no v1a, no injected clock, and reads as many signatures as are sent.
// Source: github.com/standard-webhooks/standard-webhooks, spec.
type standard struct {
	id, at, signature string // the headers
	tolerance         time.Duration

	key    []byte            // of v1
	public ed25519.PublicKey // of v1a; one of both
}

func newStandard(c Config, secret string) (proof, error) {
	s := standard{
		id: c.standardHeader("Id"), at: c.standardHeader("Timestamp"), signature: c.standardHeader("Signature"),
		tolerance: c.Tolerance,
	}
	if text, ok := strings.CutPrefix(secret, "whpk_"); ok {
		public, err := decodeBase64(text)
		if err != nil || len(public) != ed25519.PublicKeySize {
			return nil, errors.New("must be whpk_ and an ed25519 public key in base64")
		}
		s.public = public
		return s, nil
	}
	key, err := keyOf(Whsec, secret)
	if err != nil {
		return nil, errors.New("must be whsec_ or whpk_ and base64")
	}
	s.key = key
	return s, nil
}

func (s standard) verify(r *http.Request, body []byte, now time.Time) error {
	id, err := one(r, s.id)
	if err != nil {
		return err
	}
	at, err := one(r, s.at)
	if err != nil {
		return err
	}
	value, err := one(r, s.signature)
	if err != nil {
		return err
	}
	if !s.matches(value, [][]byte{[]byte(id), []byte("."), []byte(at), []byte("."), body}) {
		return ErrMismatch
	}
	return fresh(at, "s", s.tolerance, now)
}

func (s standard) matches(value string, message [][]byte) bool {
	wanted := "v1"
	if s.public != nil {
		wanted = "v1a"
	}
	var sent [][]byte
	for one := range strings.FieldsSeq(value) {
		version, text, _ := strings.Cut(one, ",")
		if version != wanted || len(sent) == maxSignatures {
			continue
		}
		if mac, err := decodeBase64(text); err == nil {
			sent = append(sent, mac)
		}
	}
	if s.public == nil {
		return anyOf(sent, sum(hmac.New(sha256.New, s.key), message...))
	}
	if len(sent) == 0 {
		return false
	}
	whole := joined(message)
	for _, sig := range sent {
		if ed25519.Verify(s.public, whole, sig) {
			return true
		}
	}
	return false
}
