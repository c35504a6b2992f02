package signature

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"
)

// token is a constant word in a header or a query parameter. The whole value is the
// token ("Bearer …" included).
type token struct {
	header, query string
	secret        [sha256.Size]byte
}

func newToken(c Config, secret string) token {
	return token{header: c.Header, query: c.Query, secret: sha256.Sum256([]byte(secret))}
}

func (t token) verify(r *http.Request, _ []byte, _ time.Time) error {
	var value string
	var err error
	if t.header != "" {
		value, err = one(r, t.header)
	} else {
		value, err = parameter(r, t.query)
	}
	switch {
	case err != nil:
		return err
	case value == "":
		return ErrMissing
	case !sameText(value, t.secret):
		return ErrMismatch
	}
	return nil
}

// sameText compares sums, which have one length, so that the time tells nothing of a
// secret's.
func sameText(text string, want [sha256.Size]byte) bool {
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
}
