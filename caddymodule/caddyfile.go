package caddymodule

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	"github.com/dustin/go-humanize"

	"github.com/n8n-gate/n8n-gate/keyextract"
)

// parseGlobal reads the global option:
//
//	n8n_gate {
//	    store bolt [PATH]
//	    sweep_interval DUR
//	    drain_timeout DUR
//	}
func parseGlobal(d *caddyfile.Dispenser, existing any) (any, error) {
	var app App
	d.Next() // the option's name
	if existing != nil {
		return nil, d.Err("n8n_gate: stands more than once among the global options")
	}
	if d.NextArg() {
		return nil, d.ArgErr()
	}
	seen := make(map[string]bool)
	for d.NextBlock(0) {
		word, err := nextWord(d, seen)
		if err != nil {
			return nil, err
		}
		switch word {
		case "store":
			err = parseStore(d, &app)
		case "sweep_interval":
			err = parseDuration(d, &app.SweepInterval)
		case "drain_timeout":
			err = parseDuration(d, &app.DrainTimeout)
		default:
			err = unknownWord(d, word, unbuiltGlobal)
		}
		if err != nil {
			return nil, err
		}
	}
	return httpcaddyfile.App{Name: "n8n_gate", Value: caddyconfig.JSON(&app, nil)}, nil
}

func parseStore(d *caddyfile.Dispenser, app *App) error {
	args := d.RemainingArgs()
	switch {
	case len(args) == 0:
		return d.ArgErr()
	case unbuiltEngine[args[0]]:
		return d.Errf("store %s: not built yet", args[0])
	case args[0] != "bolt":
		return d.Errf("store %s: unknown engine", args[0])
	case len(args) > 2:
		return d.ArgErr()
	}
	var bolt BoltStore
	if len(args) == 2 {
		bolt.Path = args[1]
	}
	app.StoreRaw = caddyconfig.JSONModuleObject(&bolt, "engine", "bolt", nil)
	return nil
}

// parseHandler reads the directive:
//
//	n8n_gate {
//	    forward UPSTREAM… { … }      # Caddy's own reverse_proxy
//	    prefix PATH
//	    other refuse|pass
//	    webhook PATTERN {
//	        operation NAME
//	        OPTIONS
//	    }
//	    OPTIONS                      # defaults for every webhook
//	}
//
// OPTIONS are those of parseOption.
func parseHandler(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	var gate Handler
	h.Next() // the directive's name
	if h.NextArg() {
		return nil, h.ArgErr()
	}
	seen := make(map[string]bool)
	for h.NextBlock(0) {
		if h.Val() == "webhook" { // the only word that repeats
			if err := parseWebhook(h.Dispenser, &gate); err != nil {
				return nil, err
			}
			continue
		}
		word, err := nextWord(h.Dispenser, seen)
		if err != nil {
			return nil, err
		}
		switch word {
		case "forward":
			gate.ForwardRaw, err = parseForward(h)
		case "prefix":
			err = parseString(h.Dispenser, &gate.Prefix)
		case "other":
			err = parseString(h.Dispenser, &gate.Other)
		default:
			if unbuiltGate[word] {
				err = h.Errf("%s: not built yet", word)
			} else {
				err = parseOption(h.Dispenser, word, &gate.Options)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return &gate, nil
}

// parseForward reads the proxy that the gate owns, with Caddy's own grammar.
func parseForward(h httpcaddyfile.Helper) (json.RawMessage, error) {
	var proxy reverseproxy.Handler
	segment := h.NewFromNextSegment()
	if err := proxy.UnmarshalCaddyfile(segment); err != nil {
		return nil, err
	}
	if err := proxy.FinalizeUnmarshalCaddyfile(h.WithDispenser(segment)); err != nil {
		return nil, err
	}
	return caddyconfig.JSONModuleObject(&proxy, "handler", "reverse_proxy", nil), nil
}

func parseWebhook(d *caddyfile.Dispenser, gate *Handler) error {
	var hook Webhook
	if !d.NextArg() {
		return d.ArgErr()
	}
	hook.Pattern = d.Val()
	if d.NextArg() {
		return d.ArgErr()
	}
	seen := make(map[string]bool)
	for d.NextBlock(1) {
		word, err := nextWord(d, seen)
		if err != nil {
			return err
		}
		switch {
		case word == "operation":
			err = parseString(d, &hook.Operation)
		case unbuiltWebhook[word]:
			err = d.Errf("%s: not built yet", word)
		default:
			err = parseOption(d, word, &hook.Options)
		}
		if err != nil {
			return err
		}
	}
	gate.Webhooks = append(gate.Webhooks, hook)
	return nil
}

// parseOption reads one option:
//
//	auth none
//	auth token header NAME|query NAME secret VALUE…
//	key json PATH | header NAME        # one line per part, in order
//	missing_key reject
//	in_flight wait DUR | reject
//	timeout DUR
//	max_body SIZE
//	max_attempts N
//	max_in_flight N
//	retention DUR
//	log_key hash|plain|off
func parseOption(d *caddyfile.Dispenser, word string, o *Options) error {
	switch word {
	case "auth":
		return parseAuth(d, o)
	case "key":
		return parseKey(d, o)
	case "missing_key":
		return parseString(d, &o.MissingKey)
	case "in_flight":
		return parseInFlight(d, o)
	case "timeout":
		return parseDuration(d, &o.Timeout)
	case "max_body":
		return parseSize(d, &o.MaxBody)
	case "max_attempts":
		return parseNumber(d, &o.MaxAttempts)
	case "max_in_flight":
		return parseNumber(d, &o.MaxInFlight)
	case "retention":
		return parseDuration(d, &o.Retention)
	case "log_key":
		return parseString(d, &o.LogKey)
	}
	return unknownWord(d, word, unbuiltOption)
}

func parseAuth(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.ArgErr()
	}
	auth := &Auth{Kind: args[0]}
	if auth.Kind == "token" {
		if len(args) < 5 || (args[1] != "header" && args[1] != "query") || args[3] != "secret" {
			return d.Err("auth token: expected `auth token header NAME|query NAME secret VALUE…`")
		}
		if args[1] == "header" {
			auth.Header = args[2]
		} else {
			auth.Query = args[2]
		}
		auth.Secrets = args[4:]
	} else if len(args) > 1 && auth.Kind == "none" {
		return d.ArgErr()
	}
	if err := auth.validate(); err != nil {
		return d.WrapErr(err)
	}
	o.Auth = auth
	return nil
}

func parseKey(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.ArgErr()
	}
	source := keyextract.Source{Kind: keyextract.Kind(args[0])}
	switch {
	case unbuiltKey[args[0]]:
		return d.Errf("key %s: not built yet", args[0])
	case args[0] != "json" && args[0] != "header":
		return d.Errf("key %s: unknown source", args[0])
	case len(args) != 2:
		return d.ArgErr()
	case args[0] == "json":
		source.Path = args[1]
	default:
		source.Name = args[1]
	}
	o.Key = append(o.Key, source)
	return nil
}

func parseInFlight(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	wait := caddy.Duration(0)
	switch {
	case len(args) == 1 && args[0] == "reject":
	case len(args) == 2 && args[0] == "wait":
		dur, err := caddy.ParseDuration(args[1])
		if err != nil || dur <= 0 {
			return d.Errf("in_flight wait %s: must be a positive duration", args[1])
		}
		wait = caddy.Duration(dur)
	default:
		return d.Err("in_flight: expected `in_flight wait DUR` or `in_flight reject`")
	}
	o.InFlightWait = &wait
	return nil
}

// nextWord returns the word that begins a line. A word may come once, save key:
// its lines are the parts of one list.
func nextWord(d *caddyfile.Dispenser, seen map[string]bool) (string, error) {
	word := d.Val()
	if seen[word] && word != "key" {
		return "", d.Errf("%s: stands more than once", word)
	}
	seen[word] = true
	return word, nil
}

func unknownWord(d *caddyfile.Dispenser, word string, unbuilt map[string]bool) error {
	if unbuilt[word] {
		return d.Errf("%s: not built yet", word)
	}
	return d.Errf("%s: unknown word", word)
}

// parseString reads exactly one argument, and no block.
func parseString(d *caddyfile.Dispenser, to *string) error {
	word := d.Val()
	args := d.RemainingArgs()
	if len(args) != 1 || args[0] == "" {
		return d.Errf("%s: expected one value", word)
	}
	*to = args[0]
	return nil
}

func parseDuration(d *caddyfile.Dispenser, to *caddy.Duration) error {
	var text string
	word := d.Val()
	if err := parseString(d, &text); err != nil {
		return err
	}
	dur, err := caddy.ParseDuration(text)
	if err != nil || dur < time.Millisecond {
		return d.Errf("%s %s: must be a duration of at least 1ms", word, text)
	}
	*to = caddy.Duration(dur)
	return nil
}

func parseSize(d *caddyfile.Dispenser, to *int64) error {
	var text string
	word := d.Val()
	if err := parseString(d, &text); err != nil {
		return err
	}
	size, err := humanize.ParseBytes(text)
	if err != nil || size == 0 || size > math.MaxInt64 {
		return d.Errf("%s %s: must be a size, such as 16MiB", word, text)
	}
	*to = int64(size)
	return nil
}

func parseNumber(d *caddyfile.Dispenser, to *int) error {
	var text string
	word := d.Val()
	if err := parseString(d, &text); err != nil {
		return err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return d.Errf("%s %s: must be a whole number from 1", word, text)
	}
	*to = n
	return nil
}
