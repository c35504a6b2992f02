package keyextract

import (
	"strings"
	"testing"
)

func fingerprint(t *testing.T, paths ...string) *Fingerprint {
	t.Helper()
	f, err := CompileFingerprint(paths)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sum is the fingerprint of a body alone.
func sum(f *Fingerprint, body string) [32]byte { return f.Sum(FingerprintInput{Body: []byte(body)}) }

// Each group is bodies of one fingerprint; those of different groups differ.
func TestFingerprintGroups(t *testing.T) {
	for _, tt := range []struct {
		name   string
		paths  []string
		groups [][]string
	}{
		{"body", nil, [][]string{
			{`{"a":1,"b":[2,"x"]}`, `{"b":[2,"x"],"a":1}`, "\n{ \"b\" : [2.0 , \"\\u0078\"] ,\"\\u0061\":1e0 }\r\n"},
			{`{"a":1,"b":["x",2]}`}, {`{"a":1,"b":[2,"x"],"c":null}`}, {`{"a":"1","b":[2,"x"]}`},
			{`12345678901234567890`}, {`12345678901234567891`}, {`12345678901234567890.0`, `12345678901234567891.0`},
			{`1`, `1.0`, ` 1 `}, {`"1"`}, {`true`}, {`null`}, {`[]`, `[ ]`}, {`{}`}, {``}, {` `},
			{`a=1&b=2`}, {`b=2&a=1`},
			{`{"a":1,"a":2}`}, {`{"a":2}`}, {`{"a":2,"a":1}`}, // no canonical form: as they stand
			{`"\ud800"`}, {`"\ud801"`}, {`1e400`}, {`1e401`}, {"\"\xff\""}, {"\xef\xbb\xbf1"},
			{strings.Repeat("[", 1001) + strings.Repeat("]", 1001)}, {strings.Repeat("[", 1002) + strings.Repeat("]", 1002)},
		}},
		{"members", []string{"id", "data.total"}, [][]string{
			{`{"id":1,"data":{"total":5}}`, `{"data":{"x":0,"total":5.0},"id":1,"sent":"now"}`, `{"id":1,"data":{"total":5},"x":{"y":1,"y":2}}`},
			{`{"id":5,"data":{"total":1}}`}, {`{"id":1}`, `{"id":1,"data":{}}`}, {`{"id":1,"data":{"total":null}}`},
			{`{"data":{"total":1}}`}, {`{"id":null}`}, {`{"id":""}`}, {`{"id":[1,{"b":1,"a":2}]}`, `{"id":[1,{"a":2,"b":1}]}`},
			{`{}`, `{"x":1}`},                         // all absent
			{`{"id":1,"id":1}`}, {`{"id":1,"id":1 }`}, // unreadable: as they stand
			{`{"id":{"a":1,"a":1}}`}, {`{"id":1,"data":5}`}, {`[1]`}, {`x`}, {``}, {`null`},
		}},
		{"element", []string{"0.id"}, [][]string{
			{`[{"id":1,"x":1}]`, `[{"x":2,"id":1}]`}, {`[]`}, {`[{"id":1},{"id":2}]`}, {`[{"id":1},{"id":3}]`},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fingerprint(t, tt.paths...)
			seen := map[[32]byte]string{}
			for _, group := range tt.groups {
				first := sum(f, group[0])
				if other, ok := seen[first]; ok {
					t.Errorf("%.60q and %.60q have one fingerprint", group[0], other)
				}
				seen[first] = group[0]
				for _, body := range group[1:] {
					if sum(f, body) != first {
						t.Errorf("%.60q and %.60q differ", body, group[0])
					}
				}
			}
		})
	}
}

// Nothing runs together: not the parts before the body, nor the three ways to
// take the body.
func TestFingerprintIsInjective(t *testing.T) {
	all, member, two := fingerprint(t), fingerprint(t, "a"), fingerprint(t, "a", "b")
	seen := map[[32]byte]int{}
	for i, sum := range [][32]byte{
		all.Sum(FingerprintInput{Method: "POST", Path: "a", RawQuery: "b", Body: []byte("c")}),
		all.Sum(FingerprintInput{Method: "POS", Path: "Ta", RawQuery: "b", Body: []byte("c")}),
		all.Sum(FingerprintInput{Method: "POST", Path: "ab", Body: []byte("c")}),
		all.Sum(FingerprintInput{Method: "POST", Path: "a", RawQuery: "bc"}),
		all.Sum(FingerprintInput{Path: "POST", RawQuery: "a", Body: []byte("bc")}),
		all.Sum(FingerprintInput{RawQuery: "b"}),
		all.Sum(FingerprintInput{Body: []byte("b")}),
		all.Sum(FingerprintInput{}),
		sum(all, `{"a":1}`),
		sum(member, `{"a":1}`),
		sum(two, `{"a":1}`),
		sum(all, "\x01"+`{"a":1}`), // as if it were canonical
		sum(all, "\x02\x011\x00"),  // as if it were a member
		sum(two, `{"a":1,"b":1}`),
		sum(two, `{"b":1}`),
		sum(all, `1`),
		sum(all, `[1]`),
	} {
		if j, ok := seen[sum]; ok {
			t.Errorf("%d and %d have one fingerprint", i, j)
		}
		seen[sum] = i
	}
}

func TestCompileFingerprint(t *testing.T) {
	for _, tt := range []struct {
		paths     []string
		text, err string
	}{
		{nil, "", ""},
		{[]string{"id", `data.a\b`}, "id data.ab", ""},
		{[]string{"a b", `a\.b`, `"`}, `"a b" a\.b "\""`, ""},
		{[]string{"id", "a.#"}, "", `path 2 (a.#): the path holds "#", which gjson reads as more than a name; write "\\#" if it is part of a member's name`},
		{[]string{""}, "", "path 1 (): a path is required"},
		{[]string{"id", `i\d`}, "", `path 2 (i\d): stands twice`},
	} {
		f, err := CompileFingerprint(tt.paths)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: %v, want %s", tt.paths, err, tt.err)
			}
		} else if err != nil || f.String() != tt.text {
			t.Errorf("%q: %v, %v, want %s", tt.paths, f, err, tt.text)
		}
	}
}

// The fingerprint of a body stays when it is serialized anew, and no two
// meanings share one; the same goes for the key of canonical_json.
func TestFingerprintOfReserialized(t *testing.T) {
	g := newGenerator(4)
	g.faults = 0
	f := fingerprint(t)
	r, err := Compile(rule(canonicalHash()))
	if err != nil {
		t.Fatal(err)
	}
	key := func(text string) string {
		key, err := r.Extract(body(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return key.String()
	}
	sums, keys := map[[32]byte]string{}, map[string]string{}
	for range 5_000 {
		text := string(g.json("id"))
		form, err := canonical(text)
		if err != nil {
			continue // a number is too large
		}
		again := g.respelled(text)
		if sum(f, text) != sum(f, again) || key(text) != key(again) {
			t.Fatalf("%s and %s differ", text, again)
		}
		if other, ok := sums[sum(f, text)]; ok && other != form {
			t.Fatalf("%s and %s have one fingerprint", other, form)
		}
		if other, ok := keys[key(text)]; ok && other != form {
			t.Fatalf("%s and %s have one key", other, form)
		}
		sums[sum(f, text)], keys[key(text)] = form, form
	}
	if len(sums) < 3_000 {
		t.Errorf("only %d different bodies", len(sums))
	}
}
