package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// n8nKeepAlive is how long Node keeps an idle connection open (server.keepAliveTimeout).
// A connection kept longer than that dies under a delivery sooner or later, and
// every such death is an ambiguous event.
const n8nKeepAlive = 5 * time.Second

// ownProxy takes the configuration of a reverse_proxy and returns it with the
// gate's defaults, or refuses what could send a delivery twice, change where it
// goes, or hide what n8n said.
func ownProxy(raw json.RawMessage) (json.RawMessage, error) {
	var proxy reverseproxy.Handler
	handler, err := unmarshalModule(raw, "handler", &proxy)
	if err != nil {
		return nil, err
	}
	if handler != "reverse_proxy" {
		return nil, fmt.Errorf("handler %q: must be reverse_proxy", handler)
	}
	for _, check := range []func(*reverseproxy.Handler) error{refuseDetours, ownRetries, refuseHeaders, ownTransport} {
		if err := check(&proxy); err != nil {
			return nil, err
		}
	}
	return caddyconfig.JSONModuleObject(&proxy, "handler", "reverse_proxy", nil), nil
}

// refuseDetours: a delivery goes where the configuration says, as it came, and the
// answer comes back as n8n gave it.
func refuseDetours(proxy *reverseproxy.Handler) error {
	switch {
	case len(proxy.HandleResponse) > 0:
		return errors.New("handle_response, replace_status and copy_response are refused: they would hide what n8n said")
	case proxy.Rewrite != nil:
		return errors.New("rewrite and method are refused: they would change where the delivery goes")
	case proxy.RequestBuffers != 0 || proxy.ResponseBuffers != 0:
		return errors.New("request_buffers and response_buffers are refused: the gate holds bodies itself, within its bounds")
	case len(proxy.Upstreams) == 0 && proxy.DynamicUpstreamsRaw == nil:
		return errors.New("no upstream is named")
	}
	for _, u := range proxy.Upstreams {
		if strings.Contains(u.Dial, "{http.") {
			return fmt.Errorf("upstream %s: placeholders of the request are refused: a sender could choose where the delivery goes", u.Dial)
		}
	}
	if strings.Contains(string(proxy.DynamicUpstreamsRaw), "{http.") {
		return errors.New("dynamic upstreams: placeholders of the request are refused: a sender could choose where the delivery goes")
	}
	return nil
}

// ownRetries: where no connection was obtained, another upstream may be tried. With
// a matcher, and for GET even without (reverseproxy.go, tryAgain), the proxy would
// also repeat what was sent; so the gate gives it one that never matches.
func ownRetries(proxy *reverseproxy.Handler) error {
	lb := proxy.LoadBalancing
	if lb == nil {
		return nil
	}
	if len(lb.RetryMatchRaw) > 0 {
		return errors.New("lb_retry_match is refused: it would send a delivery twice")
	}
	if lb.Retries != 0 || lb.TryDuration != 0 {
		lb.RetryMatchRaw = []caddy.ModuleMap{{"method": json.RawMessage(`["-"]`)}}
	}
	return nil
}

// Headers that only the gate sets, towards n8n.
var gateHeaders = []string{
	"N8n-Gate-Operation", "N8n-Gate-Event-Key", "N8n-Gate-Attempt", "N8n-Gate-Token", "N8n-Gate-Idempotency-Key",
}

// With an idempotency key net/http repeats a request by itself (request.go,
// isReplayable), and the body's framing is not for others to set.
var (
	idempotencyHeaders = []string{"Idempotency-Key", "X-Idempotency-Key"}
	framingHeaders     = []string{"Content-Length", "Transfer-Encoding", "Connection", "Upgrade"}
)

// proofHeaders tell n8n's answers apart.
var proofHeaders = []string{"Content-Security-Policy", "Content-Type"}

// refuseHeaders refuses edits of headers that the gate relies on.
func refuseHeaders(proxy *reverseproxy.Handler) error {
	if proxy.Headers == nil {
		return nil
	}
	added := slices.Concat(idempotencyHeaders, framingHeaders, droppedHeaders)
	for _, e := range edits(proxy.Headers.Request) {
		if e.hits(gateHeaders) || !e.deletes && (ownHeader(e.name) || e.hits(added)) {
			return fmt.Errorf("header_up %s is refused: the gate sets or drops that header itself", e)
		}
	}
	if proxy.Headers.Response == nil {
		return nil
	}
	for _, e := range edits(proxy.Headers.Response.HeaderOps) {
		if e.hits(proofHeaders) {
			return fmt.Errorf("header_down %s is refused: that header tells n8n's answers apart", e)
		}
	}
	return nil
}

// edit is one operation on headers: on one name, or on those that a pattern of
// Caddy's (with * at its ends) matches.
type edit struct {
	name    string
	deletes bool
}

func (e edit) String() string {
	if e.deletes {
		return "-" + e.name
	}
	return e.name
}

func edits(ops *headers.HeaderOps) (list []edit) {
	if ops == nil {
		return nil
	}
	for name := range ops.Add {
		list = append(list, edit{name, false})
	}
	for name := range ops.Set {
		list = append(list, edit{name, false})
	}
	for name := range ops.Replace {
		list = append(list, edit{name, false})
	}
	for _, name := range ops.Delete {
		list = append(list, edit{name, true})
	}
	return list
}

// hits reports whether e may touch one of names. A name with a placeholder may
// become any.
func (e edit) hits(names []string) bool {
	pattern := strings.ToLower(e.name)
	core := strings.Trim(pattern, "*")
	return strings.Contains(pattern, "{") || slices.ContainsFunc(names, func(name string) bool {
		name = strings.ToLower(name)
		switch starts, ends := strings.HasPrefix(pattern, "*"), strings.HasSuffix(pattern, "*"); {
		case starts && ends:
			return strings.Contains(name, core)
		case starts:
			return strings.HasSuffix(name, core)
		case ends:
			return strings.HasPrefix(name, core)
		}
		return name == pattern
	})
}

// ownTransport: HTTP/1.1 to n8n, by default over a fresh connection each time and
// without compression, so that a receipt is bound to no encoding.
func ownTransport(proxy *reverseproxy.Handler) error {
	if proxy.TransportRaw == nil {
		proxy.TransportRaw = json.RawMessage(`{"protocol":"http"}`)
	}
	var transport reverseproxy.HTTPTransport
	protocol, err := unmarshalModule(proxy.TransportRaw, "protocol", &transport)
	if protocol != "http" && protocol != "" {
		return fmt.Errorf("transport %s is refused: only http tells whether a delivery was sent", protocol)
	}
	if err != nil {
		return err
	}
	for _, version := range transport.Versions {
		if version != "1.1" {
			return fmt.Errorf("transport http version %s is refused: n8n speaks HTTP/1.1, and HTTP/2 repeats requests by itself", version)
		}
	}
	transport.Versions = []string{"1.1"}
	if transport.Compression == nil {
		transport.Compression = new(bool)
	}
	switch alive := transport.KeepAlive; {
	case alive == nil:
		transport.KeepAlive = &reverseproxy.KeepAlive{Enabled: new(bool)}
	case alive.Enabled != nil && !*alive.Enabled:
	case alive.IdleConnTimeout <= 0 || time.Duration(alive.IdleConnTimeout) >= n8nKeepAlive:
		return fmt.Errorf("keepalive must be shorter than the %s after which n8n closes idle connections", n8nKeepAlive)
	}
	proxy.TransportRaw = caddyconfig.JSONModuleObject(&transport, "protocol", "n8n_gate", nil)
	return nil
}

// unmarshalModule decodes a module with its name under key, and refuses unknown
// members as Caddy does: what is marshalled again would lose them in silence.
func unmarshalModule(raw json.RawMessage, key string, v any) (name string, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return "", err
	}
	if err := json.Unmarshal(members[key], &name); err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	delete(members, key)
	rest, err := json.Marshal(members)
	if err != nil {
		return name, err
	}
	return name, caddy.StrictUnmarshalJSON(rest, v)
}

// keepsAlive reports whether the proxy may reuse connections; raw is ownProxy's.
func keepsAlive(raw json.RawMessage) bool {
	var proxy struct {
		Transport struct {
			KeepAlive struct {
				Enabled *bool `json:"enabled"`
			} `json:"keep_alive"`
		} `json:"transport"`
	}
	_ = json.Unmarshal(raw, &proxy) // it was marshalled a moment ago
	enabled := proxy.Transport.KeepAlive.Enabled
	return enabled == nil || *enabled
}
