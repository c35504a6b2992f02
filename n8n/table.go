package n8n

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Table finds the configured webhook that a canonical path names. It is safe
// for concurrent use.
type Table struct {
	exact map[string]int
}

// NewTable makes a table of webhook patterns below prefix. A pattern is the
// webhook's path as n8n's editor shows it behind the prefix, decoded, without a
// slash at either end ("stripe-orders", "5f0c…/webhook"). Upper and lower case
// differ, as they do in n8n. Errors name the pattern and are the operator's to
// mend.
func NewTable(prefix string, patterns []string) (*Table, error) {
	if err := CheckPrefix(prefix); err != nil {
		return nil, err
	}
	t := &Table{exact: make(map[string]int, len(patterns))}
	for i, pattern := range patterns {
		if err := checkPattern(prefix, pattern); err != nil {
			return nil, fmt.Errorf("webhook %q: %w", pattern, err)
		}
		if _, twice := t.exact[pattern]; twice {
			return nil, fmt.Errorf("webhook %q: it is there twice", pattern)
		}
		t.exact[pattern] = i
	}
	return t, nil
}

// Lookup gives the index, in NewTable's patterns, of the pattern that a path
// read by Canonical matches.
func (t *Table) Lookup(canonical string) (index int, ok bool) {
	index, ok = t.exact[canonical]
	return index, ok
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
	case strings.Contains(pattern, "*"):
		return errors.New("wildcards ('*') are not built yet")
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
		case strings.HasPrefix(segment, ":"):
			return fmt.Errorf("n8n fills the segment %q in with anything; that needs a wildcard ('*'), which is not built yet", segment)
		}
	}
	return nil
}
