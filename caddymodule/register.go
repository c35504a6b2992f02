// Package caddymodule is the gate inside Caddy: the only package that knows it.
//
// A delivery flows through Handler.deliver (handler.go), one file a stage:
//
//	receive -> authenticate -> extract -> claim -> forward -> classify -> settle -> answer
package caddymodule

import (
	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

func init() {
	caddy.RegisterModule(new(App))
	caddy.RegisterModule(BoltStore{})
	caddy.RegisterModule(new(Handler))
	caddy.RegisterModule(Transport{})
	caddy.RegisterModule(Admin{})

	httpcaddyfile.RegisterGlobalOption("n8n_gate", parseGlobal)
	httpcaddyfile.RegisterHandlerDirective("n8n_gate", parseHandler)
	// Before invoke, so that no catch-all handle, route or respond can stand before the gate.
	httpcaddyfile.RegisterDirectiveOrder("n8n_gate", httpcaddyfile.Before, "invoke")
	for _, name := range []string{"n8n_gate_api", "n8n_gate_desk"} {
		httpcaddyfile.RegisterHandlerDirective(name, parseUnbuilt)
		httpcaddyfile.RegisterDirectiveOrder(name, httpcaddyfile.Before, "invoke")
	}

	caddycmd.RegisterCommand(command)
}
