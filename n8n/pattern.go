package n8n

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wildcard is the segment of a pattern that stands for any one segment.
const wildcard = "*"

// pattern is a Route taken apart.
type pattern struct {
	text      string
	segments  []string
	wildcards int
	methods   methodSet
}

func compile(prefix string, route Route) (pattern, error) {
	if err := checkPattern(prefix, route.Pattern); err != nil {
		return pattern{}, err
	}
	methods, err := parseMethods(route.Methods)
	if err != nil {
		return pattern{}, err
	}
	p := pattern{text: route.Pattern, segments: strings.Split(route.Pattern, "/"), methods: methods}
	for _, segment := range p.segments {
		if segment == wildcard {
			p.wildcards++
		}
	}
	return p, nil
}

// checkPattern refuses what could never match, or would match something other
// than it seems to say.
func checkPattern(prefix, pattern string) error {
	switch {
	case pattern == "":
		return errors.New("the path is empty")
	case !utf8.ValidString(pattern):
		return errors.New("it is not valid UTF-8")
	case strings.ContainsFunc(pattern, unicode.IsControl):
		return errors.New("it holds a control character")
	case strings.ContainsAny(pattern, "?#"):
		return errors.New("it holds '?' or '#'; only the path is written, without query or fragment")
	case strings.Contains(pattern, "://"):
		return fmt.Errorf("only what follows %s/ in the webhook's URL is written", prefix)
	case decodeLoosely(pattern) != pattern:
		return fmt.Errorf("it is written decoded: %q", decodeLoosely(pattern))
	case strings.HasPrefix(pattern, "/"):
		return fmt.Errorf("it is written without the leading slash: %q", strings.TrimLeft(pattern, "/"))
	case strings.HasSuffix(pattern, "/"):
		return fmt.Errorf("it is written without the trailing slash: %q", strings.TrimRight(pattern, "/"))
	}
	for segment := range strings.SplitSeq(pattern, "/") {
		switch {
		case segment == "":
			return errors.New("it has an empty segment ('//')")
		case segment == "." || segment == "..":
			return fmt.Errorf("it has the segment %q, which clients resolve before they send", segment)
		case isParameter(segment):
			return fmt.Errorf("n8n fills the segment %q in with anything: '*' is written for it, behind the webhook's id as in the URL that n8n shows", segment)
		case segment != wildcard && strings.Contains(segment, wildcard):
			return fmt.Errorf("it has the segment %q; '*' stands for a whole segment or not at all", segment)
		}
	}
	return nil
}

// isParameter reports whether n8n reads a segment of a webhook's own path as a
// parameter.
func isParameter(segment string) bool { return strings.HasPrefix(segment, ":") }

// fills reports whether a wildcard matches segment. What it matches becomes a
// part of the event key and of the path that is forwarded, so it must be there
// and mean the same to everybody on the way.
func fills(segment string) bool {
	return segment != "" && segment != "." && segment != ".." && !isParameter(segment) &&
		utf8.ValidString(segment) && !strings.ContainsFunc(segment, unicode.IsControl)
}

// matched gives what p's wildcards stand for in path, which p matches.
func (p *pattern) matched(path string) []string {
	segments := make([]string, 0, p.wildcards)
	for _, own := range p.segments {
		segment, rest, _ := strings.Cut(path, "/")
		if own == wildcard {
			segments = append(segments, segment)
		}
		path = rest
	}
	return segments
}

// overlaps reports whether one path can match both p and q.
func (p *pattern) overlaps(q *pattern) bool {
	if len(p.segments) != len(q.segments) {
		return false
	}
	for i, own := range p.segments {
		if own != q.segments[i] && own != wildcard && q.segments[i] != wildcard {
			return false
		}
	}
	return true
}

// mayStart reports whether n8n may start p's webhook, or one of them, under the
// path of these segments, as Table.Keeps tells.
func (p *pattern) mayStart(segments []string) bool {
	if len(p.segments) != len(segments) {
		return false
	}
	inPlace := true
	for i, own := range p.segments {
		inPlace = inPlace && (own == wildcard || looksLike(own, segments[i]))
	}
	if inPlace {
		return true
	}
	id, others := p.segments[0], p.segments[1:]
	if id != wildcard && !looksLike(id, segments[0]) || !slices.Contains(others, wildcard) {
		return false
	}
	for _, own := range others {
		if own != wildcard && !slices.ContainsFunc(segments[1:], func(s string) bool { return looksLike(own, s) }) {
			return false
		}
	}
	return true
}

// looksLike compares two segments as the most careless database of n8n does.
func looksLike(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, " "), strings.TrimRight(b, " "))
}
