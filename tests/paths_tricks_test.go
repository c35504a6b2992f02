package tests

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// n8nReads is n8n's router, from its own code and Express 5's and independent of
// the gate's: below which of its mounts a request target falls, and which path it
// looks up there.
func n8nReads(target string) (mount, path string) {
	if end := strings.IndexAny(target, "?#"); end >= 0 {
		target = target[:end]
	}
	for _, mount := range []string{"/webhook/", "/webhook-test/", "/form/", "/mcp/"} {
		if len(target) <= len(mount) || !strings.EqualFold(target[:len(mount)], mount) {
			continue
		}
		parts := strings.Split(target[len(mount):], "/")
		for i, part := range parts {
			decoded, err := url.PathUnescape(part)
			if err != nil || !utf8.ValidString(decoded) {
				return "", "" // Express answers 400
			}
			parts[i] = decoded
		}
		return mount, strings.TrimSuffix(strings.Join(parts, "/"), "/")
	}
	return "", ""
}

// asPassedOn is a target as Go's server lets anybody behind it see it: what may not
// stand in a path ('#', '\', bytes beyond ASCII) is escaped, and then the whole
// path anew.
func asPassedOn(target string) string {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// carelessly is how somebody on the way to n8n may read a target before n8n does:
// decoded, squeezed, resolved.
func carelessly(target string) []string {
	if end := strings.IndexAny(target, "?#"); end >= 0 {
		target = target[:end]
	}
	readings := []string{tidy(target, func(s string) string { return s })}
	if decoded, err := url.PathUnescape(target); err == nil {
		readings = append(readings, decoded, tidy(decoded, url.PathEscape))
	}
	return readings
}

func tidy(path string, escape func(string) string) string {
	var segments []string
	for segment := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		switch {
		case segment == ".." && len(segments) > 0:
			segments = segments[:len(segments)-1]
		case segment != "" && segment != "." && segment != "..":
			segments = append(segments, escape(segment))
		}
	}
	return "/" + strings.Join(segments, "/")
}

// gatedWebhooks are n8n's rows of the webhooks that are gated here: the id of a
// dynamic one, and the path that its node has.
var gatedWebhooks = []struct{ id, path string }{
	{"", "orders"},
	{"", "shop/eu"},
	{"5f0c", "items/:id"},
	{"77aa", ":shop/sold/:id"},
}

const pathWebhooks = `
webhook shop/eu {
	operation shop_eu
	auth none
	key json id
}
webhook 5f0c/items/* {
	operation items
	auth none
	key json id
}
webhook 77aa/*/sold/* {
	operation sold
	auth none
	key json id
}`

// n8nStarts reports whether n8n starts a gated webhook under path, however old it
// is and whatever database it has: webhook.service.js's findCached.
func n8nStarts(path string) bool {
	same := func(a, b string) bool { return strings.EqualFold(strings.TrimRight(a, " "), strings.TrimRight(b, " ")) }
	for _, w := range gatedWebhooks {
		if same(w.path, path) {
			return true
		}
		template, request := strings.Split(w.path, "/"), strings.Split(path, "/")
		if w.id == "" || !same(w.id, request[0]) || len(template) != len(request)-1 {
			continue
		}
		if !slices.ContainsFunc(template, func(segment string) bool {
			return !strings.HasPrefix(segment, ":") &&
				!slices.ContainsFunc(request[1:], func(r string) bool { return same(segment, r) })
		}) {
			return true
		}
	}
	return false
}

// pathPart is one place of a request target. The first way to write it is the
// usual one, the further harmless ones mean the same to n8n, and the tricks do not,
// or do to somebody else only.
type pathPart struct{ harmless, tricks []string }

var pathParts = []pathPart{
	{ // before the path
		harmless: []string{"", "http://127.0.0.1", "http://u:p@127.0.0.1:80", "HTTP://127.0.0.1"},
		tricks: []string{
			"http://127.0.0.1/", "/", "//", "/.", "/x/..", "/%2e", "/x/%2E%2e", "/%2F", "/%2F%2e%2e", "/%5C", `/\`, "/;", "/%00", "/%20", "/x", "/rest", "*", "x",
		},
	},
	{ // n8n's mount
		harmless: []string{"/webhook", "/WEBHOOK", "/WebHook"},
		tricks: []string{
			"/%77ebhook", "/webhoo%6B", "/web%68ook", "/%2577ebhook", "/webhook;a", "/webhook;", "/webhook.", "/webhook%00", "/webhook%20", "/webhook%09", "/webhook%2e",
			"/webhoo\u212a", "/webhoo%E2%84%AA", "/%EF%BD%97ebhook", "/%C1%B7ebhook", "/%E0%81%B7ebhook", "/webhook?", "/webhook#", "/webhooks", "/webhook-waiting",
			"/webhook-test", "/Webhook-TEST", "/webhook%2Dtest", "/form", "/form", "/FORM", "/%66orm", "/mcp", "/Mcp", "/form-test",
			"/form/../webhook", "/webhook/../webhook", "/webhook/../form", "/webhook-test/../webhook", "/webhook-test/..%2Fwebhook", "/webhook/%2e%2e/webhook",
		},
	},
	{ // between the mount and the webhook
		harmless: []string{"/"},
		tricks: []string{
			"//", "///", "%2F", "%2f", "%5C", `\`, "/./", "/x/../", "/%2e/", "/x/%2e%2e/", "/..%2F", "/%2F", "/%5C", "%252F", "/;/", ";/", "/%00/", "%00/",
			"%C0%AF", "%E0%80%AF", "/%20", "?", "#", "/?/", "",
		},
	},
	{ // the webhook
		harmless: []string{
			"orders", "%6frders", "order%73", "%6F%72%64%65%72%73", "shop/eu", "shop%2Feu", "shop%2feu", "shop/%65u",
			"5f0c/items/7", "5f0c/items/é", "5f0c/items/%C3%A9", "5f0c/items/%20", "5f0c%2Fitems%2F7", "5f0c/items/items", "5f0c/items/7%252F8", "5f0c/items/a%5Cb", "5f0c/items/50%25",
			"77aa/de/sold/1", "77aa/%C3%A9/sold/%20x", "77aa/a;b/sold/c?x=1", "77aa/sold/sold/sold", "77aa/...%2Fsold/*",
		},
		tricks: []string{
			"ORDERS", "Orders", "%256frders", "or\u200bders", "or%E2%80%8Bders", "orders%00", "orders%20", "%20orders", "orders%0a", "orders.", "orders;a=1", "orders%3Ba", "orders%3Fx", "orders%23x",
			"orders%C0%80", "orders%E9", "orders%ED%A0%80", "orders%2F..%2Forders", "orders/../orders", "x/%2e%2e/orders", "ord%65rs:", "+orders", "orders*", "%u006frders",
			"SHOP/EU", "shop//eu", "shop/./eu", "shop/x/../eu", "shop%252Feu", `shop\eu`, "shop%5Ceu", "shop/eu/x/..",
			"5f0c/7/items", "5F0C/items/7", "5f0c/Items/7", "5f0c/items/", "5f0c//items", "5f0c/items/..", "5f0c/items/%2e%2e", "5f0c/items/.", "5f0c/items/%00", "5f0c/items/%0d%0ax",
			"5f0c/items/:id", "5f0c/items/%3Aid", "items/:id", "items/%3aid", "5f0c/items/7/8", "5f0c/items/7%2F8", "5f0c/items",
			"77aa/sold/de/1", "77aa/de/1/sold", "77aa/sold//", "77aa//sold/", ":shop/sold/:id", "%3Ashop/sold/:id",
			"chat", "1234/chat", "nobody/7/items",
		},
	},
	{ // behind it
		harmless: []string{"", "/", "%2F", "?", "?x=1", "?/webhook/orders", "/?%2F"},
		tricks: []string{
			"//", "///", "%2F/", "/%2F", "#f", "/.", "/..", "/./", "/%2e", "/..;/", ";", ";/", "%", "%2", "%zz", "%00", "%0a", "%20", "/%20", "%5C", `\`, "%25", "%2500", "/x", "/x/..", "&", "*", "\x00", "\xc0\xaf", "\xff",
		},
	},
}

// pathTricks makes request targets: every trick alone, and then n of them mixed,
// the same ones in every run.
func pathTricks(n int) []string {
	var targets []string
	seen := map[string]bool{}
	add := func(pick func(place int, p pathPart) string) {
		var b strings.Builder
		for place, p := range pathParts {
			b.WriteString(pick(place, p))
		}
		if target := b.String(); !seen[target] {
			seen[target] = true
			targets = append(targets, target)
		}
	}
	for place, p := range pathParts {
		for _, written := range slices.Concat(p.harmless, p.tricks) {
			add(func(other int, p pathPart) string {
				if other == place {
					return written
				}
				return p.harmless[0]
			})
		}
	}
	rng := rand.New(rand.NewPCG(3, 5))
	for n += len(targets); len(targets) < n; {
		add(func(_ int, p pathPart) string {
			if rng.IntN(4) == 0 {
				return p.tricks[rng.IntN(len(p.tricks))]
			}
			return p.harmless[rng.IntN(len(p.harmless))]
		})
	}
	return targets
}
