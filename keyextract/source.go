package keyextract

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Kind says where in a request a part of the event key stands.
type Kind string

const (
	// KindJSON takes a member of the JSON body: Path.
	KindJSON Kind = "json"
	// KindHeader takes a request header: Name.
	KindHeader Kind = "header"
)

// MaxParts is the highest number of parts that a rule may ask for. Identities
// that senders document have one to four.
const MaxParts = 8

// Source is one part of an event key. It is also the configuration's JSON form.
type Source struct {
	// Kind is the kind of source, required: "json" or "header".
	Kind Kind `json:"source"`
	// Name is the header's name, without regard to case. Kind "header" only.
	Name string `json:"name,omitempty"`
	// Path leads to the member of the JSON body: member names and array
	// indexes joined by dots, a backslash before a character that is part of
	// a name (gjson's syntax without its wildcards, queries and modifiers).
	// Kind "json" only.
	Path string `json:"path,omitempty"`
}

// String is the source as a Caddyfile's key line has it: "json order.id".
func (s Source) String() string {
	switch s.Kind {
	case KindJSON:
		return "json " + s.Path
	case KindHeader:
		return "header " + s.Name
	}
	return string(s.Kind)
}

// Input is what a key can be taken from.
type Input struct {
	// Header are the request's headers, names in canonical form.
	Header http.Header
	// Body is the whole body.
	Body []byte
}

// Rule is a compiled list of sources. It is safe for concurrent use.
type Rule struct {
	parts []part
	json  bool // some part reads the body as JSON
}

// part is one compiled source with the place that its errors name.
type part struct {
	source Source
	where  string // "part 2 (json order.id)"
	read   reader
}

// reader takes one part's value, not yet checked for its text, from a request.
// Its errors come from absent and refuse; they never hold the value.
type reader func(*request) (string, error)

// request is one Input on its way through a rule.
type request struct {
	Input
	bodyErr error // why the body is no JSON; computed once, if any part asks
}

// Compile checks sources, one for each part in order, and makes them a rule.
// Its errors are the operator's mistakes and name the part and what offends.
func Compile(sources []Source) (*Rule, error) {
	if len(sources) == 0 {
		return nil, errors.New("a key needs at least one part")
	}
	if len(sources) > MaxParts {
		return nil, fmt.Errorf("a key has at most %d parts, not %d", MaxParts, len(sources))
	}
	rule := &Rule{parts: make([]part, len(sources))}
	for i, source := range sources {
		where := fmt.Sprintf("part %d (%s)", i+1, source)
		read, err := compile(source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		rule.parts[i] = part{source: source, where: where, read: read}
		rule.json = rule.json || source.Kind == KindJSON
	}
	return rule, nil
}

func compile(source Source) (reader, error) {
	switch source.Kind {
	case KindJSON:
		if source.Name != "" {
			return nil, errors.New("json takes a path, not a name")
		}
		return jsonReader(source.Path)
	case KindHeader:
		if source.Path != "" {
			return nil, errors.New("header takes a name, not a path")
		}
		return headerReader(source.Name)
	}
	return nil, fmt.Errorf("unknown source %q", source.Kind)
}

// Sources returns the sources that the rule was compiled from.
func (r *Rule) Sources() []Source {
	sources := make([]Source, len(r.parts))
	for i, p := range r.parts {
		sources[i] = p.source
	}
	return sources
}

// String is the rule as one line: "header X-Event, json order.id".
func (r *Rule) String() string {
	texts := make([]string, len(r.parts))
	for i, p := range r.parts {
		texts[i] = p.source.String()
	}
	return strings.Join(texts, ", ")
}

// Extract reads every part. Its error is always an *Error. A malformed part
// outweighs a missing one, so that a request that is wrong in both ways is
// never taken for a ping without a key.
func (r *Rule) Extract(in Input) (Key, error) {
	req := &request{Input: in}
	if r.json && len(in.Body) > 0 {
		req.bodyErr = checkJSON(in.Body)
	}
	var missing *Error
	absences, size := 0, 0
	parts := make([]string, 0, len(r.parts))
	for _, p := range r.parts {
		value, err := p.read(req)
		if err == nil {
			err = checkText(value)
		}
		if err == nil {
			if size += len(value); size > MaxBytes {
				err = tooLong()
			}
		}
		if err == nil {
			parts = append(parts, value)
			continue
		}
		failed := &Error{Where: p.where, Err: err, Missing: errors.Is(err, errAbsent)}
		if !failed.Missing {
			return Key{}, failed
		}
		absences++
		if missing == nil {
			missing = failed
		}
	}
	if missing != nil {
		missing.All = absences == len(r.parts)
		return Key{}, missing
	}
	return Key{parts: parts}, nil
}
