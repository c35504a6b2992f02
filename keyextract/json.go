package keyextract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// maxDepth bounds the nesting of a JSON body. gjson's validation recurses, and
// a Go stack that outgrows its limit ends the whole process: 16 MiB of '[' would
// do it. JSON.parse in n8n takes any depth, but the JSON.stringify with which
// n8n stores and answers fails on a few thousand levels; real events have ten.
const maxDepth = 1000

// byteOrderMark is what some editors put before UTF-8. JSON has no place for it
// (RFC 8259 section 8.1), and parsers differ on whether to skip it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// checkJSON reports why text, which what names, is not one JSON text. Everything
// else in this file reads only what passed it.
func checkJSON(what string, text []byte) error {
	switch {
	case bytes.HasPrefix(text, byteOrderMark):
		return malformed("%s begins with a byte order mark", what)
	case tooDeep(text):
		return malformed("%s is nested deeper than %d levels", what, maxDepth)
	case !gjson.ValidBytes(text):
		return malformed("%s is not valid JSON", what)
	case !utf8.Valid(text):
		return malformed("%s is not valid UTF-8", what)
	}
	return nil
}

// checkBodyJSON reports why the body is no JSON text, nil also if it is empty.
func (r *request) checkBodyJSON() error {
	if len(r.Body) == 0 {
		return nil
	}
	if _, _, err := r.contentType(); err != nil {
		return err
	}
	return checkJSON("the body", r.Body)
}

// jsonReader reads the member of the body that path leads to.
func jsonReader(path string) (reader, error) {
	segments, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	return func(r *request) (string, error) {
		if len(r.Body) == 0 {
			return "", absent("the body is empty")
		}
		if r.jsonErr != nil {
			return "", r.jsonErr
		}
		return member("the body", r.Body, segments)
	}, nil
}

// member follows segments through body, valid JSON that what names, and reads
// the text there.
func member(what string, body []byte, segments []segment) (string, error) {
	at, err := locate(what, body, segments)
	if err != nil {
		return "", err
	}
	switch c := body[at]; {
	case c == '"':
		return text(body[at+1 : afterString(body, at)-1])
	case c == '-' || '0' <= c && c <= '9':
		return integer(body[at:afterValue(body, at)])
	default:
		return "", malformed("it is %s, not a string or an integer", kind(c))
	}
}

// locate follows segments through body, valid JSON that what names, and gives
// the offset of the value there.
func locate(what string, body []byte, segments []segment) (int, error) {
	at := afterSpace(body, 0)
	for i, step := range segments {
		var err error
		switch body[at] {
		case '{':
			at, err = inObject(what, body, at, step)
		case '[':
			at, err = inArray(body, at, step)
		default:
			err = malformed("%s is %s, which has no members", place(what, segments[:i]), kind(body[at]))
		}
		if err != nil {
			return 0, err
		}
	}
	return at, nil
}

// inObject finds the one member that step names in the object at body[at]. All
// members are looked at: of two with one name, gjson takes the first and
// JavaScript the last.
func inObject(what string, body []byte, at int, step segment) (int, error) {
	found := -1
	for i := afterSpace(body, at+1); body[i] != '}'; {
		end := afterString(body, i)
		name := body[i+1 : end-1]
		i = afterSpace(body, afterSpace(body, end)+1) // the colon
		if named(name, step.name) {
			if found >= 0 {
				return 0, malformed("an object names the member %q twice", step.name)
			}
			found = i
		}
		i = afterSpace(body, afterValue(body, i))
		if body[i] == ',' {
			i = afterSpace(body, i+1)
		}
	}
	if found < 0 {
		return 0, absent("%s has no member %q there", what, step.name)
	}
	return found, nil
}

// inArray finds the element that step points to in the array at body[at]. More
// than one element is a batch of events, of which a key could name only one.
func inArray(body []byte, at int, step segment) (int, error) {
	if step.index < 0 {
		return 0, malformed("%q meets an array, where only an index can stand", step.name)
	}
	first := afterSpace(body, at+1)
	if body[first] == ']' {
		return 0, absent("index %d points into an empty array", step.index)
	}
	if body[afterSpace(body, afterValue(body, first))] == ',' {
		return 0, malformed("index %d points into an array of more than one element, a batch", step.index)
	}
	if step.index > 0 {
		return 0, absent("index %d is out of range", step.index)
	}
	return first, nil
}

// place names the value that segments lead to, for errors.
func place(what string, segments []segment) string {
	if len(segments) == 0 {
		return what
	}
	names := make([]string, len(segments))
	for i, s := range segments {
		names[i] = s.name
	}
	return strings.Join(names, ".")
}

// kind names the type of the JSON value that begins with c.
func kind(c byte) string {
	switch c {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// integer gives the digits of a JSON number as they stand: ids are longer than
// a float64 is exact. A fraction or an exponent has many spellings for one
// value, and -0 is 0 to some and not to others.
func integer(raw []byte) (string, error) {
	if bytes.ContainsAny(raw, ".eE") {
		return "", malformed("it is a number with a fraction or an exponent")
	}
	if string(raw) == "-0" {
		return "", malformed("it is the number -0")
	}
	if len(raw) > MaxBytes {
		return "", tooLong()
	}
	return string(raw), nil
}

// named reports whether a member's name, raw between its quotes, reads as want.
func named(raw []byte, want string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == want
	}
	// An escape makes a name at most six times longer than what it says. A
	// lone surrogate equals no text, so such a name is not the wanted one.
	if len(raw) > 6*len(want) {
		return false
	}
	got, err := unescape(raw)
	return err == nil && got == want
}

// text gives a string's content from what stands between its quotes.
func text(raw []byte) (string, error) {
	if len(raw) > 6*MaxBytes {
		return "", tooLong()
	}
	value, err := unescape(raw)
	if err != nil {
		return "", err
	}
	return value, nil
}
