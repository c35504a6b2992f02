package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/signature"
)

// Webhook is one production webhook of n8n that the gate protects.
type Webhook struct {
	// The webhook's path in n8n, below the prefix, decoded and without slashes at
	// its ends: "stripe-orders" is n8n's /webhook/stripe-orders.
	Pattern string `json:"pattern"`

	// The business action that is protected. Default: the pattern. A name of its
	// own keeps an event's claim when the path changes.
	Operation string `json:"operation,omitempty"`

	Options
}

// UnmarshalJSON says of options that are to come that they are not built yet.
func (w *Webhook) UnmarshalJSON(b []byte) error {
	type plain Webhook
	return unmarshalStrict(b, (*plain)(w), unbuiltOption, unbuiltWebhook)
}

// webhook is a Webhook ready for use.
type webhook struct {
	operation   string
	auth        *signature.Token // nil: anybody may send
	key         *keyextract.Rule
	inFlight    gauge
	maxInFlight int
	wait        time.Duration
	timeout     time.Duration
	retention   time.Duration
	maxBody     int64
	maxAttempts int
	logKey      string
}

// compile makes w ready, with what the gate says about all its webhooks.
func (w *Webhook) compile(gate Options) (*webhook, error) {
	operation := first(w.Operation, w.Pattern)
	switch {
	case strings.HasPrefix(operation, "."):
		return nil, fmt.Errorf("operation %q: names that begin with a dot are the gate's own", operation)
	case len(operation) > maxOperation || strings.ContainsFunc(operation, unprintable):
		return nil, fmt.Errorf("operation %q: must be at most %d bytes, without spaces and control characters", operation, maxOperation)
	}
	if err := w.validate(); err != nil {
		return nil, err
	}
	o := w.inherit(gate)
	if o.Auth == nil {
		return nil, errors.New("no authentication: say how senders prove who they are, or `auth none`")
	}
	auth, err := o.Auth.verifier()
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	if len(o.Key) == 0 {
		return nil, errors.New("no event key: say with `key` where it stands in a delivery")
	}
	key, err := keyextract.Compile(o.Key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	wait := defaultWait
	if o.InFlightWait != nil {
		wait = time.Duration(*o.InFlightWait)
	}
	return &webhook{
		operation: operation, auth: auth, key: key, wait: wait,
		maxInFlight: w.MaxInFlight, maxBody: o.MaxBody, maxAttempts: o.MaxAttempts,
		timeout: time.Duration(o.Timeout), retention: time.Duration(o.Retention), logKey: o.LogKey,
	}, nil
}

// maxOperation bounds a name that stands in headers, metric labels and keys of the store.
const maxOperation = 200

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f || r == '\ufffd' }

// compileAll makes the gate's webhooks ready and gives each its operation.
func (h *Handler) compileAll() error {
	routes := make([]n8n.Route, len(h.Webhooks))
	for i, w := range h.Webhooks {
		// Without what they matched in the key, many events would be one.
		if strings.Contains(w.Pattern, "*") {
			return fmt.Errorf("webhook %q: wildcards ('*') are not built yet", w.Pattern)
		}
		routes[i].Pattern = w.Pattern
	}
	paths, err := n8n.NewTable(h.Prefix, routes)
	if err != nil {
		return err
	}
	h.paths = paths
	for i := range h.Webhooks {
		w := &h.Webhooks[i]
		hook, err := w.compile(h.Options)
		if err != nil {
			return fmt.Errorf("webhook %s: %w", w.Pattern, err)
		}
		// The same webhook of the same gate, and no other, may come twice.
		whole, err := json.Marshal([]any{w, h.Prefix, h.ForwardRaw, h.Options})
		if err != nil {
			return err
		}
		if err := h.app.own(hook.operation, string(whole), w.Operation != ""); err != nil {
			return fmt.Errorf("webhook %s: %w", w.Pattern, err)
		}
		h.webhooks = append(h.webhooks, hook)
	}
	return nil
}
