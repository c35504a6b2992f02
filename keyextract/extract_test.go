package keyextract

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// extraction is one line of a table: what a rule makes of a request. want is
// the printed key, or an error behind "! " (malformed), "? " (missing, and
// nothing else is there) or "~ " (missing, but not all is). The errors of rules
// with one part are written without the part.
type extraction struct {
	name string
	rule []Source
	in   Input
	want string
}

var tables = map[string][]extraction{
	"json":      jsonTable,
	"header":    headerTable,
	"form":      formTable,
	"multipart": multipartTable,
	"form_json": formJSONTable,
	"query":     queryTable,
	"hashes":    hashTable,
	"parts":     partsTable,
	"segments":  segmentsTable,
}

func TestExtract(t *testing.T) {
	count := 0
	for group, table := range tables {
		t.Run(group, func(t *testing.T) {
			for _, tt := range table {
				t.Run(tt.name, func(t *testing.T) { tt.check(t) })
			}
		})
		count += len(table)
	}
	if count < 300 {
		t.Errorf("only %d inputs", count)
	}
}

func (tt extraction) check(t *testing.T) {
	r, err := CompileForPath(len(tt.in.Segments), tt.rule)
	if err != nil {
		t.Fatal(err)
	}
	key, err := r.Extract(tt.in)
	want, isError := strings.CutPrefix(tt.want, "! ")
	missing, all := false, false
	if !isError {
		if want, isError = strings.CutPrefix(tt.want, "? "); isError {
			missing, all = true, true
		} else if want, isError = strings.CutPrefix(tt.want, "~ "); isError {
			missing = true
		}
	}
	if !isError {
		if err != nil || key.String() != tt.want {
			t.Fatalf("got %q, %v, want %q", key, err, tt.want)
		}
		checkKey(t, key)
		return
	}
	if len(tt.rule) == 1 && !strings.HasPrefix(want, "path segment") {
		want = "part 1 (" + tt.rule[0].String() + "): " + want
	}
	var failed *Error
	if !errors.As(err, &failed) || err.Error() != want || failed.Missing != missing || failed.All != all {
		t.Fatalf("got %q, %+v, want %q (missing %v, all %v)", key, err, want, missing, all)
	}
	if len(key.Parts()) != 0 {
		t.Fatalf("a key %q beside an error", key)
	}
}

func jsonAt(path string) Source       { return Source{Kind: KindJSON, Path: path} }
func headerAt(name string) Source     { return Source{Kind: KindHeader, Name: name} }
func fieldAt(name string) Source      { return Source{Kind: KindForm, Field: name} }
func queryAt(name string) Source      { return Source{Kind: KindQuery, Name: name} }
func literal(text string) Source      { return Source{Kind: KindLiteral, Text: text} }
func rule(sources ...Source) []Source { return sources }

var (
	id          = rule(jsonAt("id"))
	orderID     = rule(jsonAt("order.id"))
	eventHeader = rule(headerAt("X-Event"))
	both        = rule(headerAt("X-Event"), jsonAt("order.id"))
	long        = strings.Repeat("x", MaxBytes)
	digits      = strings.Repeat("9", MaxBytes)
)

func body(text string) Input           { return Input{Body: []byte(text)} }
func query(raw string) Input           { return Input{RawQuery: raw} }
func xEvent(values ...string) Input    { return Input{Header: http.Header{"X-Event": values}} }
func with(in Input, body string) Input { in.Body = []byte(body); return in }

// typed is a body with its Content-Type.
func typed(kind, body string) Input {
	return Input{Header: http.Header{"Content-Type": {kind}}, Body: []byte(body)}
}

func form(body string) Input { return typed("application/x-www-form-urlencoded", body) }

// parts is a multipart form of parts, each written as its headers, a blank line
// and its content, with "|" for a line's end.
func parts(parts ...string) Input {
	text := ""
	for _, p := range parts {
		text += "--b\r\n" + strings.ReplaceAll(p, "|", "\r\n") + "\r\n"
	}
	return typed("multipart/form-data; boundary=b", text+"--b--\r\n")
}

// field is a text field of a multipart form.
func field(name, value string) string {
	return `Content-Disposition: form-data; name="` + name + `"||` + value
}

func nested(depth int, inner string) string {
	return strings.Repeat(`{"a":`, depth) + inner + strings.Repeat("}", depth)
}

// The values of a request must not reach logs by way of errors.
func TestErrorsHoldNoValue(t *testing.T) {
	const secret = "s3cret"
	for _, tt := range []struct {
		rule []Source
		in   Input
	}{
		{rule(jsonAt("id")), body(`{"id":"` + secret + `\n"}`)},
		{rule(jsonAt("a.0")), body(`{"a":"` + secret + `"}`)},
		{rule(jsonAt("a.0")), body(`{"a":["` + secret + `","` + secret + `"]}`)},
		{rule(jsonAt("id")), body(`{"id":"` + secret + `"`)},
		{rule(jsonAt("id")), body(`"` + secret + `"`)},
		{rule(jsonAt("id")), body(`{"` + secret + `":1}`)},
		{rule(jsonAt("id")), typed("text/"+secret+"; charset="+secret, `{"id":1}`)},
		{rule(headerAt("X-Event")), xEvent(secret, secret)},
		{rule(headerAt("X-Event")), xEvent(secret + "\x00")},
		{rule(fieldAt("id")), form("id=" + secret + "&id=x")},
		{rule(fieldAt("id")), form(secret + "%zz=1")},
		{rule(fieldAt("id")), form("id=" + secret + "%zz")},
		{rule(fieldAt("id")), typed(secret, "id=1")},
		{rule(fieldAt("id")), parts(field(secret, secret))},
		{rule(fieldAt("id")), parts(secret)},
		{rule(queryAt("id")), query("id=" + secret + "%zz")},
		{rule(queryAt("id")), query("id[" + secret + "]=x")},
		{rule(Source{Kind: KindCanonicalJSON}), body(`{"` + secret + `":1,"` + secret + `":2}`)},
		{rule(Source{Kind: KindFormJSON, Field: "p", Path: "id"}), form("p=" + secret)},
	} {
		r, err := Compile(tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.Extract(tt.in); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s of %q: %v", r, tt.in.Body, err)
		}
	}
}
