package caddymodule

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/signature"
)

// Auth says how a webhook's senders prove who they are.
type Auth struct {
	// "token": a constant token in a header or query parameter. "none": anybody may send.
	// "upstream": n8n's trigger node decides, with a secret that only it knows.
	Kind string `json:"kind"`

	// The header that carries the token.
	Header string `json:"header,omitempty"`

	// Or the query parameter that does.
	Query string `json:"query,omitempty"`

	// The tokens that are accepted, several while they are rotated. Each is one
	// {env.NAME} or {file./path} placeholder, resolved when the configuration is
	// loaded; literal and empty secrets are refused.
	Secrets []string `json:"secrets,omitempty"`
}

func (a Auth) validate() error {
	switch a.Kind {
	case "none", authUpstream:
		if a.Header != "" || a.Query != "" || len(a.Secrets) > 0 {
			return fmt.Errorf("auth %s takes no arguments", a.Kind)
		}
	case "token":
		if (a.Header == "") == (a.Query == "") {
			return errors.New("auth token needs either a header or a query parameter")
		}
		if len(a.Secrets) == 0 {
			return errors.New("auth token needs at least one secret")
		}
	default:
		if unbuiltAuth[a.Kind] {
			return fmt.Errorf("auth %s: not built yet", a.Kind)
		}
		return fmt.Errorf("auth %q: unknown kind", a.Kind)
	}
	return nil
}

// authenticator decides whether a delivery comes from its sender.
type authenticator interface {
	// Verify reports why r does not. body is as it was sent; nil will do where
	// NeedsBody says so. The reason holds nothing that was sent.
	Verify(r *http.Request, body []byte) error
	NeedsBody() bool
	// Query is the parameter that carries a secret; empty where none does.
	Query() string
}

// tokenAuth authenticates by a constant token.
type tokenAuth struct{ *signature.Token }

func (t tokenAuth) Verify(r *http.Request, _ []byte) error { return t.Token.Verify(r) }
func (tokenAuth) NeedsBody() bool                          { return false }

// authenticator resolves the secrets. nil accepts everybody.
func (a Auth) authenticator() (authenticator, error) {
	if a.Kind == "none" || a.Kind == authUpstream {
		return nil, nil
	}
	secrets := make([]string, len(a.Secrets))
	for i, s := range a.Secrets {
		secret, err := resolveSecret(s)
		if err != nil {
			return nil, err
		}
		secrets[i] = secret
	}
	token, err := signature.NewToken(a.Header, a.Query, secrets)
	return tokenAuth{token}, err
}

// secretPlaceholder is all that may stand for a secret: what is written out would
// lie in clear in /config/ and in Caddy's autosave file.
var secretPlaceholder = regexp.MustCompile(`^\{(env|file)\.[^{}]+\}$`)

var errWrittenOut = errors.New("a secret must be one {env.NAME} or {file./path} placeholder, not written out")

// resolveSecret reads a secret. Caddy's file provider answers an unreadable file
// with an empty value (replacer.go), so empty is an error like unknown. Errors
// name the placeholder, never the value.
func resolveSecret(placeholder string) (string, error) {
	if !secretPlaceholder.MatchString(placeholder) {
		return "", errWrittenOut
	}
	secret, err := caddy.NewReplacer().ReplaceOrErr(placeholder, true, true)
	if err != nil || secret == "" {
		return "", fmt.Errorf("the secret %s is empty or cannot be read", placeholder)
	}
	return secret, nil
}
