// Package n8ngate is what a custom Caddy imports to get the whole gate:
//
//	xcaddy build --with github.com/n8n-gate/n8n-gate
//
// It only links packages; caddymodule registers the modules.
package n8ngate

import _ "github.com/n8n-gate/n8n-gate/caddymodule" // the Caddy modules
