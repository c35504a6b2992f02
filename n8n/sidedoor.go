package n8n

// sideDoors are where n8n before 2026-04 also starts production webhooks: its
// handlers for live forms and MCP servers look up the same table, and did not ask
// whether a form's node, or an MCP server's, is there. These are n8n's defaults
// (N8N_ENDPOINT_FORM, N8N_ENDPOINT_MCP).
//
// Source: n8n 1.123.0, 2.0.0 and 2.10.0, dist/abstract-server.js; mended by
// https://github.com/n8n-io/n8n/pull/28804.
var sideDoors = [...]string{"/form", "/mcp"}

// SideDoor reports whether a path outside the prefix could start one of the
// table's webhooks all the same: "/form/orders" starts webhook orders in older
// versions. Newer ones answer 404, for n8n gives no path to a webhook and a form
// both, so refusing it takes nothing from anybody; save that a pattern that begins
// with a wildcard takes the forms that it matches along. Paths that only a careless
// reader takes for a form's ("//form/x") are never of use and count too.
func (t *Table) SideDoor(escapedPath string) bool {
	for _, door := range sideDoors {
		path, _, ok := Canonical(door, escapedPath)
		if ok && t.Keeps(path) || !ok && readsBelow(escapedPath, door) {
			return true
		}
	}
	return false
}
