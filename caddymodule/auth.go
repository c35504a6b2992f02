package caddymodule

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/signature"
)

// Auth says how a webhook's senders prove who they are.
type Auth struct {
	// Beside the kinds below, "none": anybody may send; and "upstream": n8n's trigger node
	// decides, with a secret that only it knows.
	signature.Config

	// How far a signed time may be from now, both ways. Default: 5m. Wider only where the
	// sender does not sign its retries anew: an older delivery meets its record.
	Tolerance caddy.Duration `json:"tolerance,omitempty"`

	// The secrets that are accepted, several while they are rotated; of "ed25519" and
	// "ecdsa", the sender's public keys. Each is one {env.NAME} or {file./path} placeholder,
	// resolved when the configuration is loaded; literal and empty ones are refused.
	Secrets []string `json:"secrets,omitempty"`
}

// open reports whether the gate itself asks for no proof.
func (a Auth) open() bool { return a.Kind == "none" || a.Kind == authUpstream }

// proof is the configuration with the tolerance.
func (a Auth) proof() signature.Config {
	c := a.Config
	c.Tolerance = time.Duration(a.Tolerance)
	return c
}

// ofPresets are kinds that only a preset configures: it knows the hosts whose
// certificates may be fetched.
var ofPresets = words(signature.KindSNS, signature.KindPayPal, signature.KindTwilio)

func (a Auth) validate() error {
	if a.open() {
		if !reflect.DeepEqual(a, Auth{Config: signature.Config{Kind: a.Kind}}) {
			return fmt.Errorf("auth %s takes no arguments", a.Kind)
		}
		return nil
	}
	if ofPresets[a.Kind] {
		return fmt.Errorf("auth %s: say provider %s", a.Kind, a.Kind)
	}
	if err := a.proof().Validate(); err != nil {
		return fmt.Errorf("auth %w", err)
	}
	switch {
	case a.NeedsSecret() && len(a.Secrets) == 0:
		return fmt.Errorf("auth %s needs at least one secret", a.Kind)
	case !a.NeedsSecret() && len(a.Secrets) > 0:
		return fmt.Errorf("auth %s takes no secret", a.Kind)
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

// authenticator resolves the secrets. nil accepts everybody.
func (a Auth) authenticator() (authenticator, error) {
	if a.open() {
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
	verifier, err := a.proof().Verifier(secrets, signature.World{})
	if err != nil {
		return nil, fmt.Errorf("auth %s: %w", a.Kind, err)
	}
	return verifier, nil
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
