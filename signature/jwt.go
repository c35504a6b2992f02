package signature

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// shared is a token that is signed with a shared secret, as monday's. What it proves is
// the sender, not the body.
type shared struct {
	header string
	key    []byte
	claims claims
}

func newJWT(c Config, secret string) (proof, error) {
	return shared{header: or(c.Header, "Authorization"), key: []byte(secret), claims: claimsOf(c)}, nil
}

func (s shared) verify(r *http.Request, _ []byte, now time.Time) error {
	token, err := bearer(r, s.header, jose.HS256)
	if err != nil {
		return err
	}
	return s.claims.verify(token, s.key, now)
}

// issued is a token that an identity provider has signed, as Google's for Pub/Sub
// (OpenID Connect Core 1.0, section 3.1.3.7).
type issued struct {
	header string
	keys   *keySet
	claims claims
}

func newOIDC(c Config, w World) proof {
	return issued{header: or(c.Header, "Authorization"), keys: &keySet{url: c.KeysURL, fetch: w.fetcher()}, claims: claimsOf(c)}
}

func (i issued) verify(r *http.Request, _ []byte, now time.Time) error {
	token, err := bearer(r, i.header, jose.RS256, jose.ES256)
	if err != nil {
		return err
	}
	key, err := i.keys.find(r.Context(), token.Headers[0].KeyID, now)
	if err != nil {
		return err
	}
	return i.claims.verify(token, key, now)
}

// bearer reads the header's token. The algorithms that are taken stand in the
// configuration: a token never chooses its own (RFC 8725, section 3.1).
func bearer(r *http.Request, header string, algorithms ...jose.SignatureAlgorithm) (*jwt.JSONWebToken, error) {
	value, err := one(r, header)
	if err != nil {
		return nil, err
	}
	if scheme, text, found := strings.Cut(value, " "); found {
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, ErrMalformed
		}
		value = text
	}
	token, err := jwt.ParseSigned(value, algorithms)
	if err != nil || len(token.Headers) != 1 {
		return nil, ErrMalformed
	}
	return token, nil
}

// claims are what a token must say.
type claims struct {
	expected jwt.Expected
	email    string
	leeway   time.Duration
}

func claimsOf(c Config) claims {
	e := jwt.Expected{Issuer: c.Issuer}
	if c.Audience != "" {
		e.AnyAudience = jwt.Audience{c.Audience}
	}
	return claims{expected: e, email: c.Email, leeway: c.Tolerance}
}

// verified is true, or as some issuers write it, "true".
type verified bool

func (v *verified) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	*v = text == "true"
	return nil
}

var _ json.Unmarshaler = (*verified)(nil)

// verify checks the signature, then what it says. A token without an end would be good
// for ever.
func (c claims) verify(token *jwt.JSONWebToken, key any, now time.Time) error {
	var standard jwt.Claims
	var mail struct {
		Email    string   `json:"email"`
		Verified verified `json:"email_verified"`
	}
	if token.Claims(key, &standard, &mail) != nil {
		return ErrMismatch
	}
	err := standard.ValidateWithLeeway(c.expected.WithTime(now), c.leeway)
	switch {
	case errors.Is(err, jwt.ErrExpired), errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return ErrStale
	case err != nil, standard.Expiry == nil:
		return ErrMismatch
	case c.email != "" && (mail.Email != c.email || !bool(mail.Verified)):
		return ErrMismatch
	}
	return nil
}
