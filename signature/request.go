package signature

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What bounds the work on a header before its signature is known to be right. Stripe's,
// with eight signatures, has 600 bytes; an OIDC token about 1 KiB.
const (
	maxHeader     = 8 << 10
	maxSignatures = 32
)

// one is the header's value, there once and not too long.
func one(r *http.Request, name string) (string, error) { return only(r.Header.Values(name)) }

func only(values []string) (string, error) {
	switch {
	case len(values) == 0, len(values) == 1 && values[0] == "":
		return "", ErrMissing
	case len(values) > 1:
		return "", ErrRepeated
	case len(values[0]) > maxHeader:
		return "", ErrMalformed
	}
	return strings.Trim(values[0], " \t"), nil // HTTP/2 does not trim, unlike HTTP/1.1
}

func decoder(encoding string) func(string) ([]byte, error) {
	if encoding == Hex {
		return hex.DecodeString
	}
	return decodeBase64
}

// decodeBase64 takes one spelling only: others would be another header for the same
// signature. The library skips line breaks.
func decodeBase64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, ErrMalformed
	}
	return base64.StdEncoding.Strict().DecodeString(text)
}

// anyOf compares every one with what is wanted, in a time that does not depend on which
// of them it is.
func anyOf(sent [][]byte, want []byte) bool {
	match := 0
	for _, mac := range sent {
		match |= subtle.ConstantTimeCompare(mac, want)
	}
	return match == 1
}

// fresh compares a written time with now.
func fresh(text, unit string, tolerance time.Duration, now time.Time) error {
	at, err := stamp(text, unit)
	if err != nil {
		return err
	}
	if age := now.Sub(at); age > tolerance || age < -tolerance {
		return ErrStale
	}
	return nil
}

// stamp reads a time strictly: nothing else may have the same signature.
func stamp(text, unit string) (time.Time, error) {
	if unit == "rfc3339" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return time.Time{}, ErrMalformed
		}
		return at, nil
	}
	if len(text) == 0 || len(text) > 13 || strings.Trim(text, "0123456789") != "" {
		return time.Time{}, ErrMalformed
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, ErrMalformed
	}
	if unit == "ms" {
		return time.UnixMilli(n), nil
	}
	return time.Unix(n, 0), nil
}
