package keyextract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestCompileErrors(t *testing.T) {
	more := func(c string) string {
		return `the path holds "` + c + `", which gjson reads as more than a name; write "\\` + c + `" if it is part of a member's name`
	}
	tests := []struct {
		name    string
		sources []Source
		want    string
	}{
		{"no parts", nil, "a key needs at least one part"},
		{"too many parts", make([]Source, 9), "a key has at most 8 parts, the path's wildcards included, not 9"},
		{"no kind", rule(Source{}), `part 1 (): unknown source ""`},
		{"unknown kind", rule(Source{Kind: "cookie"}), `part 1 (cookie): unknown source "cookie"`},
		{"the part that is wrong", rule(jsonAt("id"), headerAt("")), `part 2 (header ""): a header's name is required`},
		{"json with a name", rule(Source{Kind: KindJSON, Name: "a", Path: "b"}), "part 1 (json b): json takes a path, not a name"},
		{"header with a path", rule(Source{Kind: KindHeader, Name: "a", Path: "b"}), "part 1 (header a): header takes a name, not a path"},

		{"header with a space", rule(headerAt("X Event")), `part 1 (header "X Event"): " " cannot stand in a header's name`},
		{"header with a colon", rule(headerAt("X-Event:")), `part 1 (header X-Event:): ":" cannot stand in a header's name`},
		{"header beyond ASCII", rule(headerAt("é")), `part 1 (header é): "\xc3" cannot stand in a header's name`},
		{"Host", rule(headerAt("host")), "part 1 (header host): header Host tells how the request travels, not which event it carries"},
		{"Transfer-Encoding", rule(headerAt("Transfer-Encoding")), "part 1 (header Transfer-Encoding): header Transfer-Encoding tells how the request travels, not which event it carries"},

		{"header with a field", rule(Source{Kind: KindHeader, Name: "a", Field: "b"}), "part 1 (header a): header takes a name, not a field"},
		{"form with a name", rule(Source{Kind: KindForm, Name: "a", Field: "b"}), "part 1 (form b): form takes a field, not a name"},
		{"form with a path", rule(Source{Kind: KindForm, Field: "a", Path: "b"}), "part 1 (form a): form takes a field, not a path"},
		{"form_json with a text", rule(Source{Kind: KindFormJSON, Field: "a", Path: "b", Text: "c"}), "part 1 (form_json a b): form_json takes a field and a path, not a text"},
		{"query with a field", rule(Source{Kind: KindQuery, Name: "a", Field: "b"}), "part 1 (query a): query takes a name, not a field"},
		{"literal with a name", rule(Source{Kind: KindLiteral, Name: "a", Text: "b"}), "part 1 (literal b): literal takes a text, not a name"},
		{"body_sha256 with paths", rule(Source{Kind: KindBodySHA256, Paths: []string{"a"}}), "part 1 (body_sha256): body_sha256 takes nothing, not paths"},
		{"canonical_json with a path", rule(Source{Kind: KindCanonicalJSON, Path: "a"}), "part 1 (canonical_json): canonical_json takes paths, not a path"},
		{"json with paths", rule(Source{Kind: KindJSON, Path: "a", Paths: []string{"b"}}), "part 1 (json a): json takes a path, not paths"},

		{"form without a field", rule(fieldAt("")), `part 1 (form ""): a field's name is required`},
		{"form, not UTF-8", rule(fieldAt("\xff")), "part 1 (form \xff): a field's name is not valid UTF-8"},
		{"form with a control character", rule(fieldAt("a\x7f")), "part 1 (form \"a\x7f\"): a field's name holds a control character"},
		{"form_json without a field", rule(Source{Kind: KindFormJSON, Path: "a"}), `part 1 (form_json "" a): a field's name is required`},
		{"form_json without a path", rule(Source{Kind: KindFormJSON, Field: "a"}), `part 1 (form_json a ""): a path is required`},
		{"form_json with a wildcard", rule(Source{Kind: KindFormJSON, Field: "a", Path: "b.*"}), "part 1 (form_json a b.*): " + more("*")},
		{"query without a name", rule(queryAt("")), `part 1 (query ""): a parameter's name is required`},
		{"query with brackets", rule(queryAt("a[b]")), "part 1 (query a[b]): n8n reads brackets in a parameter's name as nesting"},
		{"literal without a text", rule(literal("")), `part 1 (literal ""): a text is required`},
		{"literal with a line feed", rule(literal("a\n")), "part 1 (literal \"a\n\"): it holds a control character"},
		{"literal, not UTF-8", rule(literal("\xff")), "part 1 (literal \xff): it is not valid UTF-8"},
		{"literal too long", rule(literal(long + "x")), "part 1 (literal " + long + "x): the key is longer than 512 bytes altogether"},
		{"literals only", rule(literal("a"), literal("b")), "a key of literals only would make every event the same one"},
		{"canonical_json with a wildcard", rule(canonicalHash("a", "b|c")), "part 1 (canonical_json a b|c): path 2 (b|c): " + more("|")},
		{"canonical_json with a path twice", rule(canonicalHash("a", "a")), "part 1 (canonical_json a a): path 2 (a): stands twice"},

		{"no path", rule(jsonAt("")), `part 1 (json ""): a path is required`},
		{"wildcard", rule(jsonAt("a.*.b")), "part 1 (json a.*.b): " + more("*")},
		{"single wildcard", rule(jsonAt("a?")), "part 1 (json a?): " + more("?")},
		{"array query", rule(jsonAt("a.#.b")), "part 1 (json a.#.b): " + more("#")},
		{"pipe", rule(jsonAt("a|b")), "part 1 (json a|b): " + more("|")},
		{"modifier", rule(jsonAt("@this")), "part 1 (json @this): " + more("@")},
		{"modifier later", rule(jsonAt("a.@reverse")), "part 1 (json a.@reverse): " + more("@")},
		{"literal", rule(jsonAt(`!"const"`)), `part 1 (json "!\"const\""): ` + more("!")},
		{"multipath object", rule(jsonAt("{a,b}")), "part 1 (json \"{a,b}\"): " + more("{")},
		{"multipath array", rule(jsonAt("[a,b]")), "part 1 (json \"[a,b]\"): " + more("[")},
		{"lines", rule(jsonAt("..0.id")), "part 1 (json ..0.id): the path begins with '..' (lines of JSON), which is not supported"},
		{"leading dot", rule(jsonAt(".a")), "part 1 (json .a): segment 1 of the path is empty"},
		{"trailing dot", rule(jsonAt("a.")), "part 1 (json a.): segment 2 of the path is empty"},
		{"two dots", rule(jsonAt("a..b")), "part 1 (json a..b): segment 2 of the path is empty"},
		{"dot", rule(jsonAt(".")), "part 1 (json .): segment 1 of the path is empty"},
		{"backslash at the end", rule(jsonAt(`a\`)), `part 1 (json a\): the path ends with a backslash that escapes nothing`},
		{"control character", rule(jsonAt("a\nb")), "part 1 (json \"a\nb\"): the path holds a control character"},
		{"not UTF-8", rule(jsonAt("a\xff")), "part 1 (json a\xff): the path is not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Compile(tt.sources); err == nil || err.Error() != tt.want {
				t.Errorf("Compile = %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestRule(t *testing.T) {
	sources := rule(headerAt("x-event"), jsonAt(`order.i\d`))
	r, err := Compile(sources)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Sources(); !reflect.DeepEqual(got, sources) {
		t.Errorf("Sources = %v", got)
	}
	if got, want := r.String(), "header X-Event, json order.id"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	eight := make([]Source, MaxParts)
	for i := range eight {
		eight[i] = jsonAt(string(rune('a' + i)))
	}
	if _, err := Compile(eight); err != nil {
		t.Errorf("eight parts: %v", err)
	}
	if _, err := CompileForPath(2, eight[:6]); err != nil {
		t.Errorf("six parts and two wildcards: %v", err)
	}
	if _, err := CompileForPath(2, eight[:7]); err == nil || err.Error() != "a key has at most 8 parts, the path's wildcards included, not 9" {
		t.Errorf("seven parts and two wildcards: %v", err)
	}
	if _, err := CompileForPath(1, nil); err == nil {
		t.Error("a rule without parts of its own compiles")
	}
	var failed *Error
	if _, err := r.Extract(Input{Segments: []string{"a"}}); !errors.As(err, &failed) || failed.Missing || err.Error() != "the path: 1 segments for 0 wildcards" {
		t.Errorf("a segment too many: %v", err)
	}
}

func TestReadsBody(t *testing.T) {
	for _, tt := range []struct {
		rule []Source
		want bool
	}{
		{rule(headerAt("a")), false}, {rule(queryAt("a"), literal("b")), false}, {rule(headerAt("a"), jsonAt("b")), true},
		{rule(fieldAt("a")), true}, {rule(Source{Kind: KindFormJSON, Field: "a", Path: "b"}), true}, {rule(bodyHash), true}, {rule(canonicalHash()), true},
	} {
		r, err := Compile(tt.rule)
		if err != nil || r.ReadsBody() != tt.want {
			t.Errorf("%s: %v, want %v", r, err, tt.want)
		}
	}
}

func TestRuleString(t *testing.T) {
	for _, tt := range []struct {
		rule []Source
		want string
	}{
		{rule(headerAt("X-EVENT")), "header X-Event"},
		{rule(queryAt("data.id")), "query data.id"},
		{rule(queryAt(`a b`)), `query "a b"`},
		{rule(fieldAt("a,b")), `form "a,b"`},
		{rule(fieldAt(`a\b`)), `form a\b`},
		{rule(fieldAt(`a\ "b"`)), `form "a\\ \"b\""`},
		{rule(Source{Kind: KindFormJSON, Field: "payload", Path: "user.id"}), "form_json payload user.id"},
		{rule(jsonAt(`\a\.b.\"c`)), `json "a\\.b.\"c"`},
		{rule(jsonAt(`\*\?\#\|\@\!\{\[\\`)), `json \*\?\#\|\@\!\{\[\\`},
		{rule(jsonAt("é.\u2028")), "json é.\u2028"},
		{rule(jsonAt("id"), literal("a, json b")), `json id, literal "a, json b"`},
		{rule(bodyHash, canonicalHash()), "body_sha256, canonical_json"},
		{rule(canonicalHash("a", `b.\c`)), "canonical_json a b.c"},
		{rule(canonicalHash("a b")), `canonical_json "a b"`},
	} {
		r, err := Compile(tt.rule)
		if err != nil || r.String() != tt.want {
			t.Errorf("%v: got %s, %v, want %s", tt.rule, r, err, tt.want)
		}
	}
}

// Rules print alike exactly if they mean the same, for rules drawn from words
// of everything that printing treats specially.
func TestRuleStringIsInjective(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6)) // fixed: a failure repeats
	word := func() string {
		alphabet := []string{"a", "b", " ", ",", ", ", `"`, `\`, `\"`, "json", ".", "header a", "A", "\u2028", "é", "'", "`"}
		text := ""
		for range 1 + random.IntN(3) {
			text += alphabet[random.IntN(len(alphabet))]
		}
		return text
	}
	draw := func() Source {
		switch random.IntN(7) {
		case 0:
			return jsonAt(word())
		case 1:
			return headerAt([]string{"a", "A", "b", "a-b", "A-B"}[random.IntN(5)])
		case 2:
			return fieldAt(word())
		case 3:
			return Source{Kind: KindFormJSON, Field: word(), Path: word()}
		case 4:
			return queryAt(word())
		case 5:
			return canonicalHash(slices.Repeat([]string{word()}, random.IntN(2))...)
		}
		return literal(word())
	}
	seen := map[string][]Source{}
	for range 100_000 {
		sources := rule(draw())
		if random.IntN(2) == 0 {
			sources = append(sources, draw())
		}
		r, err := CompileForPath(1, sources)
		if err != nil {
			continue
		}
		meaning := make([]Source, len(sources))
		for i, s := range sources {
			meaning[i] = meant(t, s)
		}
		if other, ok := seen[r.String()]; ok && !reflect.DeepEqual(other, meaning) {
			t.Fatalf("%#v and %#v both print %s", other, meaning, r)
		}
		seen[r.String()] = meaning
	}
	meanings := map[string]bool{}
	for _, meaning := range seen {
		meanings[fmt.Sprintf("%#v", meaning)] = true
	}
	if len(meanings) != len(seen) || len(seen) < 10_000 {
		t.Errorf("%d rules print as %d", len(meanings), len(seen))
	}
}

// meant is the source with what its paths and its header's name lead to.
func meant(t *testing.T, s Source) Source {
	read := func(path string) string {
		if path == "" {
			return ""
		}
		segments, err := parsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, step := range segments {
			text += fmt.Sprintf("%q ", step.name)
		}
		return text
	}
	s.Path = read(s.Path)
	paths := make([]string, len(s.Paths))
	for i, path := range s.Paths {
		paths[i] = read(path)
	}
	s.Paths = paths
	if s.Kind == KindHeader {
		s.Name = strings.ToLower(s.Name)
	}
	return s
}

func TestSourceJSON(t *testing.T) {
	text := `[{"source":"header","name":"X-Event"},{"source":"json","path":"order.id"},{"source":"form","field":"a"},` +
		`{"source":"form_json","field":"a","path":"b"},{"source":"query","name":"q"},{"source":"literal","text":"t"},` +
		`{"source":"body_sha256"},{"source":"canonical_json","paths":["a","b"]}]`
	var sources []Source
	if err := json.Unmarshal([]byte(text), &sources); err != nil {
		t.Fatal(err)
	}
	want := rule(headerAt("X-Event"), jsonAt("order.id"), fieldAt("a"), Source{Kind: KindFormJSON, Field: "a", Path: "b"},
		queryAt("q"), literal("t"), bodyHash, canonicalHash("a", "b"))
	if !reflect.DeepEqual(sources, want) {
		t.Errorf("got %v, want %v", sources, want)
	}
	if back, err := json.Marshal(sources); err != nil || string(back) != text {
		t.Errorf("got %s, %v, want %s", back, err, text)
	}
}
