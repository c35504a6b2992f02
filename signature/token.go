package signature

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"
)

// Why a delivery is not authentic. None of them holds anything that was sent.
var (
	// ErrMissing: the request does not carry the token at all.
	ErrMissing = errors.New("token is missing")
	// ErrMismatch: it carries another token.
	ErrMismatch = errors.New("token is wrong")
	// ErrRepeated: it carries more than one, so that another reader might look
	// at another one.
	ErrRepeated = errors.New("token is there more than once")
	// ErrQuery: the query does not parse, so that another reader might find
	// another token in it.
	ErrQuery = errors.New("query is malformed")
)

// Token authenticates by a constant secret in a header or a query parameter.
// The whole value is the token ("Bearer …" included). It is safe for concurrent
// use and never shows its secrets.
type Token struct {
	header, query string
	secrets       [][sha256.Size]byte
}

// NewToken makes a Token that is read from the header or the query parameter
// named, exactly one of them, and may be any of secrets, so that a new one can be
// brought in before the old one is taken away. Errors do not hold secrets.
func NewToken(header, query string, secrets []string) (*Token, error) {
	switch {
	case (header == "") == (query == ""):
		return nil, errors.New("a token stands in a header or in a query parameter: name one of them")
	case header != "":
		for i := range len(header) {
			if !tokenChar(header[i]) {
				return nil, fmt.Errorf("%q cannot stand in a header's name", header[i:i+1])
			}
		}
		header = http.CanonicalHeaderKey(header)
	}
	if len(secrets) == 0 {
		return nil, errors.New("a token needs at least one secret")
	}
	t := &Token{header: header, query: query, secrets: make([][sha256.Size]byte, len(secrets))}
	for i, secret := range secrets {
		switch {
		case secret == "":
			// Would let everybody in who sends an empty token.
			return nil, fmt.Errorf("secret %d is empty", i+1)
		case strings.TrimSpace(secret) != secret:
			// Headers arrive trimmed, so it could never match; a file's last
			// newline gets here this way.
			return nil, fmt.Errorf("secret %d begins or ends with white space", i+1)
		case strings.ContainsFunc(secret, unicode.IsControl):
			return nil, fmt.Errorf("secret %d holds a control character", i+1)
		}
		t.secrets[i] = sha256.Sum256([]byte(secret))
	}
	return t, nil
}

// Query is the parameter that carries the token; empty where a header does.
func (t *Token) Query() string { return t.query }

// Verify reports why r is not authentic: ErrMissing, ErrMismatch, ErrRepeated or
// ErrQuery. It does not read the body. How long it takes does not depend on how
// much of a secret was guessed, nor on which secret matches.
func (t *Token) Verify(r *http.Request) error {
	var values []string
	if t.header != "" {
		values = r.Header[t.header]
	} else {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return ErrQuery
		}
		values = query[t.query]
	}
	switch {
	case len(values) == 0:
		return ErrMissing
	case len(values) > 1:
		return ErrRepeated
	}
	value := values[0]
	if t.header != "" {
		value = strings.Trim(value, " \t") // HTTP/2 does not trim, unlike HTTP/1.1
	}
	if value == "" {
		return ErrMissing
	}
	// Sums have one length, so that the comparison tells nothing of a secret's.
	sum := sha256.Sum256([]byte(value))
	match := 0
	for i := range t.secrets {
		match |= subtle.ConstantTimeCompare(sum[:], t.secrets[i][:])
	}
	if match != 1 {
		return ErrMismatch
	}
	return nil
}

// tokenChar reports whether c may stand in a header's name (RFC 9110, tchar).
func tokenChar(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
