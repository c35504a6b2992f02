package signature

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"regexp"
	"sync"
	"time"
)

// How many certificates are kept, and how often one is fetched at most: their URLs stand
// in the requests, and who forges one can name any at the sender's host.
const (
	certificatesKept  = 16
	certificatesPause = 5 * time.Second
)

// certificates are those that a sender's messages name. A true one is used as long as it
// says, so that no forgery stands in its way.
type certificates struct {
	allowed *regexp.Regexp // the URLs, whole
	fetch   fetch

	fetching sync.Mutex // one at a time
	tried    time.Time

	mu    sync.Mutex
	known map[string]*x509.Certificate
}

// find is the certificate at that URL. Others than the sender's own URLs are a forgery.
func (c *certificates) find(ctx context.Context, from string, now time.Time) (*x509.Certificate, error) {
	// url.Parse refuses what two readers could take for two hosts.
	if u, err := url.Parse(from); err != nil || u.User != nil || !c.allowed.MatchString(from) {
		return nil, ErrMismatch
	}
	if known := c.get(from); known != nil {
		return valid(known, now)
	}
	c.fetching.Lock()
	defer c.fetching.Unlock()
	if known := c.get(from); known != nil {
		return valid(known, now)
	}
	if paused := now.Sub(c.tried); paused >= 0 && paused < certificatesPause {
		return nil, ErrUnavailable
	}
	c.tried = now
	body, err := c.fetch(ctx, from)
	if err != nil {
		return nil, ErrUnavailable
	}
	block, _ := pem.Decode(body)
	if block == nil {
		return nil, ErrMismatch
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, ErrMismatch
	}
	c.mu.Lock()
	if c.known == nil || len(c.known) >= certificatesKept {
		c.known = make(map[string]*x509.Certificate)
	}
	c.known[from] = parsed
	c.mu.Unlock()
	return valid(parsed, now)
}

func (c *certificates) get(from string) *x509.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[from]
}

// valid is the certificate, if it is of this time. That it is the sender's is known by
// the host from which it came, over TLS.
func valid(c *x509.Certificate, now time.Time) (*x509.Certificate, error) {
	if now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return nil, ErrMismatch
	}
	return c, nil
}

// rsaVerify checks a PKCS #1 v1.5 signature (RFC 8017, section 8.2).
func rsaVerify(c *x509.Certificate, hash crypto.Hash, message [][]byte, sig []byte) error {
	key, ok := c.PublicKey.(*rsa.PublicKey)
	if !ok {
		return ErrMismatch
	}
	if rsa.VerifyPKCS1v15(key, hash, sum(hash.New(), message...), sig) != nil {
		return ErrMismatch
	}
	return nil
}
