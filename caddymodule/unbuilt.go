package caddymodule

import (
	"encoding/json"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Words of the grammar that are still to come. They are load errors: an option
// that is silently ignored would promise what nobody keeps.
var (
	unbuiltGlobal = words("notify")
	unbuiltOption = words(
		"confirm", "execution_id", "batch", "batch_forward", "batch_max", "owner",
	)
	unbuiltEngine = words("postgres")
)

func words(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, w := range list {
		set[w] = true
	}
	return set
}

// unmarshalStrict decodes a JSON object into v. Unknown members are errors, as in
// Caddy's own strict decoding, which a custom UnmarshalJSON would turn off; those
// that are still to come say so.
func unmarshalStrict(b []byte, v any, unbuilt ...map[string]bool) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	for name := range members {
		for _, set := range unbuilt {
			if set[name] {
				return fmt.Errorf("%s: not built yet", name)
			}
		}
	}
	return caddy.StrictUnmarshalJSON(b, v)
}

// parseUnbuilt stands for directives that are still to come.
func parseUnbuilt(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next()
	return nil, h.Errf("%s: not built yet", h.Val())
}
