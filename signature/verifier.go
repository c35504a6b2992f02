package signature

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// Why a delivery is not authentic. None of them holds anything that was sent.
var (
	// ErrMissing: the request does not carry the credential at all.
	ErrMissing = errors.New("credential is missing")
	// ErrMismatch: it carries another one.
	ErrMismatch = errors.New("credential is wrong")
	// ErrRepeated: it carries more than one, so that another reader might look
	// at another one.
	ErrRepeated = errors.New("credential is there more than once")
	// ErrMalformed: it is written in another way, so that the configuration may not fit
	// the sender.
	ErrMalformed = errors.New("credential is malformed")
	// ErrQuery: the query does not parse, so that another reader might find
	// another token in it.
	ErrQuery = errors.New("query is malformed")
	// ErrStale: the signature is right, but too old or from the future.
	ErrStale = errors.New("signature is stale")
	// ErrUnavailable: the sender's key or certificate cannot be fetched at the moment, so
	// that nobody knows.
	ErrUnavailable = errors.New("the sender's key cannot be fetched")
)

// proof checks what one secret proves.
type proof interface {
	verify(r *http.Request, body []byte, now time.Time) error
}

// Verifier is a Config with secrets. It is safe for concurrent use and never shows its
// secrets.
type Verifier struct {
	config Config
	proofs []proof
	now    func() time.Time
}

// World is what a Verifier needs beside its secrets.
type World struct {
	// Now is the clock. Nil: the machine's.
	Now func() time.Time

	// Client fetches keys and certificates. Nil: one of its own, without proxies, that
	// follows no redirect.
	Client *http.Client
}

// Verifier makes c ready with the secrets, any of which may prove a delivery, so that a
// new one can be brought in before the old one is taken away. Errors are the user's to
// mend and do not hold secrets.
func (c Config) Verifier(secrets []string, w World) (*Verifier, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.NeedsSecret() == (len(secrets) == 0) {
		if c.NeedsSecret() {
			return nil, fmt.Errorf("%s needs at least one secret", c.Kind)
		}
		return nil, fmt.Errorf("%s takes no secret", c.Kind)
	}
	if w.Now == nil {
		w.Now = time.Now
	}
	if c.Tolerance == 0 {
		c.Tolerance = defaultTolerance
	}
	v := &Verifier{config: c, now: w.Now}
	if !c.NeedsSecret() {
		p, err := c.proof("", w)
		v.proofs = []proof{p}
		return v, err
	}
	for i, secret := range secrets {
		if err := checkSecret(secret); err != nil {
			return nil, fmt.Errorf("secret %d %w", i+1, err)
		}
		p, err := c.proof(secret, w)
		if err != nil {
			return nil, fmt.Errorf("secret %d %w", i+1, err)
		}
		v.proofs = append(v.proofs, p)
	}
	return v, nil
}

// checkSecret refuses what can never match, or always.
func checkSecret(secret string) error {
	switch {
	case secret == "":
		return errors.New("is empty") // would let in everybody who signs with nothing
	case strings.TrimSpace(secret) != secret:
		return errors.New("begins or ends with white space") // a file's last newline gets here this way
	case strings.ContainsFunc(secret, unicode.IsControl):
		return errors.New("holds a control character")
	}
	return nil
}

func (c Config) proof(secret string, w World) (proof, error) {
	switch c.Kind {
	case KindToken:
		return newToken(c, secret), nil
	case KindHMAC:
		return newHMAC(c, secret)
	case KindDigest:
		return newDigest(c, secret)
	case KindStandard:
		return newStandard(c, secret)
	case KindEd25519:
		return newEd25519(c, secret)
	case KindECDSA:
		return newECDSA(c, secret)
	case KindTwilio:
		return twilio{secret: []byte(secret), publicURL: c.PublicURL}, nil
	case KindBasic:
		return newBasic(c.User, secret), nil
	case KindMTLS:
		return mtls(c.Subjects), nil
	case KindJWT:
		return newJWT(c, secret)
	case KindOIDC:
		return newOIDC(c, w), nil
	case KindSNS:
		return newSNS(c, w), nil
	case KindPayPal:
		return newPayPal(c, secret, w), nil
	}
	return nil, fmt.Errorf("%q: unknown kind", c.Kind)
}

// NeedsBody reports whether the proof reads the body.
func (v *Verifier) NeedsBody() bool {
	covered := v.config.Covers()
	return covered.Body || len(covered.JSON) > 0 || v.config.Field != "" || v.config.Timestamp.Field != "" || v.config.Kind == KindPayPal
}

// Query is the parameter that carries a token; empty where none does.
func (v *Verifier) Query() string { return v.config.Query }

// Verify reports why r does not come from its sender, by one of the package's errors.
// body is as it was sent; nil will do where NeedsBody says so. Every secret is tried,
// whichever matches; the reason is the one that says most.
func (v *Verifier) Verify(r *http.Request, body []byte) error {
	now := v.now()
	var reason error
	proven := false
	for _, p := range v.proofs {
		err := p.verify(r, body, now)
		proven = proven || err == nil
		if reason == nil || errors.Is(reason, ErrMismatch) {
			reason = err
		}
	}
	if proven {
		return nil
	}
	return reason
}
