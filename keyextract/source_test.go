package keyextract

import (
	"encoding/json"
	"reflect"
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
	sources := rule(headerAt("x-event"), jsonAt("order.id"))
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
	if _, err := Compile(make([]Source, MaxParts+1)); err == nil {
		t.Error("too many parts compile")
	}
	eight := strings.Split("abcdefgh", "")
	sources = nil
	for _, name := range eight {
		sources = append(sources, jsonAt(name))
	}
	if _, err := Compile(sources); err != nil {
		t.Errorf("eight parts: %v", err)
	}
}

func TestSourceJSON(t *testing.T) {
	text := `[{"source":"header","name":"X-Event"},{"source":"json","path":"order.id"}]`
	var sources []Source
	if err := json.Unmarshal([]byte(text), &sources); err != nil {
		t.Fatal(err)
	}
	if want := rule(headerAt("X-Event"), jsonAt("order.id")); !reflect.DeepEqual(sources, want) {
		t.Errorf("got %v, want %v", sources, want)
	}
	if back, err := json.Marshal(sources); err != nil || string(back) != text {
		t.Errorf("got %s, %v, want %s", back, err, text)
	}
}
