package n8n

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// naive is Lookup from its description: all routes one after the other.
func naive(routes []Route, path, method string) Match {
	matches := func(pattern string) (segments []string, ok bool) {
		own, got := strings.Split(pattern, "/"), strings.Split(path, "/")
		if len(own) != len(got) {
			return nil, false
		}
		for i, segment := range got {
			switch {
			case own[i] != "*":
				if own[i] != segment {
					return nil, false
				}
			case segment == "", segment == ".", segment == "..", segment[0] == ':',
				!utf8.ValidString(segment), strings.IndexFunc(segment, unicode.IsControl) >= 0:
				return nil, false
			default:
				segments = append(segments, segment)
			}
		}
		return segments, true
	}
	best, allow := Match{Index: -1}, map[string]bool{}
	for i, r := range routes {
		segments, ok := matches(r.Pattern)
		if !ok {
			continue
		}
		methods := r.Methods
		if len(methods) == 0 {
			methods = []string{"POST"}
		}
		for _, m := range methods {
			allow[m] = true
		}
		if slices.Contains(methods, method) && (!best.Found || len(segments) == 0) {
			best = found(i, segments...)
		}
	}
	if !best.Found {
		for _, m := range methodNames {
			if allow[m] {
				best.Allow = append(best.Allow, m)
			}
		}
	}
	return best
}

// starts reports whether an n8n that holds the webhook own, under its id and
// with parameters, starts it under path: webhook.service.js in Go's words.
func starts(id, own, path string) bool {
	if path == own {
		return true // findStaticWebhookInDb
	}
	request := strings.Split(path, "/")
	template := strings.Split(own, "/")
	if request[0] != id || len(request)-1 != len(template) {
		return false
	}
	for _, segment := range template {
		if !strings.HasPrefix(segment, ":") && !slices.Contains(request[1:], segment) {
			return false
		}
	}
	return true
}

// TestLookupIsTheNaiveOne compares the two over small alphabets, in which nearly
// everything collides.
func TestLookupIsTheNaiveOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	join := func(from []string, most int) string {
		segments := make([]string, 1+rng.IntN(most))
		for i := range segments {
			segments[i] = pick(from)
		}
		return strings.Join(segments, "/")
	}
	inPatterns := []string{"a", "b", "c", "*", "*"}
	inPaths := []string{"a", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b", "c", "A", "*", "", ".", "..", ":a", "a:", "é", "\x00", "a\x1f", "\xff", "%2F"}
	tables, refused, lookups, hits := 0, 0, 0, 0
	for tables < 2000 {
		routes := make([]Route, rng.IntN(9))
		for i := range routes {
			routes[i].Pattern = join(inPatterns, 4)
			for _, bit := range rng.Perm(len(methodNames))[:rng.IntN(4)] {
				routes[i].Methods = append(routes[i].Methods, methodNames[bit])
			}
		}
		table, err := NewTable(DefaultPrefix, routes)
		if ambiguous(routes) != (err != nil) {
			t.Fatalf("%q: %v", routes, err)
		}
		if err != nil {
			refused++
			continue
		}
		tables++
		for range 50 {
			path, method := join(inPaths, 4), pick(append(methodNames[:], "OPTIONS", "post", ""))
			got, want := table.Lookup(path, method), naive(routes, path, method)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: Lookup(%s %q) = %+v, want %+v", routes, method, path, got, want)
			}
			if got.Found {
				hits++
				if !table.Keeps(path) {
					t.Fatalf("%q: %q is found and not kept", routes, path)
				}
			}
			lookups++
		}
	}
	if refused < 100 || hits < lookups/50 {
		t.Errorf("%d tables refused, %d of %d look-ups found something: too few to say much", refused, hits, lookups)
	}
}

// ambiguous says from the description whether NewTable must refuse routes: some
// path, of the segments that patterns hold, has two routes to one method, and no
// exact one.
func ambiguous(routes []Route) bool {
	methods := func(r Route) []string {
		if len(r.Methods) == 0 {
			return []string{"POST"}
		}
		return r.Methods
	}
	for i, p := range routes {
		for _, q := range routes[:i] {
			exact := !strings.Contains(p.Pattern, "*") || !strings.Contains(q.Pattern, "*")
			if exact && p.Pattern != q.Pattern {
				continue
			}
			a, b := strings.Split(p.Pattern, "/"), strings.Split(q.Pattern, "/")
			if len(a) != len(b) || !slices.ContainsFunc(methods(p), func(m string) bool { return slices.Contains(methods(q), m) }) {
				continue
			}
			common := true
			for j := range a {
				common = common && (a[j] == b[j] || a[j] == "*" || b[j] == "*")
			}
			if common {
				return true
			}
		}
	}
	return false
}

// TestKeepsWhatN8NStarts holds Keeps against n8n's own way of looking a dynamic
// webhook up: whatever starts the webhook that a pattern stands for is found or
// kept.
func TestKeepsWhatN8NStarts(t *testing.T) {
	const id = "5f0c"
	segments := []string{"a", "b", ":x", ":y", "", "..", "7", "A"}
	count := 0
	for _, own := range []string{":x", "a/:x", ":x/a", "a/:x/b", ":x/:y", "a/b/:x", ":x/a/:y", "a/:x/b/:y"} {
		pattern := id
		for segment := range strings.SplitSeq(own, "/") {
			if strings.HasPrefix(segment, ":") {
				segment = "*"
			}
			pattern += "/" + segment
		}
		table := newTable(t, posts(pattern))
		var try func(path string, more int)
		try = func(path string, more int) {
			if starts(id, own, path) {
				count++
				if !table.Lookup(path, "POST").Found && !table.Keeps(path) {
					t.Errorf("%q: n8n starts it under %q, the gate knows nothing of it", pattern, path)
				}
			}
			if more > 0 {
				for _, s := range segments {
					try(path+"/"+s, more-1)
				}
			}
		}
		for _, first := range append(segments, id) {
			try(first, strings.Count(own, "/")+1)
		}
	}
	if count < 900 {
		t.Errorf("only %d paths start something", count)
	}
}

// FuzzLookup: no patterns and no path make the table panic, find what the naive
// matcher does not, or give back something other than what n8n reads in what is
// forwarded.
func FuzzLookup(f *testing.F) {
	f.Add("orders\nshop/*/orders GET,POST\n*/x PUT", "/webhook/shop/de/orders", "POST")
	f.Add("a/*\n*/b", "/webhook/a/b", "POST")
	f.Add("*", "/webhook/%2A", "POST")
	f.Add("*/*", "/WEBHOOK/a%2Fb/", "POST")
	f.Add("id/*/b\nid/a/* GET", "/webhook/id/a/b", "HEAD")
	f.Add("id/*", "/webhook/id/%2e%2e", "POST")
	f.Add("id/*", "/webhook/id//", "POST")
	f.Add("é/* DELETE,HEAD,PATCH", "/webhook/%C3%A9/%00", "PATCH")
	f.Fuzz(func(t *testing.T, lines, escapedPath, method string) {
		var routes []Route
		for line := range strings.SplitSeq(lines, "\n") {
			pattern, methods, ok := strings.Cut(line, " ")
			r := Route{Pattern: pattern}
			if ok {
				r.Methods = strings.Split(methods, ",")
			}
			routes = append(routes, r)
		}
		table, err := NewTable(DefaultPrefix, routes)
		if err != nil {
			return
		}
		table.SideDoor(escapedPath)
		path, _, ok := Canonical(DefaultPrefix, escapedPath)
		if !ok {
			return
		}
		got := table.Lookup(path, method)
		if want := naive(routes, path, method); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: Lookup(%s %q) = %+v, want %+v", routes, method, path, got, want)
		}
		if !got.Found {
			return
		}
		if !table.Keeps(path) {
			t.Fatalf("%q: %q is found and not kept", routes, path)
		}
		if again, reached := route(Rebuild(DefaultPrefix, path)); !reached || again != path {
			t.Fatalf("%q is forwarded as %q, which n8n reads as %q", path, Rebuild(DefaultPrefix, path), again)
		}
		filled := routes[got.Index].Pattern
		for _, segment := range got.Segments {
			// A path may hold stars itself.
			filled = strings.Replace(filled, "*", strings.ReplaceAll(segment, "*", "\x00"), 1)
		}
		if strings.ReplaceAll(filled, "\x00", "*") != path {
			t.Fatalf("%q with %q is not %q", routes[got.Index].Pattern, got.Segments, path)
		}
	})
}

// thousand are 1,000 routes: a half exact, a half with wildcards.
func thousand(tb testing.TB) *Table {
	routes := make([]Route, 0, 1000)
	for i := range 500 {
		routes = append(routes, Route{Pattern: fmt.Sprintf("5f0c%04d/webhook", i)}, Route{Pattern: fmt.Sprintf("77aa%04d/*/items/*", i)})
	}
	return newTable(tb, routes)
}

var lookups = []struct{ name, path, method string }{
	{"exact", "5f0c0123/webhook", "POST"},
	{"wildcard", "77aa0123/7/items/8", "POST"},
	{"method", "5f0c0123/webhook", "GET"},
	{"missed", "77aa0123/7/items/8/9", "POST"},
	{"slashes", strings.Repeat("/", 4000), "POST"},
}

func TestLookupAllocatesNothing(t *testing.T) {
	table := thousand(t)
	if n := testing.AllocsPerRun(100, func() { table.Lookup(lookups[0].path, lookups[0].method) }); n != 0 {
		t.Errorf("an exact look-up allocates %v times", n)
	}
}

func BenchmarkLookup(b *testing.B) {
	table := thousand(b)
	for _, l := range lookups {
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Lookup(l.path, l.method)
			}
		})
	}
}

func BenchmarkKeeps(b *testing.B) {
	table := thousand(b)
	for b.Loop() {
		table.Keeps("chat/7/items/8")
	}
}
