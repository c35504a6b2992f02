package keyextract

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// MaxParts is the highest number of parts of a key, with the path's segments.
// Identities that senders document have one to four.
const MaxParts = 8

// Input is what a key can be taken from.
type Input struct {
	// Header are the request's headers, names in canonical form.
	Header http.Header
	// Body is the whole body, decoded by Decode.
	Body []byte
	// RawQuery is the URL's query as it was sent, without "?".
	RawQuery string
	// Segments are the path's segments, decoded, that the webhook's wildcards
	// matched: as many as the rule was compiled for. They are the first parts
	// of the key.
	Segments []string
}

// Rule is a compiled list of sources. It is safe for concurrent use.
type Rule struct {
	parts     []part
	wildcards int
	reads     map[Kind]bool
}

// part is one compiled source with the place that its errors name.
type part struct {
	source Source
	where  string // "part 2 (json order.id)"
	read   reader
}

// reader takes one part's value, not yet checked for its text, from a request.
// Its errors come from absent and malformed; they never hold the value.
type reader func(*request) (string, error)

// request is one Input on its way through a rule.
type request struct {
	Input
	jsonErr error // why the body is no JSON; computed once, if any part asks
}

// Compile checks sources, one for each part in order, and makes them a rule for
// a path without wildcards. Its errors are the operator's mistakes and name the
// part and what offends.
func Compile(sources []Source) (*Rule, error) { return CompileForPath(0, sources) }

// CompileForPath is Compile for a path with wildcards, whose segments precede
// the sources in every key. Together they are at most MaxParts.
func CompileForPath(wildcards int, sources []Source) (*Rule, error) {
	if len(sources) == 0 {
		return nil, errors.New("a key needs at least one part")
	}
	if n := wildcards + len(sources); n > MaxParts {
		return nil, fmt.Errorf("a key has at most %d parts, the path's wildcards included, not %d", MaxParts, n)
	}
	rule := &Rule{parts: make([]part, len(sources)), wildcards: wildcards, reads: make(map[Kind]bool)}
	for i, source := range sources {
		where := fmt.Sprintf("part %d (%s)", i+1, source)
		read, err := source.compile()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		rule.parts[i] = part{source: source, where: where, read: read}
		rule.reads[source.Kind] = true
	}
	if wildcards == 0 && rule.reads[KindLiteral] && len(rule.reads) == 1 {
		return nil, errors.New("a key of literals only would make every event the same one")
	}
	return rule, nil
}

// Sources returns the sources that the rule was compiled from.
func (r *Rule) Sources() []Source {
	sources := make([]Source, len(r.parts))
	for i, p := range r.parts {
		sources[i] = p.source
	}
	return sources
}

// ReadsBody reports whether some part is taken from the body: a request whose
// body cannot be decoded then has no key. (A too large one is refused anyway.)
func (r *Rule) ReadsBody() bool {
	for _, p := range r.parts {
		if p.source.readsBody() {
			return true
		}
	}
	return false
}

// String is the rule as one line: "header X-Event, json order.id". Rules print
// alike exactly if they take the same key from every request, as far as their
// own parts go: neither spelling (of a header's case, of a path's escapes) nor
// the version of this program changes it, so it can be stored and compared. The
// number of wildcards is not in it.
func (r *Rule) String() string {
	texts := make([]string, len(r.parts))
	for i, p := range r.parts {
		texts[i] = p.source.canonical().String()
	}
	return strings.Join(texts, ", ")
}

// Extract reads every part. Its error is always an *Error. A malformed part
// outweighs a missing one, so that a request that is wrong in both ways is
// never taken for a ping without a key.
func (r *Rule) Extract(in Input) (Key, error) {
	if len(in.Segments) != r.wildcards {
		return Key{}, &Error{Where: "the path", Err: malformed("%d segments for %d wildcards", len(in.Segments), r.wildcards)}
	}
	req := &request{Input: in}
	if r.reads[KindJSON] || r.reads[KindCanonicalJSON] {
		req.jsonErr = req.checkBodyJSON()
	}
	size := 0
	check := func(value string) error {
		if size += len(value); size > MaxBytes {
			return tooLong()
		}
		return checkText(value)
	}
	parts := make([]string, 0, r.wildcards+len(r.parts))
	for i, segment := range in.Segments {
		if err := check(segment); err != nil {
			return Key{}, &Error{Where: fmt.Sprintf("path segment %d", i+1), Err: err}
		}
		parts = append(parts, segment)
	}
	var missing *Error
	all := true
	for _, p := range r.parts {
		value, err := p.read(req)
		if err == nil {
			err = check(value)
		}
		if err == nil {
			parts = append(parts, value)
			all = all && p.source.Kind == KindLiteral
			continue
		}
		failed := &Error{Where: p.where, Err: err, Missing: errors.Is(err, errAbsent)}
		if !failed.Missing {
			return Key{}, failed
		}
		all = all && !errors.Is(err, errPartly)
		if missing == nil {
			missing = failed
		}
	}
	if missing != nil {
		missing.All = all
		return Key{}, missing
	}
	return Key{parts: parts}, nil
}
