package keyextract

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func jsonAt(path string) Source       { return Source{Kind: KindJSON, Path: path} }
func headerAt(name string) Source     { return Source{Kind: KindHeader, Name: name} }
func rule(sources ...Source) []Source { return sources }

func nested(depth int, inner string) string {
	return strings.Repeat(`{"a":`, depth) + inner + strings.Repeat("}", depth)
}

func TestExtract(t *testing.T) {
	id, order := rule(jsonAt("id")), rule(jsonAt("order.id"))
	event := rule(headerAt("X-Event"))
	both := rule(headerAt("X-Event"), jsonAt("order.id"))
	long := strings.Repeat("x", MaxBytes)
	digits := strings.Repeat("9", MaxBytes)

	const (
		atID    = "part 1 (json id): "
		atOrder = "part 1 (json order.id): "
		atEvent = "part 1 (header X-Event): "
	)
	tests := []struct {
		name    string
		sources []Source
		header  http.Header
		body    string
		key     string // printed
		err     string
		missing bool
	}{
		// JSON values.
		{name: "string", sources: id, body: `{"id":"evt_1"}`, key: "evt_1"},
		{name: "integer", sources: id, body: `{"id":1}`, key: "1"},
		{name: "string of digits is the integer", sources: id, body: `{"id":"1"}`, key: "1"},
		{name: "zero", sources: id, body: `{"id":0}`, key: "0"},
		{name: "negative integer", sources: id, body: `{"id":-17}`, key: "-17"},
		{name: "integer beyond float64", sources: id, body: `{"id":9007199254740993}`, key: "9007199254740993"},
		{name: "integer beyond uint64", sources: id, body: `{"id":123456789012345678901234567890}`, key: "123456789012345678901234567890"},
		{name: "string keeps leading zeros", sources: id, body: `{"id":"007"}`, key: "007"},
		{name: "string keeps spaces", sources: id, body: `{"id":" a "}`, key: "%20a%20"},
		{name: "string keeps case", sources: id, body: `{"id":"aA"}`, key: "aA"},
		{name: "reserved characters", sources: id, body: `{"id":"a:b/c%d"}`, key: "a%3Ab%2Fc%25d"},
		{name: "unreserved characters", sources: id, body: `{"id":"a-b.c_d~e"}`, key: "a-b.c_d~e"},
		{name: "UTF-8", sources: id, body: `{"id":"é"}`, key: "%C3%A9"},
		{name: "composed and decomposed differ", sources: id, body: `{"id":"e` + "\u0301" + `"}`, key: "e%CC%81"},
		{name: "escapes", sources: id, body: `{"id":"\"\\\/"}`, key: "%22%5C%2F"},
		{name: "escaped letter", sources: id, body: `{"id":"\u0061"}`, key: "a"},
		{name: "escaped letter, upper-case hex", sources: id, body: `{"id":"\u00E9"}`, key: "%C3%A9"},
		{name: "surrogate pair", sources: id, body: `{"id":"\ud83d\ude00"}`, key: "%F0%9F%98%80"},
		{name: "the same unescaped", sources: id, body: `{"id":"😀"}`, key: "%F0%9F%98%80"},
		{name: "replacement character", sources: id, body: `{"id":"\ufffd"}`, key: "%EF%BF%BD"},
		{name: "white space around", sources: id, body: " \r\n\t{ \"id\" : \"a\" , \"b\" : 1 } \n", key: "a"},
		{name: "integer before a brace", sources: id, body: "{\"id\":12\n}", key: "12"},
		{name: "longest string", sources: id, body: `{"id":"` + long + `"}`, key: long},
		{name: "longest string, every character escaped", sources: id, body: `{"id":"` + strings.Repeat(`\u0078`, MaxBytes) + `"}`, key: long},
		{name: "longest integer", sources: id, body: `{"id":` + digits + `}`, key: digits},

		{name: "empty string", sources: id, body: `{"id":""}`, err: atID + "it is empty"},
		{name: "null", sources: id, body: `{"id":null}`, err: atID + "it is null, not a string or an integer"},
		{name: "true", sources: id, body: `{"id":true}`, err: atID + "it is a boolean, not a string or an integer"},
		{name: "false", sources: id, body: `{"id":false}`, err: atID + "it is a boolean, not a string or an integer"},
		{name: "object", sources: id, body: `{"id":{}}`, err: atID + "it is an object, not a string or an integer"},
		{name: "array", sources: id, body: `{"id":["a"]}`, err: atID + "it is an array, not a string or an integer"},
		{name: "float", sources: id, body: `{"id":1.0}`, err: atID + "it is a number with a fraction or an exponent"},
		{name: "exponent", sources: id, body: `{"id":1e3}`, err: atID + "it is a number with a fraction or an exponent"},
		{name: "exponent in upper case", sources: id, body: `{"id":1E3}`, err: atID + "it is a number with a fraction or an exponent"},
		{name: "minus zero", sources: id, body: `{"id":-0}`, err: atID + "it is the number -0"},
		{name: "lone high surrogate", sources: id, body: `{"id":"a\ud83d"}`, err: atID + "it holds half of a surrogate pair"},
		{name: "lone high surrogate before text", sources: id, body: `{"id":"\ud83dabcdef"}`, err: atID + "it holds half of a surrogate pair"},
		{name: "lone low surrogate", sources: id, body: `{"id":"\ude00"}`, err: atID + "it holds half of a surrogate pair"},
		{name: "surrogates the wrong way round", sources: id, body: `{"id":"\ude00\ud83d"}`, err: atID + "it holds half of a surrogate pair"},
		{name: "two high surrogates", sources: id, body: `{"id":"\ud83d\ud83d"}`, err: atID + "it holds half of a surrogate pair"},
		{name: "high surrogate before another escape", sources: id, body: `{"id":"\ud83d\n12345"}`, err: atID + "it holds half of a surrogate pair"},
		{name: "escaped line feed", sources: id, body: `{"id":"a\nb"}`, err: atID + "it holds a control character"},
		{name: "escaped NUL", sources: id, body: `{"id":"\u0000"}`, err: atID + "it holds a control character"},
		{name: "DEL", sources: id, body: "{\"id\":\"\x7f\"}", err: atID + "it holds a control character"},
		{name: "C1 control character", sources: id, body: `{"id":"\u0085"}`, err: atID + "it holds a control character"},
		{name: "too long", sources: id, body: `{"id":"` + long + `x"}`, err: atID + "the key is longer than 512 bytes altogether"},
		{name: "far too long", sources: id, body: `{"id":"` + strings.Repeat(long, 100) + `"}`, err: atID + "the key is longer than 512 bytes altogether"},
		{name: "integer too long", sources: id, body: `{"id":` + digits + `9}`, err: atID + "the key is longer than 512 bytes altogether"},
		{name: "length counts bytes, not characters", sources: id, body: `{"id":"` + strings.Repeat("é", 257) + `"}`, err: atID + "the key is longer than 512 bytes altogether"},

		// The body as a whole.
		{name: "empty body", sources: id, body: "", err: atID + "the body is empty", missing: true},
		{name: "white space only", sources: id, body: " \n", err: atID + "the body is not valid JSON"},
		{name: "truncated", sources: id, body: `{"id":"x"`, err: atID + "the body is not valid JSON"},
		{name: "two texts", sources: id, body: `{"id":"x"}{"id":"y"}`, err: atID + "the body is not valid JSON"},
		{name: "rubbish behind", sources: id, body: `{"id":"x"} x`, err: atID + "the body is not valid JSON"},
		{name: "trailing comma", sources: id, body: `{"id":"x",}`, err: atID + "the body is not valid JSON"},
		{name: "single quotes", sources: id, body: `{'id':'x'}`, err: atID + "the body is not valid JSON"},
		{name: "comment", sources: id, body: `{"id":"x"/*y*/}`, err: atID + "the body is not valid JSON"},
		{name: "leading zero", sources: id, body: `{"id":01}`, err: atID + "the body is not valid JSON"},
		{name: "plus sign", sources: id, body: `{"id":+1}`, err: atID + "the body is not valid JSON"},
		{name: "NaN", sources: id, body: `{"id":NaN}`, err: atID + "the body is not valid JSON"},
		{name: "raw line feed in a string", sources: id, body: "{\"id\":\"a\nb\"}", err: atID + "the body is not valid JSON"},
		{name: "unknown escape", sources: id, body: `{"id":"\x61"}`, err: atID + "the body is not valid JSON"},
		{name: "broken escape", sources: id, body: `{"id":"\u00"}`, err: atID + "the body is not valid JSON"},
		{name: "form body", sources: id, body: `id=1`, err: atID + "the body is not valid JSON"},
		{name: "UTF-16", sources: id, body: "{\x00\"\x00i\x00d\x00\"\x00:\x001\x00}\x00", err: atID + "the body is not valid JSON"},
		{name: "byte order mark", sources: id, body: "\xef\xbb\xbf" + `{"id":"x"}`, err: atID + "the body begins with a byte order mark"},
		{name: "invalid UTF-8 in the value", sources: id, body: "{\"id\":\"\xff\"}", err: atID + "the body is not valid UTF-8"},
		{name: "invalid UTF-8 elsewhere", sources: id, body: "{\"id\":\"x\",\"a\":\"\xe9\"}", err: atID + "the body is not valid UTF-8"},
		{name: "overlong UTF-8", sources: id, body: "{\"id\":\"\xc1\xa1\"}", err: atID + "the body is not valid UTF-8"},
		{name: "surrogate in UTF-8", sources: id, body: "{\"id\":\"\xed\xa0\x80\"}", err: atID + "the body is not valid UTF-8"},
		{name: "string as body", sources: id, body: `"id"`, err: atID + "the body is a string, which has no members"},
		{name: "null as body", sources: id, body: `null`, err: atID + "the body is null, which has no members"},
		{name: "number as body", sources: id, body: `17`, err: atID + "the body is a number, which has no members"},
		{name: "deepest", sources: id, body: `{"id":"x","a":` + nested(maxDepth-1, "1") + `}`, key: "x"},
		{name: "too deep", sources: id, body: `{"id":"x","a":` + nested(maxDepth, "1") + `}`, err: atID + "the body is nested deeper than 1000 levels"},
		{name: "far too deep", sources: id, body: strings.Repeat("[", 1<<20), err: atID + "the body is nested deeper than 1000 levels"},
		{name: "brackets in strings are not depth", sources: id, body: `{"id":"x","a":"\"` + strings.Repeat("[{", maxDepth) + `"}`, key: "x"},
		{name: "brackets one after the other are not depth", sources: id, body: `{"id":"x","a":[` + strings.Repeat("[],", maxDepth) + `{}]}`, key: "x"},

		// Members.
		{name: "absent member", sources: id, body: `{"a":1}`, err: atID + `the body has no member "id" there`, missing: true},
		{name: "empty object", sources: id, body: `{ }`, err: atID + `the body has no member "id" there`, missing: true},
		{name: "names differ by case", sources: id, body: `{"ID":"a"}`, err: atID + `the body has no member "id" there`, missing: true},
		{name: "last of several", sources: id, body: `{"a":{"id":1},"b":[1,{"id":2}],"c":"id","d":true,"id":3}`, key: "3"},
		{name: "not in a string", sources: id, body: `{"a":"\"id\":\"x\"","b":"{\"id\":1}"}`, err: atID + `the body has no member "id" there`, missing: true},
		{name: "escaped name", sources: id, body: `{"\u0069d":"a"}`, key: "a"},
		{name: "named twice", sources: id, body: `{"id":"a","id":"b"}`, err: atID + `an object names the member "id" twice`},
		{name: "named twice alike", sources: id, body: `{"id":"a","id":"a"}`, err: atID + `an object names the member "id" twice`},
		{name: "named three times", sources: id, body: `{"id":1,"id":2,"id":3}`, err: atID + `an object names the member "id" twice`},
		{name: "named twice, once escaped", sources: id, body: `{"id":"a","i\u0064":"b"}`, err: atID + `an object names the member "id" twice`},
		{name: "named twice, both escaped", sources: id, body: `{"\u0069d":"a","i\u0064":"b"}`, err: atID + `an object names the member "id" twice`},
		{name: "another member twice", sources: id, body: `{"a":1,"id":"x","a":2}`, key: "x"},
		{name: "twice in another object", sources: id, body: `{"a":{"id":1,"id":2},"id":"x"}`, key: "x"},
		{name: "lone surrogate is no replacement character", sources: rule(jsonAt("\ufffd")), body: `{"\ud800":"a"}`, err: "part 1 (json \ufffd): " + "the body has no member \"\ufffd\" there", missing: true},
		{name: "nested", sources: order, body: `{"order":{"id":"a"}}`, key: "a"},
		{name: "nested, absent at first", sources: order, body: `{"id":"a"}`, err: atOrder + `the body has no member "order" there`, missing: true},
		{name: "nested, absent at last", sources: order, body: `{"order":{}}`, err: atOrder + `the body has no member "id" there`, missing: true},
		{name: "nested, twice on the way", sources: order, body: `{"order":{"id":"a"},"order":{"id":"a"}}`, err: atOrder + `an object names the member "order" twice`},
		{name: "nested, twice at the end", sources: order, body: `{"order":{"id":"a","id":"b"}}`, err: atOrder + `an object names the member "id" twice`},
		{name: "nested, null on the way", sources: order, body: `{"order":null}`, err: atOrder + "order is null, which has no members"},
		{name: "nested, string on the way", sources: order, body: `{"order":"id"}`, err: atOrder + "order is a string, which has no members"},
		{name: "nested, array on the way", sources: order, body: `{"order":[{"id":"a"}]}`, err: atOrder + `"id" meets an array, where only an index can stand`},
		{name: "name with a dot", sources: rule(jsonAt(`a\.b`)), body: `{"a":{"b":1},"a.b":2}`, key: "2"},
		{name: "name with gjson's characters", sources: rule(jsonAt(`\@a\*\?\#\|\!\{\[\\`)), body: `{"@a*?#|!{[\\":"x"}`, key: "x"},
		{name: "name beyond ASCII", sources: rule(jsonAt("größe.ü")), body: `{"gr\u00f6\u00dfe":{"ü":5}}`, key: "5"},
		{name: "name with spaces and quotes", sources: rule(jsonAt(`a "b"`)), body: `{"a \"b\"":5}`, key: "5"},

		// Arrays.
		{name: "index", sources: rule(jsonAt("events.0.id")), body: `{"events":[{"id":"a"}]}`, key: "a"},
		{name: "index at the top", sources: rule(jsonAt("0.id")), body: ` [ {"id":"a"} ] `, key: "a"},
		{name: "index at the end", sources: rule(jsonAt("ids.0")), body: `{"ids":[7]}`, key: "7"},
		{name: "nested arrays", sources: rule(jsonAt("0.0.0")), body: `[[["a"]]]`, key: "a"},
		{name: "batch", sources: rule(jsonAt("events.0.id")), body: `{"events":[{"id":"a"},{"id":"b"}]}`, err: "part 1 (json events.0.id): index 0 points into an array of more than one element, a batch"},
		{name: "batch of scalars", sources: rule(jsonAt("0")), body: `[1,2]`, err: "part 1 (json 0): index 0 points into an array of more than one element, a batch"},
		{name: "batch, another index", sources: rule(jsonAt("1")), body: `[1,2]`, err: "part 1 (json 1): index 1 points into an array of more than one element, a batch"},
		{name: "empty array", sources: rule(jsonAt("events.0.id")), body: `{"events":[ ]}`, err: "part 1 (json events.0.id): index 0 points into an empty array", missing: true},
		{name: "index out of range", sources: rule(jsonAt("1")), body: `[1]`, err: "part 1 (json 1): index 1 is out of range", missing: true},
		{name: "digits name a member of an object", sources: rule(jsonAt("0.1")), body: `{"0":{"1":"a"}}`, key: "a"},
		{name: "index with a leading zero", sources: rule(jsonAt("00")), body: `[1]`, err: `part 1 (json 00): "00" meets an array, where only an index can stand`},
		{name: "leading zero names a member", sources: rule(jsonAt("00")), body: `{"00":1,"0":2}`, key: "1"},
		{name: "negative index", sources: rule(jsonAt("-1")), body: `[1]`, err: `part 1 (json -1): "-1" meets an array, where only an index can stand`},

		// Headers.
		{name: "header", sources: event, header: http.Header{"X-Event": {"evt_1"}}, key: "evt_1"},
		{name: "header named in lower case", sources: rule(headerAt("x-event")), header: http.Header{"X-Event": {"evt_1"}}, key: "evt_1"},
		{name: "header needs no body", sources: event, header: http.Header{"X-Event": {"a"}}, body: "no json", key: "a"},
		{name: "header with spaces around", sources: event, header: http.Header{"X-Event": {" \ta "}}, key: "a"},
		{name: "header with a comma", sources: event, header: http.Header{"X-Event": {"a, b"}}, key: "a%2C%20b"},
		{name: "header in UTF-8", sources: event, header: http.Header{"X-Event": {"é"}}, key: "%C3%A9"},
		{name: "header like a number", sources: event, header: http.Header{"X-Event": {"1.0"}}, key: "1.0"},
		{name: "absent header", sources: event, header: http.Header{"X-Other": {"a"}}, err: atEvent + "the header is absent", missing: true},
		{name: "no headers", sources: event, err: atEvent + "the header is absent", missing: true},
		{name: "empty header", sources: event, header: http.Header{"X-Event": {""}}, err: atEvent + "it is empty"},
		{name: "blank header", sources: event, header: http.Header{"X-Event": {"  "}}, err: atEvent + "it is empty"},
		{name: "header twice", sources: event, header: http.Header{"X-Event": {"a", "b"}}, err: atEvent + "the header is there 2 times"},
		{name: "header twice alike", sources: event, header: http.Header{"X-Event": {"a", "a"}}, err: atEvent + "the header is there 2 times"},
		{name: "header with a tab", sources: event, header: http.Header{"X-Event": {"a\tb"}}, err: atEvent + "it holds a control character"},
		{name: "header in Latin-1", sources: event, header: http.Header{"X-Event": {"\xe9"}}, err: atEvent + "it is not valid UTF-8"},
		{name: "header too long", sources: event, header: http.Header{"X-Event": {long + "x"}}, err: atEvent + "the key is longer than 512 bytes altogether"},

		// Several parts.
		{name: "two parts", sources: both, header: http.Header{"X-Event": {"paid"}}, body: `{"order":{"id":17}}`, key: "paid:17"},
		{name: "order of parts", sources: rule(jsonAt("order.id"), headerAt("X-Event")), header: http.Header{"X-Event": {"paid"}}, body: `{"order":{"id":17}}`, key: "17:paid"},
		{name: "one part twice", sources: rule(jsonAt("id"), jsonAt("id")), body: `{"id":"a"}`, key: "a:a"},
		{name: "first missing", sources: both, body: `{"order":{"id":17}}`, err: atEvent + "the header is absent", missing: true},
		{name: "second missing", sources: both, header: http.Header{"X-Event": {"paid"}}, body: `{}`, err: `part 2 (json order.id): the body has no member "order" there`, missing: true},
		{name: "both missing names the first", sources: both, err: atEvent + "the header is absent", missing: true},
		{name: "malformed outweighs missing", sources: both, body: `{"order":{"id":null}}`, err: "part 2 (json order.id): it is null, not a string or an integer"},
		{name: "broken body outweighs a missing header", sources: both, body: `{`, err: "part 2 (json order.id): the body is not valid JSON"},
		{name: "longest altogether", sources: both, header: http.Header{"X-Event": {long[2:]}}, body: `{"order":{"id":17}}`, key: long[2:] + ":17"},
		{name: "too long altogether", sources: both, header: http.Header{"X-Event": {long[1:]}}, body: `{"order":{"id":17}}`, err: "part 2 (json order.id): the key is longer than 512 bytes altogether"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Compile(tt.sources)
			if err != nil {
				t.Fatal(err)
			}
			key, err := r.Extract(Input{Header: tt.header, Body: []byte(tt.body)})
			if tt.err == "" {
				if err != nil || key.String() != tt.key {
					t.Fatalf("got %q, %v, want %q", key, err, tt.key)
				}
				return
			}
			var failed *Error
			if !errors.As(err, &failed) || err.Error() != tt.err || failed.Missing != tt.missing {
				t.Fatalf("got %q, %+v, want %q (missing %v)", key, err, tt.err, tt.missing)
			}
			if len(key.Parts()) != 0 {
				t.Fatalf("a key %q beside an error", key)
			}
		})
	}
}

func TestExtractAllMissing(t *testing.T) {
	r, err := Compile(rule(headerAt("X-Event"), jsonAt("id")))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		in   Input
		all  bool
	}{
		{"nothing", Input{}, true},
		{"empty object", Input{Body: []byte(`{}`)}, true},
		{"header only", Input{Header: http.Header{"X-Event": {"a"}}}, false},
		{"body only", Input{Body: []byte(`{"id":1}`)}, false},
		{"malformed body", Input{Body: []byte(`x`)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var failed *Error
			if _, err := r.Extract(tt.in); !errors.As(err, &failed) || failed.All != tt.all {
				t.Errorf("got %+v, want All %v", err, tt.all)
			}
		})
	}
}

// The values of a request must not reach logs by way of errors.
func TestErrorsHoldNoValue(t *testing.T) {
	const secret = "s3cret"
	r, err := Compile(rule(headerAt("X-Event"), jsonAt("id"), jsonAt("a.0")))
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`{"id":"` + secret + `\n","a":["x"]}`,
		`{"id":"x","a":"` + secret + `"}`,
		`{"id":"x","a":["` + secret + `","` + secret + `"]}`,
		`{"id":"` + secret + `"`,
		`"` + secret + `"`,
		`{"` + secret + `":1}`,
	} {
		for _, header := range [][]string{{"x"}, {secret, secret}, {secret + "\x00"}} {
			_, err := r.Extract(Input{Header: http.Header{"X-Event": header}, Body: []byte(body)})
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("body %s, header %q: %v", body, header, err)
			}
		}
	}
}
