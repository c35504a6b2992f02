package caddymodule

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/signature"
)

const (
	defaultTimeout   = 90 * time.Second
	defaultMaxBody   = 16 << 20 // n8n's own N8N_PAYLOAD_SIZE_MAX; above it n8n answers an ambiguous 500
	defaultAttempts  = 10
	defaultInFlight  = 1024 // forwards of one gate at once
	defaultWait      = 2 * time.Second
	defaultRetention = 30 * 24 * time.Hour

	longestTimeout   = 24 * time.Hour
	longestRetention = 10 * 365 * 24 * time.Hour
	largestBody      = 1 << 30

	// What an attempt may take beyond its timeout, for the receipt to be stored.
	settleGrace = 30 * time.Second

	// Until they can be configured:
	maxResponse = 16 << 20 // a longer response is read to its end and thrown away
	maxReceipt  = 64 << 10 // a longer body is not kept for replays
)

// Options are what a webhook block sets; at the gate they are the defaults for
// every webhook, save max_in_flight.
type Options struct {
	// How senders prove who they are. Required, in the webhook or at the gate:
	// an open webhook says so with the kind "none".
	Auth *Auth `json:"auth,omitempty"`

	// Where the event key stands in a delivery: 1 to 8 parts, in order. Required,
	// in the webhook or at the gate. A webhook's own list replaces the gate's.
	Key []keyextract.Source `json:"key,omitempty"`

	// What happens to a delivery without a key. Only "reject" (422), the default, is built yet.
	MissingKey string `json:"missing_key,omitempty"`

	// How long a duplicate waits for the attempt in flight before it is told to
	// come again. 0 tells it at once. Default: 2s.
	InFlightWait *caddy.Duration `json:"in_flight_wait,omitempty"`

	// How long one attempt may take, whatever the sender does meanwhile. After
	// that it is ambiguous. Default: 90s.
	Timeout caddy.Duration `json:"timeout,omitempty"`

	// The largest request body in bytes; larger ones get 413. Default: 16 MiB, n8n's own limit.
	MaxBody int64 `json:"max_body,omitempty"`

	// How many failures reported by the workflow use up an event's attempts. Default: 10.
	MaxAttempts int `json:"max_attempts,omitempty"`

	// How many deliveries may be forwarded at once; above, senders are told to come
	// again. At the gate: of all its webhooks, default 1024. In a webhook: a further
	// bound of its own, default none.
	MaxInFlight int `json:"max_in_flight,omitempty"`

	// How long completed events are remembered, at least. Default: 30d. It must be
	// longer than the sender goes on retrying.
	Retention caddy.Duration `json:"retention,omitempty"`

	// How event keys stand in the log: "hash" (default), "plain" or "off".
	LogKey string `json:"log_key,omitempty"`
}

// inherit fills what o leaves out from the gate's defaults.
func (o Options) inherit(gate Options) Options {
	if o.Auth == nil {
		o.Auth = gate.Auth
	}
	if len(o.Key) == 0 {
		o.Key = gate.Key
	}
	if o.InFlightWait == nil {
		o.InFlightWait = gate.InFlightWait
	}
	o.MissingKey = first(o.MissingKey, gate.MissingKey, "reject")
	o.Timeout = first(o.Timeout, gate.Timeout, caddy.Duration(defaultTimeout))
	o.MaxBody = first(o.MaxBody, gate.MaxBody, defaultMaxBody)
	o.MaxAttempts = first(o.MaxAttempts, gate.MaxAttempts, defaultAttempts)
	o.Retention = first(o.Retention, gate.Retention, caddy.Duration(defaultRetention))
	o.LogKey = first(o.LogKey, gate.LogKey, "hash")
	return o
}

// first returns the first value that is set.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

// validate refuses values that make no sense, wherever they stand.
func (o Options) validate() error {
	switch {
	case o.MissingKey == "pass" || o.MissingKey == "review":
		return fmt.Errorf("missing_key %s: not built yet", o.MissingKey)
	case o.MissingKey != "" && o.MissingKey != "reject":
		return fmt.Errorf("missing_key %q: must be reject", o.MissingKey)
	case o.InFlightWait != nil && *o.InFlightWait < 0:
		return errors.New("in_flight wait must not be negative")
	case o.Timeout < 0 || time.Duration(o.Timeout) > longestTimeout:
		return fmt.Errorf("timeout must be positive and at most %s", longestTimeout)
	case o.MaxBody < 0 || o.MaxBody > largestBody:
		return fmt.Errorf("max_body must be positive and at most %d bytes: bodies are held in memory", largestBody)
	case o.MaxAttempts < 0:
		return errors.New("max_attempts must be positive")
	case o.MaxInFlight < 0:
		return errors.New("max_in_flight must be positive")
	case o.Retention < 0 || time.Duration(o.Retention) > longestRetention:
		return fmt.Errorf("retention must be positive and at most %d days", longestRetention/(24*time.Hour))
	case o.LogKey != "" && o.LogKey != "hash" && o.LogKey != "plain" && o.LogKey != "off":
		return fmt.Errorf("log_key %q: must be hash, plain or off", o.LogKey)
	}
	if o.Auth != nil {
		return o.Auth.validate()
	}
	return nil
}

// Auth says how a webhook's senders prove who they are.
type Auth struct {
	// "token": a constant token in a header or query parameter. "none": anybody may send.
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
	case "none":
		if a.Header != "" || a.Query != "" || len(a.Secrets) > 0 {
			return errors.New("auth none takes no arguments")
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

// verifier resolves the secrets. nil accepts everybody.
func (a Auth) verifier() (*signature.Token, error) {
	if a.Kind == "none" {
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
	return signature.NewToken(a.Header, a.Query, secrets)
}

// secretPlaceholder is all that may stand for a secret: what is written out would
// lie in clear in /config/ and in Caddy's autosave file.
var secretPlaceholder = regexp.MustCompile(`^\{(env|file)\.[^{}]+\}$`)

// resolveSecret reads a secret. Caddy's file provider answers an unreadable file
// with an empty value (replacer.go), so empty is an error like unknown. Errors
// name the placeholder, never the value.
func resolveSecret(placeholder string) (string, error) {
	if !secretPlaceholder.MatchString(placeholder) {
		return "", errors.New("a secret must be one {env.NAME} or {file./path} placeholder, not written out")
	}
	secret, err := caddy.NewReplacer().ReplaceOrErr(placeholder, true, true)
	if err != nil || secret == "" {
		return "", fmt.Errorf("the secret %s is empty or cannot be read", placeholder)
	}
	return secret, nil
}
