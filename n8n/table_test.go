package n8n

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// posts are routes that take POST.
func posts(patterns ...string) []Route {
	routes := make([]Route, len(patterns))
	for i, p := range patterns {
		routes[i].Pattern = p
	}
	return routes
}

func newTable(t testing.TB, routes []Route) *Table {
	t.Helper()
	table, err := NewTable(DefaultPrefix, routes)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func found(index int, segments ...string) Match {
	return Match{Index: index, Found: true, Segments: segments}
}

func missed(allow ...string) Match { return Match{Index: -1, Allow: allow} }

func TestLookup(t *testing.T) {
	table := newTable(t, []Route{
		0:  {Pattern: "stripe-orders"},
		1:  {Pattern: "5f0c/webhook"},
		2:  {Pattern: "Été 100%"},
		3:  {Pattern: "a:b"},
		4:  {Pattern: "shop/*/orders"},
		5:  {Pattern: "shop/eu/orders"},
		6:  {Pattern: "shop/us/orders", Methods: []string{"GET"}},
		7:  {Pattern: "shop/us/orders", Methods: []string{"PUT", "DELETE"}},
		8:  {Pattern: "shop/*/orders", Methods: []string{"PATCH"}},
		9:  {Pattern: "*"},
		10: {Pattern: "*/*/*/*"},
		11: {Pattern: "id/*", Methods: []string{"HEAD", "GET"}},
		12: {Pattern: "*/x", Methods: []string{"PUT"}},
		13: {Pattern: "é/*/ü/*/end"},
	})
	tests := []struct {
		method, path string
		want         Match
	}{
		{"POST", "stripe-orders", found(0)},
		{"POST", "5f0c/webhook", found(1)},
		{"POST", "Été 100%", found(2)},
		{"POST", "a:b", found(3)},
		{"POST", "Stripe-orders", found(9, "Stripe-orders")},
		{"POST", "5f0c", found(9, "5f0c")},
		{"POST", "5f0c/Webhook", missed()},
		{"POST", "stripe-orders/", missed()},
		{"POST", "/stripe-orders", missed()},
		{"POST", "", missed()},

		{"POST", "shop/de/orders", found(4, "de")},
		{"POST", "shop/orders/orders", found(4, "orders")},
		{"POST", "shop/a b%2F\\?#;é😀*/orders", found(4, "a b%2F\\?#;é😀*")},
		{"POST", "shop/.../orders", found(4, "...")},
		{"POST", "shop/a:b/orders", found(4, "a:b")},
		{"POST", "shop/*/orders", found(4, "*")},
		{"POST", "Shop/de/orders", missed()},
		{"POST", "shop/de/Orders", missed()},
		{"POST", "shop/de/fr/orders", found(10, "shop", "de", "fr", "orders")},
		{"POST", "shop/orders", missed()},
		{"POST", "shop/de/orders/", missed()},
		{"POST", "shop//orders", missed()},
		{"POST", "shop/./orders", missed()},
		{"POST", "shop/../orders", missed()},
		{"POST", "shop/:shop/orders", missed()},
		{"POST", "shop/a\x00/orders", missed()},
		{"POST", "shop/a\n/orders", missed()},
		{"POST", "shop/\x7f/orders", missed()},
		{"POST", "shop/\u0085/orders", missed()},
		{"POST", "shop/\xff/orders", missed()},
		{"POST", "é/1/ü/2/end", found(13, "1", "2")},
		{"POST", "é/1/u\u0308/2/end", missed()},
		{"POST", "a/b/c/", missed()},
		{"POST", "/b/c/d", missed()},

		// An exact pattern comes before a wildcard, if it has the method.
		{"POST", "shop/eu/orders", found(5)},
		{"PATCH", "shop/eu/orders", found(8, "eu")},
		{"GET", "shop/us/orders", found(6)},
		{"DELETE", "shop/us/orders", found(7)},
		{"PUT", "shop/us/orders", found(7)},
		{"POST", "shop/us/orders", found(4, "us")},
		{"HEAD", "shop/us/orders", missed("DELETE", "GET", "PATCH", "POST", "PUT")},
		{"GET", "shop/eu/orders", missed("PATCH", "POST")},
		{"GET", "shop/de/orders", missed("PATCH", "POST")},

		// Patterns that overlap and have other methods.
		{"GET", "id/x", found(11, "x")},
		{"PUT", "id/x", found(12, "id")},
		{"POST", "id/x", missed("GET", "HEAD", "PUT")},
		{"POST", "id/y", missed("GET", "HEAD")},

		{"GET", "stripe-orders", missed("POST")},
		{"OPTIONS", "stripe-orders", missed("POST")},
		{"post", "stripe-orders", missed("POST")},
		{"", "stripe-orders", missed("POST")},
		{"PROPFIND", "stripe-orders", missed("POST")},
		{"OPTIONS", "shop//orders", missed()},
	}
	for _, tt := range tests {
		if got := table.Lookup(tt.path, tt.method); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Lookup(%s %q) = %+v, want %+v", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestKeeps(t *testing.T) {
	table := newTable(t, []Route{
		{Pattern: "orders"},
		{Pattern: "5f0c/orders/*"},
		{Pattern: "77aa/*/items/*"},
		{Pattern: "*/webhook"},
		{Pattern: "*/*/a/b/c"},
		{Pattern: "9999/get/*", Methods: []string{"GET"}},
	})
	tests := []struct {
		name, path string
		want       bool
	}{
		{"the webhook itself", "orders", true},
		{"in other case", "ORDERS", true},
		{"with spaces", "orders  ", true},
		{"with a space before it", " orders", false},
		{"longer", "orders2", false},
		{"deeper", "orders/2", false},

		{"segments in other order", "5f0c/7/orders", true},
		{"segments in other order and case", "5F0C/7/Orders ", true},
		{"the id elsewhere", "orders/7/5f0c", false},
		{"another id", "5f0d/7/orders", false},
		{"a static segment is not there", "5f0c/7/order", false},
		{"more segments", "5f0c/7/orders/8", false},
		{"fewer segments", "5f0c/7", false},
		{"an empty parameter", "5f0c/orders/", true},
		{"an empty parameter in other order", "5f0c//orders", true},
		{"dots for a parameter", "5f0c/orders/..", true},
		{"a control character for a parameter", "5f0c/orders/\x00", true},
		{"another method", "9999/7/get", true},

		{"two parameters", "77aa/items/1/2", true},
		{"two parameters, the segment last", "77aa/1/2/items", true},
		{"two parameters, empty", "77aa/items//", true},

		{"any id, none", "/webhook", true},
		{"any id, in other order", "webhook/x", false},
		{"any id and a parameter", "x/c/b/7/a", true},
		{"any id and a parameter, not all segments", "x/c/b/7/b", false},

		{"a row without its id", "orders/:id", true},
		{"a row of somebody else's", "other/:x/y", true},
		{"a parameter alone", ":id", true},
		{"a parameter in its place", "5f0c/orders/:id", true},
		{"a colon inside", "urn:x/y", false},

		{"a slash before it", "/orders", true},
		{"slashes within", "5f0c//orders/7", true},
		{"backslashes", `5f0c\orders\7`, true},
		{"dots", "x/../orders", true},
		{"dots of nobody's", "./chat", true},
		{"dots out of the prefix", "../form/orders", true},
		{"dots behind a backslash", `a\..\chat`, true},
		{"encoded again", "%6frders", true},
		{"a slash encoded again", "5f0c%2Forders/7", true},
		{"dots encoded again", "chat/%2e%2E/x", true},
		{"a query encoded again", "orders?x", true},
		{"a fragment encoded twice again", "orders%23x", true},
		{"three dots", ".../chat", false},
		{"a percent", "chat/100%", false},
		{"a query of nobody's", "chat?orders", false},
		{"nothing but slashes", "//", true},
		{"an empty segment of nobody's", "chat//x", true},
		{"a backslash of nobody's", `chat\x`, true},

		{"somebody else's", "chat", false},
		{"somebody else's, deeper", "1234/chat", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := table.Keeps(tt.path); got != tt.want {
				t.Errorf("Keeps(%q) = %v, want %v", tt.path, got, tt.want)
			}
		})
	}
}

func TestTableErrors(t *testing.T) {
	const notPOST = "n8n starts webhooks for DELETE, GET, HEAD, PATCH, POST, PUT only"
	tests := []struct {
		name   string
		routes []Route
		want   string
	}{
		{"empty", posts(""), `webhook "": the path is empty`},
		{"leading slash", posts("/a"), `webhook "/a": it is written without the leading slash: "a"`},
		{"trailing slash", posts("a/"), `webhook "a/": it is written without the trailing slash: "a"`},
		{"slash behind a wildcard", posts("*/"), `webhook "*/": it is written without the trailing slash: "*"`},
		{"empty segment", posts("a//b"), `webhook "a//b": it has an empty segment ('//')`},
		{"dots", posts("a/../b"), `webhook "a/../b": it has the segment "..", which clients resolve before they send`},
		{"dot", posts("."), `webhook ".": it has the segment ".", which clients resolve before they send`},
		{"encoded", posts("a%2Fb"), `webhook "a%2Fb": it is written decoded: "a/b"`},
		{"encoded wildcard", posts("%2A"), `webhook "%2A": it is written decoded: "*"`},
		{"query", posts("a?b=c"), `webhook "a?b=c": it holds '?' or '#'; only the path is written, without query or fragment`},
		{"URL", posts("https://n8n.example.com/webhook/a"), `webhook "https://n8n.example.com/webhook/a": only what follows /webhook/ in the webhook's URL is written`},
		{"parameter", posts("5f0c/:id"), `webhook "5f0c/:id": n8n fills the segment ":id" in with anything: '*' is written for it, behind the webhook's id as in the URL that n8n shows`},
		{"control character", posts("a\tb"), `webhook "a\tb": it holds a control character`},
		{"not UTF-8", posts("a\xff"), `webhook "a\xff": it is not valid UTF-8`},
		{"part of a segment", posts("a/b*"), `webhook "a/b*": it has the segment "b*"; '*' stands for a whole segment or not at all`},
		{"two stars", posts("a/**"), `webhook "a/**": it has the segment "**"; '*' stands for a whole segment or not at all`},

		{"twice", posts("a", "b", "a"), `webhook "a": it is there twice for POST`},
		{"twice, some methods", []Route{{"a", []string{"POST", "GET"}}, {"a", []string{"PUT", "GET"}}}, `webhook "a": it is there twice for GET`},
		{"a wildcard twice", posts("a/*", "a/*"), `webhook "a/*": it is there twice for POST`},
		{"an overlap", posts("a/*", "b", "*/b"), `webhook "*/b": it overlaps with webhook "a/*": both can match one path, for POST`},
		{
			"an overlap, some methods",
			[]Route{{"a/*/c", []string{"GET", "POST", "PUT"}}, {"a/b/*", []string{"DELETE", "PUT", "POST"}}},
			`webhook "a/b/*": it overlaps with webhook "a/*/c": both can match one path, for POST, PUT`,
		},

		{"unknown method", []Route{{"a", []string{"PURGE"}}}, `webhook "a": method "PURGE": ` + notPOST},
		{"OPTIONS", []Route{{"a", []string{"OPTIONS"}}}, `webhook "a": method "OPTIONS": ` + notPOST},
		{"no method", []Route{{"a", []string{""}}}, `webhook "a": method "": ` + notPOST},
		{"lower case", []Route{{"a", []string{"GET", "post"}}}, `webhook "a": method "post": it is written in upper case: "POST"`},
		{"a method twice", []Route{{"a", []string{"GET", "POST", "GET"}}}, `webhook "a": method "GET": it is there twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := NewTable(DefaultPrefix, tt.routes); err == nil || err.Error() != tt.want {
				t.Errorf("NewTable = %v, want %q", err, tt.want)
			}
		})
	}
	const want = `prefix "webhook": it must begin with '/'`
	if _, err := NewTable("webhook", nil); err == nil || err.Error() != want {
		t.Errorf("NewTable = %v, want %q", err, want)
	}
}

// Every two of these patterns, in both orders, with methods in common and without.
func TestOverlap(t *testing.T) {
	patterns := []string{"a", "b", "*", "a/b", "a/*", "*/b", "*/*", "b/*", "*/a", "a/b/c", "a/*/c", "*/b/*", "a/b/*", "*/*/d"}
	overlap := map[string]bool{}
	for _, pair := range []string{
		"a/* */b", "a/* */*", "*/b */*", "b/* */*", "*/a */*", "a/* */a", "b/* */b", "b/* */a",
		"a/*/c */b/*", "a/*/c a/b/*", "*/b/* a/b/*", "*/b/* */*/d", "a/b/* */*/d",
	} {
		p, q, _ := strings.Cut(pair, " ")
		overlap[p+" "+q], overlap[q+" "+p] = true, true
	}
	for _, p := range patterns {
		for _, q := range patterns {
			_, err := NewTable(DefaultPrefix, posts(p, q))
			if want := overlap[p+" "+q] || p == q; (err != nil) != want {
				t.Errorf("%q and %q: %v, want an error: %v", p, q, err, want)
			}
			if err != nil && (!strings.Contains(err.Error(), fmt.Sprintf("%q", p)) || !strings.Contains(err.Error(), fmt.Sprintf("%q", q))) {
				t.Errorf("%q and %q: %v does not name both", p, q, err)
			}
			if _, err := NewTable(DefaultPrefix, []Route{{p, []string{"GET", "POST"}}, {q, []string{"PUT"}}}); err != nil {
				t.Errorf("GET and POST %q, PUT %q: %v", p, q, err)
			}
		}
	}
}

func TestMethods(t *testing.T) {
	if !slices.IsSorted(methodNames[:]) {
		t.Error("not sorted")
	}
	table := newTable(t, []Route{{"a", methodNames[:]}, {"b", nil}, {"c", []string{}}})
	for _, method := range methodNames {
		if m := table.Lookup("a", method); !m.Found {
			t.Errorf("%s: %+v", method, m)
		}
		for _, path := range []string{"b", "c"} {
			if m := table.Lookup(path, method); m.Found != (method == http.MethodPost) {
				t.Errorf("%s %s: %+v", method, path, m)
			}
		}
	}
}
