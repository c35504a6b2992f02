package keyextract

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// FuzzExtract compares the reading of a member with the two readers that matter
// beside ours: gjson, whose path syntax is a superset of ours, and encoding/json,
// which like JavaScript takes the last of two members with one name. A key must
// be what both read; a refusal is always allowed, except of plain ids.
func FuzzExtract(f *testing.F) {
	for _, seed := range []struct{ path, body string }{
		{"id", `{"id":"evt_1"}`},
		{"id", `{"id":1,"id":2}`},
		{"id", `{"i\u0064":"\ud83d\ude00","a":[1,{"b":null}]}`},
		{"order.id", `{"order":{"id":12345678901234567890}}`},
		{"events.0.id", ` [ {"events" : [ {"id":"a"} ] } ] `},
		{"events.0.id", `{"events":[{"id":"a"}]}`},
		{"0", `["x"]`}, {"0", `{"0":"x"}`}, {"0.1", `[{"1":-0}]`},
		{`a\.b`, `{"a.b":"x","a":{"b":"y"}}`},
		{`\@a.\#`, `{"@a":{"#":"x"}}`},
		{"a", `{"a":1e3}`}, {"a", `{"a":"\ud800"}`}, {"a", "\xef\xbb\xbf{}"}, {"a", `{"a":`}, {"é", `{"\u00e9":"ü"}`},
		{"a.b.c", `{"a":{"b":{"c":"\"\\\/\b\f\n\r\t"}}}`},
	} {
		f.Add(seed.path, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		r, err := Compile(rule(jsonAt(path)))
		if err != nil {
			return
		}
		key, err := r.Extract(Input{Body: body})
		if err != nil {
			var failed *Error
			if !errors.As(err, &failed) {
				t.Fatalf("error %T", err)
			}
			return
		}
		checkKey(t, key)
		if !json.Valid(body) || !utf8.Valid(body) {
			t.Fatalf("a key %q from what is no JSON", key)
		}
		segments, err := parsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if want, ok := standardReading(t, body, segments); !ok || want != key.parts[0] {
			t.Fatalf("path %q: key %q, encoding/json reads %q (%v)", path, key.parts[0], want, ok)
		}
		// gjson does not find a member whose name it cannot compare escaped,
		// so an absence there proves nothing.
		if got := gjson.GetBytes(body, path); got.Exists() {
			want := got.Str
			if got.Type == gjson.Number {
				want = got.Raw
			}
			if want != key.parts[0] {
				t.Fatalf("path %q: key %q, gjson reads %q", path, key.parts[0], want)
			}
		}
	})
}

// standardReading follows segments through body by encoding/json.
func standardReading(t *testing.T, body []byte, segments []segment) (string, bool) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("encoding/json: %v", err)
	}
	for _, step := range segments {
		switch v := value.(type) {
		case map[string]any:
			value = v[step.name]
		case []any:
			if step.index < 0 || step.index >= len(v) {
				return "", false
			}
			value = v[step.index]
		default:
			return "", false
		}
	}
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// gjson's recursion ends the process where the depth is not checked first, so
// the check must see every level that gjson would go down.
func TestDepthIsCountedAsGJSONDescends(t *testing.T) {
	for _, open := range []string{"[", `{"a":`, " [\n", `[{"\"":`, `["x",`, `[1,true,null,"\\",`} {
		levels := strings.Count(open, "[") + strings.Count(open, "{")
		n := maxDepth / levels
		if tooDeep([]byte(strings.Repeat(open, n))) {
			t.Errorf("%q: %d levels are too deep", open, n*levels)
		}
		if !tooDeep([]byte(strings.Repeat(open, n+1))) {
			t.Errorf("%q: %d levels are not too deep", open, (n+1)*levels)
		}
	}
}

func TestLargeBodyIsNotCopied(t *testing.T) {
	body := []byte(`{"padding":["` + strings.Repeat(`x","`, 250_000) + `"],"id":"evt_1"}`)
	r, err := Compile(rule(jsonAt("id")))
	if err != nil {
		t.Fatal(err)
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Extract(Input{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 4096 {
		t.Errorf("%d bytes allocated for a body of %d", allocated, len(body))
	}
}
