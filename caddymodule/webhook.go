package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/provider"
	"github.com/n8n-gate/n8n-gate/store"
)

// Webhook is one production webhook of n8n that the gate protects.
type Webhook struct {
	// The webhook's path in n8n, below the prefix, decoded and without slashes at
	// its ends: "stripe-orders" is n8n's /webhook/stripe-orders.
	Pattern string `json:"pattern"`

	// The business action that is protected. Default: the pattern, behind the methods
	// and a slash where they are others than POST ("GET/orders"). A name of its own
	// keeps the events' claims when the path changes.
	Operation string `json:"operation,omitempty"`

	// Former names of the operation: its events are looked up under them as well.
	OperationWas []string `json:"operation_was,omitempty"`

	Options
}

// UnmarshalJSON says of options that are to come that they are not built yet.
func (w *Webhook) UnmarshalJSON(b []byte) error {
	type plain Webhook
	return unmarshalStrict(b, (*plain)(w), unbuiltOption)
}

// webhook is a Webhook ready for use.
type webhook struct {
	stream   bool             // mode pass: nothing below but auth counts
	auth     authenticator    // nil: anybody may send
	upstream bool             // n8n authenticates
	sender   *provider.Sender // of a preset

	handshakes  string        // answer or pass
	comesBack   time.Duration // after its last delivery, the sender may
	acknowledge *Response     // what replays without a response say; nil: nothing
	retryAfter  string        // of transient answers; empty: the gate's

	pattern       string
	operation     *operation
	key           keyRuler         // nil: nothing has a key, all passes
	formerKey     *keyextract.Rule // key_changed from
	pings         bool             // deliveries without any key pass
	fingerprint   *keyextract.Fingerprint
	differing     string // hold, flag or off: what another fingerprint leads to
	reusedBody    string
	judge         judge
	respond       map[string]Response
	actionID      *place
	receiptBody   int64
	receiptHeader []string
	maxResponse   int64
	keepOrigin    bool
	storeDown     string
	inFlight      gauge
	maxInFlight   int
	wait          time.Duration
	timeout       time.Duration
	retention     time.Duration
	repeatSafe    time.Duration // 0: a doubt is never repeated
	maxBody       int64
	maxAttempts   int
	logKey        string
}

// compile makes w ready, with what the gate says about all its webhooks.
func (w *Webhook) compile(gate Options, upstream string) (*webhook, error) {
	if err := w.validate(); err != nil {
		return nil, err
	}
	o, sender, err := w.settled(gate)
	if err != nil {
		return nil, err
	}
	hook := &webhook{sender: sender, handshakes: o.Handshake, comesBack: strandedAfter, stream: o.Mode == "pass", pattern: w.Pattern, logKey: o.LogKey, operation: &operation{name: w.operation(o.Methods), explicit: w.Operation != ""}}
	if err := hook.authenticateBy(o.Auth); err != nil {
		return nil, err
	}
	for _, word := range []decision{decidedUnrouted, decidedMethod} {
		if _, set := w.Respond[string(word)]; set {
			return nil, fmt.Errorf("respond %s: belongs to the gate: no webhook was found then", word)
		}
	}
	hook.respond = o.Respond
	if hook.stream {
		return hook, w.onlyPasses()
	}
	if err := checkOperations(append([]string{hook.operation.name}, w.OperationWas...)); err != nil {
		return nil, err
	}
	if err := hook.identify(o, strings.Count("/"+w.Pattern+"/", "/*/")); err != nil {
		return nil, err
	}
	if hook.judge, err = o.judge(upstream); err != nil {
		return nil, err
	}
	if o.ActionID != nil && *o.ActionID != (Place{}) {
		p, err := o.ActionID.compile()
		if err != nil {
			return nil, inOption("action_id", err)
		}
		hook.actionID = &p
	}
	hook.keepOrigin, hook.storeDown = o.Origin == "keep", o.StoreDown
	hook.receiptBody, hook.receiptHeader, hook.maxResponse = o.ReceiptBody, distinct(o.ReceiptHeader), o.MaxResponse
	hook.operation.was, hook.operation.comesBack = w.OperationWas, hook.comesBack
	hook.wait = defaultWait
	if o.InFlightWait != nil {
		hook.wait = time.Duration(*o.InFlightWait)
	}
	hook.maxInFlight, hook.maxBody, hook.maxAttempts = w.MaxInFlight, o.MaxBody, o.MaxAttempts
	hook.timeout, hook.retention = time.Duration(o.Timeout), time.Duration(o.Retention)
	if o.RepeatSafe != nil {
		hook.repeatSafe = time.Duration(*o.RepeatSafe)
	}
	if hook.repeatSafe != 0 && hook.repeatSafe <= hook.timeout+settleGrace {
		return nil, fmt.Errorf("repeat_safe must be longer than timeout and %s, together %s: nothing could be repeated in time", settleGrace, hook.timeout+settleGrace)
	}
	return hook, nil
}

// settled are the webhook's options, with what the gate and the sender's preset say
// beneath them.
func (w *Webhook) settled(gate Options) (o Options, sender *provider.Sender, err error) {
	o = w.merge(gate)
	if o.Provider != nil {
		if sender, err = o.Provider.sender(); err != nil {
			return o, nil, err
		}
		o.settle(sender)
	} else if o.Handshake != "" {
		return o, nil, errors.New("handshake: only a provider has one")
	}
	return o.defaults(), sender, nil
}

// authenticateBy says how deliveries are authenticated.
func (hook *webhook) authenticateBy(auth *Auth) (err error) {
	switch {
	case hook.sender != nil:
		hook.auth, hook.comesBack = senderAuth{hook.sender}, comesBack(hook.sender)
		p := hook.sender.Preset()
		if p.Acknowledge.Status != 0 {
			ack := responseOf(p.Acknowledge)
			hook.acknowledge = &ack
		}
		if p.RetryAfter > 0 {
			hook.retryAfter = strconv.Itoa(int(p.RetryAfter / time.Second))
		}
	case auth == nil && !hook.stream:
		return errors.New("no authentication: say how senders prove who they are, or `auth none`")
	case auth != nil:
		if hook.auth, err = auth.authenticator(); err != nil {
			return fmt.Errorf("auth: %w", err)
		}
		hook.upstream = auth.Kind == authUpstream
	}
	if hook.stream && hook.auth != nil && hook.auth.NeedsBody() {
		return errors.New("mode pass does not wait for the body, which this authentication reads: use auth token, or none")
	}
	return nil
}

// keyRuler is a rule for an event key: key lines, or a preset's.
type keyRuler interface {
	Extract(keyextract.Input) (keyextract.Key, error)
	ReadsBody() bool
	String() string
}

// onlyPasses refuses what a webhook in mode pass says of its own and nobody heeds.
func (w *Webhook) onlyPasses() error {
	own := w.Options
	own.Mode, own.Methods, own.Auth, own.Provider, own.LogKey, own.Respond = "", nil, nil, nil, "", nil
	if !reflect.DeepEqual(own, Options{}) || len(w.OperationWas) > 0 {
		return errors.New("mode pass claims nothing: only operation, methods, auth, respond and log_key go with it")
	}
	return nil
}

// action is the downstream's id of what a completed exchange did.
func (hook *webhook) action(ex *exchange, v verdict) string {
	if hook.actionID == nil || v.to != store.Completed {
		return ""
	}
	id, _ := hook.actionID.text(ex)
	if len(id) > maxActionID || strings.ContainsFunc(id, unicode.IsControl) {
		return ""
	}
	return id
}

// maxActionID bounds what a workflow's answer can put into a record.
const maxActionID = 200

// identify prepares what tells events apart. wildcards is how many segments of the
// path come first in every key.
func (hook *webhook) identify(o Options, wildcards int) (err error) {
	hook.pings = o.MissingKey == "pass"
	switch {
	case len(o.Key) > 0:
		if hook.key, err = keyextract.CompileForPath(wildcards, o.Key); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	case hook.sender != nil && len(hook.sender.Preset().Shapes) > 0:
		if hook.key, err = hook.sender.Preset().Key(wildcards); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	case hook.pings:
		return nil
	default:
		return errors.New("no event key: say with `key` where it stands in a delivery")
	}
	segments := strings.Repeat("*, ", wildcards)
	rule := keyRule{rule: segments + hook.key.String()}
	if hook.upstream {
		if err := o.checkUpstream(wildcards); err != nil {
			return err
		}
		rule.former = rule.rule // those records are looked up as well
		rule.rule += ", the content"
	}
	if o.KeyChanged != nil {
		rule.fresh = o.KeyChanged.Fresh
		if len(o.KeyChanged.From) > 0 {
			if hook.formerKey, err = keyextract.CompileForPath(wildcards, o.KeyChanged.From); err != nil {
				return fmt.Errorf("key_changed from: %w", err)
			}
			rule.former = segments + hook.formerKey.String()
		}
	}
	hook.operation.keys, hook.operation.upstream = []keyRule{rule}, hook.upstream
	hook.differing, hook.reusedBody = o.Fingerprint.Mode, o.ReusedBody
	if hook.differing != off {
		if hook.fingerprint, err = keyextract.CompileFingerprint(o.Fingerprint.Members); err != nil {
			return fmt.Errorf("fingerprint: %w", err)
		}
	}
	return nil
}

// operation is the name that the webhook's action has.
func (w *Webhook) operation(methods []string) string {
	name := w.Pattern
	if len(methods) > 0 && !slices.Equal(methods, []string{http.MethodPost}) {
		name = strings.Join(slices.Sorted(slices.Values(methods)), "+") + "/" + name
	}
	return first(w.Operation, name)
}

// maxOperation bounds a name that stands in headers, metric labels and keys of the store.
const maxOperation = 200

func checkOperations(names []string) error {
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "."):
			return fmt.Errorf("operation %q: names that begin with a dot are the gate's own", name)
		case name == "" || len(name) > maxOperation || strings.ContainsFunc(name, unprintable):
			return fmt.Errorf("operation %q: must be 1 to %d bytes, without spaces and control characters", name, maxOperation)
		}
	}
	return nil
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f || r == '\ufffd' }

// compileAll makes the gate's webhooks ready and gives each its operation.
func (h *Handler) compileAll() error {
	routes := make([]n8n.Route, len(h.Webhooks))
	for i, w := range h.Webhooks {
		routes[i] = n8n.Route{Pattern: w.Pattern, Methods: w.merge(h.Options).Methods}
	}
	paths, err := n8n.NewTable(h.Prefix, routes)
	if err != nil {
		return err
	}
	h.paths = paths
	for i := range h.Webhooks {
		w := &h.Webhooks[i]
		hook, err := w.compile(h.Options, string(h.ForwardRaw))
		if err == nil && max(hook.maxBody, hook.maxResponse) > h.app.MaxMemory/2 {
			err = fmt.Errorf("max_body and max_response must be within half of max_memory, %d bytes", h.app.MaxMemory)
		}
		if err == nil && hook.key != nil {
			hook.operation.webhook = h.whole(w)
			hook.operation, err = h.app.own(hook.operation)
		}
		if err != nil {
			return fmt.Errorf("webhook %s: %w", w.Pattern, err)
		}
		h.webhooks = append(h.webhooks, hook)
	}
	return nil
}

// whole is the whole configuration that a webhook has: the same webhook of the same
// gate, and no other, may come twice.
func (h *Handler) whole(w *Webhook) string {
	b, _ := json.Marshal([]any{w, h.Prefix, h.ForwardRaw, h.Options}) // it was unmarshalled from JSON
	return string(b)
}
