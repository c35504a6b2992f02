package caddymodule

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/keyextract"
)

const (
	defaultTimeout   = 90 * time.Second
	defaultMaxBody   = 16 << 20 // n8n's own N8N_PAYLOAD_SIZE_MAX; above it n8n answers an ambiguous 500
	defaultAttempts  = 10
	defaultInFlight  = 1024 // forwards of one gate at once
	defaultWait      = 2 * time.Second
	defaultRetention = 30 * 24 * time.Hour

	shortest         = time.Millisecond // of any duration: less is a slip of the pen
	longestTimeout   = 24 * time.Hour
	longestRetention = 10 * 365 * 24 * time.Hour
	largestBody      = 1 << 30
	largestReceipt   = 1 << 20

	// What an attempt may take beyond its timeout, for the receipt to be stored.
	settleGrace = 30 * time.Second

	defaultMaxResponse = 16 << 20
	maxReceiptDefault  = 64 << 10
)

// Options are what a webhook block sets; at the gate they are the defaults for
// every webhook, save max_in_flight.
type Options struct {
	// The HTTP methods of the webhook, in upper case: DELETE, GET, HEAD, PATCH, POST
	// or PUT. Others get 405. Default: POST.
	Methods []string `json:"methods,omitempty"`

	// "enforce" gates the webhook (default). "pass" forwards everything, ungated,
	// with the sender attached: for chats, MCP and streams, where every request is
	// new. Authentication, if there is any, is checked all the same.
	Mode string `json:"mode,omitempty"`

	// How senders prove who they are. This or a provider is required, in the webhook or
	// at the gate: an open webhook says so with the kind "none".
	Auth *Auth `json:"auth,omitempty"`

	// Who sends, in one word: a preset knows how the sender proves itself, what names its
	// events, and how it behaves. Excludes auth.
	Provider *Provider `json:"provider,omitempty"`

	// Who answers the challenges by which a provider makes sure of its receiver: the gate,
	// "answer" (default), which is right before a plain Webhook node, or n8n, "pass",
	// before the sender's own trigger node, which answers them itself.
	Handshake string `json:"handshake,omitempty"`

	// Where the event key stands in a delivery: 1 to 8 parts, in order. Required,
	// in the webhook or at the gate. A webhook's own list replaces the gate's.
	Key []keyextract.Source `json:"key,omitempty"`

	// What happens to a delivery without a key: "reject" (422, the default), or
	// "pass": it is forwarded ungated, if every part that the request should carry is
	// absent, as in a sender's pings. A doubled or malformed part never passes.
	MissingKey string `json:"missing_key,omitempty"`

	// Whether a delivery with the key of a known event, but another content, may be
	// another event. Default: hold.
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`

	// Whether a known content under a new key may be a known event: "hold" (409, for a
	// person), "flag" (a warning in the log) or "off" (default). For senders whose
	// signature does not cover the key.
	ReusedBody string `json:"reused_body,omitempty"`

	// What a changed Key means for the events that the store knows. Without it a
	// configuration that changes the key of known events is refused.
	KeyChanged *KeyChanged `json:"key_changed,omitempty"`

	// What n8n marks. n8n 2.x answers what a workflow says with a sandbox CSP; an
	// answer without it is n8n's own, and some of those prove that nothing was begun.
	// "required" (default): that proof counts once this upstream has shown a mark that
	// only versions have which mark every answer; each address is believed for itself.
	// "assumed": it counts at once, of all upstreams. "absent":
	// for n8n 1.x, which marks none: any 2xx with a body, but HTML, is taken for the
	// workflow's success.
	Sandbox string `json:"n8n_sandbox,omitempty"`

	// What certain answers of the workflow mean; the first rule that matches decides.
	// A webhook's own list replaces the gate's; an empty one turns it off.
	OnResponse []ResponseRule `json:"on_response,omitzero"`

	// What an answer must hold to count as completed; any other is ambiguous. In a
	// webhook an empty one turns the gate's off.
	CompleteWhen *Condition `json:"complete_when,omitempty"`

	// For how long, from the first attempt of an event on, the system that the workflow
	// acts on recognises N8n-Gate-Idempotency-Key and does not act again. Within it an
	// attempt that broke off after it was sent (a timeout, a reset, half an answer) may be
	// repeated, instead of being ambiguous until a person decides. No attempt begins that
	// could go on, by its timeout and the 30 s for storing, when that time is over; doubt
	// that is left then is ambiguous. It must be longer than timeout and those 30 s. 0, the
	// default, repeats nothing; in a webhook it turns the gate's off.
	//
	// What must be true first: every action of the workflow goes to systems that honour an
	// idempotency key; the workflow passes N8n-Gate-Idempotency-Key on to each, unchanged;
	// they are verified to keep a key that long, counted from its first use, after failures
	// too; and no execution of the workflow goes on for longer than timeout (set n8n's
	// EXECUTIONS_TIMEOUT): n8n does not stop one whose caller is gone. If a single action,
	// such as an e-mail, knows no such key, leave this out.
	RepeatSafe *caddy.Duration `json:"repeat_safe,omitempty"`

	// What is sent instead of the gate's own answer, by decision: a word of the
	// contract's table of answers but new, retry and passed, or not_carried_out for an
	// attempt that did not act. A 2xx is refused where it would lie to the sender. The
	// webhook's answers add to the gate's.
	Respond map[string]Response `json:"respond,omitempty"`

	// Where n8n's answer has the downstream system's id of what was done, so that a
	// person can look it up there. In a webhook an empty one turns the gate's off.
	ActionID *Place `json:"action_id,omitempty"`

	// The longest body in bytes that is kept for replays. Of a longer one only status
	// and headers are kept, and replays say "N8n-Gate-Body: dropped". Default: 64 KiB.
	ReceiptBody int64 `json:"receipt_body,omitempty"`

	// Further headers that are kept for replays, beside Content-Type, Content-Encoding,
	// Location and Content-Security-Policy. A webhook's list replaces the gate's; an
	// empty one turns it off. None that belong to one answer or one connection only.
	ReceiptHeader []string `json:"receipt_header,omitzero"`

	// The longest response in bytes that is held. The rest of a longer one is read and
	// thrown away, and it is answered without a body. Default: 16 MiB.
	MaxResponse int64 `json:"max_response,omitempty"`

	// "keep": the sender's Origin reaches n8n. "off" (default): it does not, since n8n
	// then answers an unknown webhook with a page that proves nothing.
	Origin string `json:"origin,omitempty"`

	// What happens while the store cannot be used: "reject" (503, the default), or
	// "pass": deliveries are forwarded ungated, and may act twice.
	StoreDown string `json:"store_down,omitempty"`

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
func (o Options) merge(gate Options) Options {
	if o.Auth == nil && o.Provider == nil {
		o.Auth, o.Provider = gate.Auth, gate.Provider
	}
	o.Handshake = first(o.Handshake, gate.Handshake)
	if len(o.Key) == 0 {
		o.Key = gate.Key
	}
	if o.InFlightWait == nil {
		o.InFlightWait = gate.InFlightWait
	}
	if len(o.Methods) == 0 {
		o.Methods = gate.Methods
	}
	if len(o.Methods) == 0 && o.Provider != nil {
		o.Methods = o.Provider.methods()
	}
	if o.Fingerprint == nil {
		o.Fingerprint = gate.Fingerprint
	}
	if o.KeyChanged == nil {
		o.KeyChanged = gate.KeyChanged
	}
	respond := maps.Clone(gate.Respond)
	if respond == nil {
		respond = make(map[string]Response)
	}
	maps.Copy(respond, o.Respond)
	o.Respond = respond
	if o.ActionID == nil {
		o.ActionID = gate.ActionID
	}
	if o.ReceiptHeader == nil {
		o.ReceiptHeader = gate.ReceiptHeader
	}
	o.ReceiptBody = first(o.ReceiptBody, gate.ReceiptBody)
	o.MaxResponse = first(o.MaxResponse, gate.MaxResponse)
	o.Origin = first(o.Origin, gate.Origin)
	o.StoreDown = first(o.StoreDown, gate.StoreDown)
	if o.OnResponse == nil {
		o.OnResponse = gate.OnResponse
	}
	if o.CompleteWhen == nil {
		o.CompleteWhen = gate.CompleteWhen
	}
	if o.RepeatSafe == nil {
		o.RepeatSafe = gate.RepeatSafe
	}
	o.Sandbox = first(o.Sandbox, gate.Sandbox)
	o.Mode = first(o.Mode, gate.Mode)
	o.ReusedBody = first(o.ReusedBody, gate.ReusedBody)
	o.MissingKey = first(o.MissingKey, gate.MissingKey)
	o.Timeout = first(o.Timeout, gate.Timeout)
	o.MaxBody = first(o.MaxBody, gate.MaxBody)
	o.MaxAttempts = first(o.MaxAttempts, gate.MaxAttempts)
	o.Retention = first(o.Retention, gate.Retention)
	o.LogKey = first(o.LogKey, gate.LogKey)
	return o
}

// defaults fills what nobody has said.
func (o Options) defaults() Options {
	if o.Fingerprint == nil {
		o.Fingerprint = &Fingerprint{Mode: hold}
	}
	o.Handshake = first(o.Handshake, handshakeAnswer)
	o.ReceiptBody = first(o.ReceiptBody, maxReceiptDefault)
	o.MaxResponse = first(o.MaxResponse, defaultMaxResponse)
	o.Origin = first(o.Origin, off)
	o.StoreDown = first(o.StoreDown, "reject")
	o.Sandbox = first(o.Sandbox, sandboxRequired)
	o.Mode = first(o.Mode, "enforce")
	o.ReusedBody = first(o.ReusedBody, off)
	o.MissingKey = first(o.MissingKey, "reject")
	o.Timeout = first(o.Timeout, caddy.Duration(defaultTimeout))
	o.MaxBody = first(o.MaxBody, defaultMaxBody)
	o.MaxAttempts = first(o.MaxAttempts, defaultAttempts)
	o.Retention = first(o.Retention, caddy.Duration(defaultRetention))
	o.LogKey = first(o.LogKey, "hash")
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
	case o.Mode == "observe":
		return errors.New("mode observe: not built yet")
	case o.Mode != "" && o.Mode != "enforce" && o.Mode != "pass":
		return fmt.Errorf("mode %q: must be enforce or pass", o.Mode)
	case o.MissingKey == "review":
		return errors.New("missing_key review: not built yet")
	case o.MissingKey != "" && o.MissingKey != "reject" && o.MissingKey != "pass":
		return fmt.Errorf("missing_key %q: must be reject or pass", o.MissingKey)
	case o.ReusedBody != "" && !watches(o.ReusedBody):
		return fmt.Errorf("reused_body %q: must be hold, flag or off", o.ReusedBody)
	case o.InFlightWait != nil && *o.InFlightWait < 0:
		return errors.New("in_flight wait must not be negative")
	case o.Timeout != 0 && (time.Duration(o.Timeout) < shortest || time.Duration(o.Timeout) > longestTimeout):
		return fmt.Errorf("timeout must be at least %s and at most %s", shortest, longestTimeout)
	case o.RepeatSafe != nil && *o.RepeatSafe != 0 && time.Duration(*o.RepeatSafe) < shortest:
		return fmt.Errorf("repeat_safe must be at least %s, or 0", shortest)
	case o.Origin != "" && o.Origin != "keep" && o.Origin != off:
		return fmt.Errorf("origin %q: must be keep or off", o.Origin)
	case o.StoreDown != "" && o.StoreDown != "reject" && o.StoreDown != "pass":
		return fmt.Errorf("store_down %q: must be reject or pass", o.StoreDown)
	case o.ReceiptBody < 0 || o.ReceiptBody > largestReceipt:
		return fmt.Errorf("receipt_body must be positive and at most %d bytes: receipts are kept in the store", largestReceipt)
	case o.MaxResponse < 0 || o.MaxResponse > largestBody:
		return fmt.Errorf("max_response must be positive and at most %d bytes: responses are held in memory", largestBody)
	case o.MaxBody < 0 || o.MaxBody > largestBody:
		return fmt.Errorf("max_body must be positive and at most %d bytes: bodies are held in memory", largestBody)
	case o.MaxAttempts < 0:
		return errors.New("max_attempts must be positive")
	case o.MaxInFlight < 0:
		return errors.New("max_in_flight must be positive")
	case o.Retention != 0 && (time.Duration(o.Retention) < shortest || time.Duration(o.Retention) > longestRetention):
		return fmt.Errorf("retention must be at least %s and at most %d days", shortest, longestRetention/(24*time.Hour))
	case o.LogKey != "" && o.LogKey != "hash" && o.LogKey != "plain" && o.LogKey != "off":
		return fmt.Errorf("log_key %q: must be hash, plain or off", o.LogKey)
	}
	switch {
	case o.Auth != nil && o.Provider != nil:
		return errTwoWays
	case o.Handshake != "" && o.Handshake != handshakeAnswer && o.Handshake != handshakePass:
		return fmt.Errorf("handshake %q: must be answer or pass", o.Handshake)
	}
	if o.Auth != nil {
		if err := o.Auth.validate(); err != nil {
			return err
		}
	}
	if o.Provider != nil {
		if _, err := o.Provider.preset(); err != nil {
			return err
		}
	}
	_, err := o.judge("") // what is off compiles to nothing
	for word, response := range o.Respond {
		err = errors.Join(err, response.validate(word))
	}
	for _, name := range o.ReceiptHeader {
		err = errors.Join(err, checkReceiptHeader(name))
	}
	if o.ActionID != nil && *o.ActionID != (Place{}) {
		_, placeErr := o.ActionID.compile()
		err = errors.Join(err, inOption("action_id", placeErr))
	}
	return errors.Join(o.Fingerprint.validate(), o.KeyChanged.validate(), checkSandbox(o.Sandbox), err)
}
