// The server under test: Caddy with its standard modules and the gate, as
// xcaddy would build it.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/n8n-gate/n8n-gate"
)

func main() { caddycmd.Main() }
