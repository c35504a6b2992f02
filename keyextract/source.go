package keyextract

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says where in a request a part of the event key stands.
type Kind string

const (
	// KindJSON takes a member of the JSON body: Path.
	KindJSON Kind = "json"
	// KindHeader takes a request header: Name.
	KindHeader Kind = "header"
	// KindForm takes a text field of a form, urlencoded or multipart: Field.
	KindForm Kind = "form"
	// KindFormJSON takes a member of the JSON text that a form's field holds:
	// Field and Path.
	KindFormJSON Kind = "form_json"
	// KindQuery takes a parameter of the URL's query: Name.
	KindQuery Kind = "query"
	// KindLiteral is Text, whatever the request holds. It tells keys of one
	// source apart; alone it would make every event one.
	KindLiteral Kind = "literal"
	// KindBodySHA256 is the SHA-256 of the decoded body, in hex. It suits
	// only senders that repeat an event to the byte.
	KindBodySHA256 Kind = "body_sha256"
	// KindCanonicalJSON is the SHA-256, in hex, of the JSON body in RFC 8785's
	// form, or of the array of the members that Paths name.
	KindCanonicalJSON Kind = "canonical_json"
)

// Source is one part of an event key. It is also the configuration's JSON form.
type Source struct {
	// Kind is the kind of source, required: "json", "header", "form",
	// "form_json", "query", "literal", "body_sha256" or "canonical_json".
	Kind Kind `json:"source"`
	// Name is the header's name, without regard to case, or the query
	// parameter's, to the letter. Kinds "header" and "query" only.
	Name string `json:"name,omitempty"`
	// Field is the form field's name, to the letter. Kinds "form" and
	// "form_json" only.
	Field string `json:"field,omitempty"`
	// Path leads to the member of the JSON text: member names and array
	// indexes joined by dots, a backslash before a character that is part of
	// a name (gjson's syntax without its wildcards, queries and modifiers).
	// Kinds "json" and "form_json" only.
	Path string `json:"path,omitempty"`
	// Paths lead to the members that are hashed, in order; each must be
	// there. Left out, the whole body is hashed. Kind "canonical_json" only.
	Paths []string `json:"paths,omitempty"`
	// Text is the part itself. Kind "literal" only.
	Text string `json:"text,omitempty"`
}

// String is the source as a Caddyfile's key line has it: "json order.id". Words
// that could be mistaken for something else stand in quotes.
func (s Source) String() string {
	words := append([]string{string(s.Kind)}, s.arguments()...)
	for i, word := range words[1:] {
		words[i+1] = quoted(word)
	}
	return strings.Join(words, " ")
}

func (s Source) arguments() []string {
	switch s.Kind {
	case KindJSON:
		return []string{s.Path}
	case KindHeader, KindQuery:
		return []string{s.Name}
	case KindForm:
		return []string{s.Field}
	case KindFormJSON:
		return []string{s.Field, s.Path}
	case KindLiteral:
		return []string{s.Text}
	case KindCanonicalJSON:
		return s.Paths
	}
	return nil
}

// canonical is the source in the one spelling of all that mean the same, for
// sources that compile.
func (s Source) canonical() Source {
	s.Path = canonicalPath(s.Path)
	s.Paths = append([]string(nil), s.Paths...)
	for i, path := range s.Paths {
		s.Paths[i] = canonicalPath(path)
	}
	if s.Kind == KindHeader {
		s.Name = http.CanonicalHeaderKey(s.Name)
	}
	return s
}

// quoted gives word as it stands if it holds nothing that separates or quotes
// words, and otherwise in quotes. (Not by strconv.Quote: what that escapes grows
// with Unicode, and stored rules are compared.)
func quoted(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return r == '"' || r == ',' || r == ' ' || unicode.IsControl(r)
	}) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// compile checks the source and gives what reads it.
func (s Source) compile() (reader, error) {
	if err := s.superfluous(); err != nil {
		return nil, err
	}
	switch s.Kind {
	case KindJSON:
		return jsonReader(s.Path)
	case KindHeader:
		return headerReader(s.Name)
	case KindForm:
		return formReader(s.Field)
	case KindFormJSON:
		return formJSONReader(s.Field, s.Path)
	case KindQuery:
		return queryReader(s.Name)
	case KindLiteral:
		return literalReader(s.Text)
	case KindBodySHA256:
		return readBodySHA256, nil
	case KindCanonicalJSON:
		return canonicalReader(s.Paths)
	}
	return nil, fmt.Errorf("unknown source %q", s.Kind)
}

// takes lists the fields that each kind takes.
var takes = map[Kind]string{
	KindJSON:          "a path",
	KindHeader:        "a name",
	KindForm:          "a field",
	KindFormJSON:      "a field and a path",
	KindQuery:         "a name",
	KindLiteral:       "a text",
	KindBodySHA256:    "nothing",
	KindCanonicalJSON: "paths",
}

// superfluous refuses a field that the kind does not take: it would be a
// misunderstanding about what makes the key.
func (s Source) superfluous() error {
	wants, ok := takes[s.Kind]
	if !ok {
		return nil // unknown, which compile says
	}
	for _, field := range []struct {
		name string
		set  bool
		used bool
	}{
		{"a name", s.Name != "", s.Kind == KindHeader || s.Kind == KindQuery},
		{"a field", s.Field != "", s.Kind == KindForm || s.Kind == KindFormJSON},
		{"a path", s.Path != "", s.Kind == KindJSON || s.Kind == KindFormJSON},
		{"paths", len(s.Paths) > 0, s.Kind == KindCanonicalJSON},
		{"a text", s.Text != "", s.Kind == KindLiteral},
	} {
		if field.set && !field.used {
			return fmt.Errorf("%s takes %s, not %s", s.Kind, wants, field.name)
		}
	}
	return nil
}

// readsBody reports whether the source needs the decoded body.
func (s Source) readsBody() bool {
	switch s.Kind {
	case KindHeader, KindQuery, KindLiteral:
		return false
	}
	return true
}

// checkName checks the name of a form's field or of a query parameter.
func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is required", what)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s is not valid UTF-8", what)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%s holds a control character", what)
	}
	return nil
}

// literalReader gives the same text for every request.
func literalReader(text string) (reader, error) {
	if text == "" {
		return nil, errors.New("a text is required")
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, tooLong()
	}
	return func(*request) (string, error) { return text, nil }, nil
}
