package signature

import (
	"crypto/sha256"
	"crypto/x509"
	"net/http"
	"slices"
	"time"
)

// basic is a user's name and password (RFC 7617).
type basic struct{ user, password [sha256.Size]byte }

func newBasic(user, password string) basic {
	return basic{user: sha256.Sum256([]byte(user)), password: sha256.Sum256([]byte(password))}
}

func (b basic) verify(r *http.Request, _ []byte, _ time.Time) error {
	if _, err := one(r, "Authorization"); err != nil {
		return err
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		return ErrMalformed
	}
	// Both are compared in any case: the time must not tell which one is wrong.
	known, right := sameText(user, b.user), sameText(password, b.password)
	if !known || !right {
		return ErrMismatch
	}
	return nil
}

// mtls are the subjects that may send. That the certificate is true was checked by
// Caddy's client_auth: without it there are no verified chains.
type mtls []string

func (m mtls) verify(r *http.Request, _ []byte, _ time.Time) error {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return ErrMissing
	}
	for _, chain := range r.TLS.VerifiedChains {
		if len(chain) > 0 && m.knows(chain[0]) {
			return nil
		}
	}
	return ErrMismatch
}

func (m mtls) knows(c *x509.Certificate) bool {
	return slices.Contains(m, c.Subject.CommonName) || slices.ContainsFunc(c.DNSNames, func(name string) bool { return slices.Contains(m, name) })
}
