package caddymodule

import (
	"encoding/json"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// parseGlobal reads the global option:
//
//	n8n_gate {
//	    store bolt [PATH] {
//	        allow_network_file_system
//	    }
//	    sweep_interval DUR
//	    drain_timeout DUR
//	    max_memory SIZE
//	    forget NAME…
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
		case "max_memory":
			err = parseSize(d, &app.MaxMemory)
		case "forget":
			err = parseNames(d, &app.Forget)
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
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if d.Val() != "allow_network_file_system" || bolt.AllowNetworkFileSystem {
			return d.Errf("store bolt: %s: unknown, or stands twice", d.Val())
		}
		if d.NextArg() {
			return d.ArgErr()
		}
		bolt.AllowNetworkFileSystem = true
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
//	    test_urls refuse|private
//	    webhook PATTERN {
//	        operation NAME
//	        operation_was NAME…
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
		case "test_urls":
			err = parseString(h.Dispenser, &gate.TestURLs)
		default:
			err = parseOption(h.Dispenser, word, &gate.Options)
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
		switch word {
		case "operation":
			err = parseString(d, &hook.Operation)
		case "operation_was":
			err = parseNames(d, &hook.OperationWas)
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
