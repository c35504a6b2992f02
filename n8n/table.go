package n8n

import (
	"fmt"
	"slices"
	"strings"
)

// Route is one configured webhook: a path and the methods that it takes.
type Route struct {
	// Pattern is the webhook's path as n8n shows it behind the prefix, decoded,
	// without a slash at either end ("stripe-orders", "5f0c…/webhook"). Upper and
	// lower case differ, as they do in n8n. A segment "*" stands for exactly one
	// segment, as ":id" does in n8n's own path.
	Pattern string

	// Methods in upper case. None: POST.
	Methods []string
}

// Match is what Lookup found.
type Match struct {
	// Index of the route in what NewTable got; -1 if none takes the request.
	Index int

	// Found: a route takes path and method.
	Found bool

	// Segments are what the pattern's wildcards matched, in order.
	Segments []string

	// Allow is, where routes have the path but none has the method, what they
	// take, sorted.
	Allow []string
}

// Table finds the configured webhook that a canonical path and a method name. It
// is safe for concurrent use.
type Table struct {
	exact    map[string]*endpoint
	wildcard node
	routes   []pattern
}

// NewTable makes a table of routes below prefix. The same pattern may stand in
// several routes whose methods differ. Two patterns with wildcards that can match
// one path and share a method are an error: nobody could say which of them is
// meant. Errors name the pattern and are the operator's to mend.
func NewTable(prefix string, routes []Route) (*Table, error) {
	if err := CheckPrefix(prefix); err != nil {
		return nil, err
	}
	t := &Table{exact: make(map[string]*endpoint, len(routes)), routes: make([]pattern, 0, len(routes))}
	for i, route := range routes {
		p, err := compile(prefix, route)
		if err != nil {
			return nil, fmt.Errorf("webhook %q: %w", route.Pattern, err)
		}
		end := t.endpoint(p)
		if twice := end.methods() & p.methods; twice != 0 {
			return nil, fmt.Errorf("webhook %q: it is there twice for %s", route.Pattern, twice)
		}
		if p.wildcards > 0 {
			for j := range t.routes {
				other := &t.routes[j]
				if shared := other.methods & p.methods; other.wildcards > 0 && shared != 0 && other.overlaps(&p) {
					return nil, fmt.Errorf("webhook %q: it overlaps with webhook %q: both can match one path, for %s",
						p.text, other.text, shared)
				}
			}
		}
		end.add(i, p.methods)
		t.routes = append(t.routes, p)
	}
	return t, nil
}

// endpoint gives the one place of p's path, made if need be.
func (t *Table) endpoint(p pattern) *endpoint {
	if p.wildcards > 0 {
		return t.wildcard.grow(p.segments)
	}
	if t.exact[p.text] == nil {
		t.exact[p.text] = new(endpoint)
	}
	return t.exact[p.text]
}

// Lookup finds the route for a path read by Canonical, and a method. An exact
// pattern beats one with wildcards; but as n8n asks for path and method at once,
// and only then for its dynamic webhooks, a wildcard that has the method beats an
// exact pattern that has not.
//
// A wildcard matches one segment as n8n splits them, after decoding: "a%2Fb" is
// two. It matches nothing that is empty, "." or "..", that holds a control
// character, or that begins with ':' (see Keeps).
//
// Source: n8n 2.40.7, dist/webhooks/webhook.service.js: findCached asks
// findCachedStaticWebhook(method, path), then findDynamicWebhook(path, method).
func (t *Table) Lookup(path, method string) Match {
	wanted := methodBit(method)
	exact := t.exact[path]
	if i, ok := exact.route(wanted); ok {
		return Match{Index: i, Found: true}
	}
	m := Match{Index: -1}
	known := exact.methods()
	t.wildcard.walk(path, func(end *endpoint) bool {
		known |= end.methods()
		m.Index, m.Found = end.route(wanted)
		return !m.Found
	})
	if m.Found {
		m.Segments = t.routes[m.Index].matched(path)
		return m
	}
	m.Allow = known.names()
	return m
}

// Keeps reports whether a path read by Canonical must stay with the gate even if
// Lookup does not find it, whatever the user says of other webhooks: n8n may start
// a webhook of this table under it.
//
//   - n8n finds a dynamic webhook by its id, the number of segments and the set
//     of its static segments, wherever they stand: "ID/7/orders" starts the
//     webhook of "ID/orders/*".
//   - It fills a parameter with anything, "" and ".." too.
//   - It keeps a dynamic webhook under its path without the id, and looks that up
//     first: "orders/:id", to the letter, starts the webhook of "ID/orders/*".
//   - n8n 1.x on MySQL or MariaDB compares without regard to case and to spaces
//     at the end. (Those also compare without accents; this does not.)
//   - Somebody on the way may squeeze slashes, turn them round, resolve dots or
//     decode once more, as those may whom Canonical thinks of. A path that means
//     something else to them is kept whatever it names.
//
// Source: n8n 2.40.7, dist/webhooks/webhook.service.js, pickMatchingTemplate,
// findStaticWebhookInDb and createWebhook.
func (t *Table) Keeps(path string) bool {
	if t.keeps(path) {
		return true
	}
	decoded := decodeLoosely(path)
	if decoded != path && t.keeps(decoded) {
		return true
	}
	end := strings.IndexAny(decoded, "?#")
	return end >= 0 && t.keeps(decoded[:end])
}

func (t *Table) keeps(path string) bool {
	segments := strings.Split(path, "/")
	if slices.ContainsFunc(segments, isSlippery) {
		return true
	}
	for i := range t.routes {
		if t.routes[i].mayStart(segments) {
			return true
		}
	}
	return false
}

// isSlippery reports whether a segment may not stay where it is on the way to
// n8n, or has a meaning of its own there.
func isSlippery(segment string) bool {
	return segment == "" || segment == "." || segment == ".." || isParameter(segment) || strings.Contains(segment, `\`)
}

// endpoint is one pattern with the routes that it stands in, by method. A nil
// one has none.
type endpoint struct {
	byMethod [len(methodNames)]int // the route's index + 1
}

func (e *endpoint) add(index int, methods methodSet) {
	for bit := range e.byMethod {
		if methods&(1<<bit) != 0 {
			e.byMethod[bit] = index + 1
		}
	}
}

func (e *endpoint) route(bit int) (index int, ok bool) {
	if e == nil || bit < 0 || e.byMethod[bit] == 0 {
		return -1, false
	}
	return e.byMethod[bit] - 1, true
}

func (e *endpoint) methods() (set methodSet) {
	if e == nil {
		return 0
	}
	for bit, index := range e.byMethod {
		if index != 0 {
			set |= 1 << bit
		}
	}
	return set
}

// node is a place in the tree of patterns with wildcards; its children go one
// segment further.
type node struct {
	literal map[string]*node
	any     *node
	end     *endpoint // of the pattern that ends here
}

// grow makes the way along segments and gives the endpoint at its end.
func (n *node) grow(segments []string) *endpoint {
	for _, segment := range segments {
		child := n.any
		if segment != wildcard {
			child = n.literal[segment]
		}
		if child == nil {
			child = new(node)
			switch {
			case segment == wildcard:
				n.any = child
			case n.literal == nil:
				n.literal = map[string]*node{segment: child}
			default:
				n.literal[segment] = child
			}
		}
		n = child
	}
	if n.end == nil {
		n.end = new(endpoint)
	}
	return n.end
}

// walk calls f with every pattern that matches path, until f says no. It goes at
// most where patterns are, so a sender's path cannot make it long.
func (n *node) walk(path string, f func(*endpoint) bool) (more bool) {
	segment, rest, further := strings.Cut(path, "/")
	for _, child := range [...]*node{n.literal[segment], n.any} {
		switch {
		case child == nil, child == n.any && !fills(segment):
		case further:
			if !child.walk(rest, f) {
				return false
			}
		case child.end != nil:
			if !f(child.end) {
				return false
			}
		}
	}
	return true
}
