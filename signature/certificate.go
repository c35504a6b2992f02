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

// How many certificates are kept, and how long; and how many are fetched a minute at
// most: their URLs stand in the requests, and who forges one can name any at the
// sender's host.
const (
	certificatesKept  = 16
	certificatesLast  = 24 * time.Hour
	certificatesPause = 5 * time.Second
)

// certificates are those that a sender's messages name.
type certificates struct {
	allowed *regexp.Regexp // the URLs, whole
	fetch   fetch

	mu    sync.Mutex // held while fetching
	known map[string]fetchedCertificate
	tried time.Time
}

type fetchedCertificate struct {
	*x509.Certificate
	at time.Time
}

// find is the certificate at that URL. Others than the sender's own URLs are a forgery.
func (c *certificates) find(ctx context.Context, from string, now time.Time) (*x509.Certificate, error) {
	// url.Parse refuses what two readers could take for two hosts.
	if u, err := url.Parse(from); err != nil || u.User != nil || !c.allowed.MatchString(from) {
		return nil, ErrMismatch
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known[from]; ok && now.Sub(known.at) < certificatesLast {
		return known.valid(now)
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
	if c.known == nil || len(c.known) >= certificatesKept {
		c.known = make(map[string]fetchedCertificate)
	}
	certificate := fetchedCertificate{parsed, now}
	c.known[from] = certificate
	return certificate.valid(now)
}

// valid is the certificate, if it is of this time. That it is the sender's is known by
// the host from which it came, over TLS.
func (c fetchedCertificate) valid(now time.Time) (*x509.Certificate, error) {
	if now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return nil, ErrMismatch
	}
	return c.Certificate, nil
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
