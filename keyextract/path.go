package keyextract

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is one step of a path: a member of an object or, if it reads as one
// and meets an array, an index.
type segment struct {
	name  string
	index int // -1: cannot be an index
}

// parsePath reads the subset of gjson's path syntax that always names one
// place: member names, with a backslash before a character that is meant
// literally, and array indexes, joined by dots. What gjson reads as wildcard,
// query, modifier, literal or multipath is refused rather than taken as a
// name, because a copied path must never mean something else here. (A literal
// such as !"x" would make every event one key.)
func parsePath(path string) ([]segment, error) {
	if path == "" {
		return nil, errors.New("a path is required")
	}
	if !utf8.ValidString(path) {
		return nil, errors.New("the path is not valid UTF-8")
	}
	if strings.ContainsFunc(path, unicode.IsControl) {
		return nil, errors.New("the path holds a control character")
	}
	if strings.HasPrefix(path, "..") {
		return nil, errors.New("the path begins with '..' (lines of JSON), which is not supported")
	}
	var segments []segment
	var name strings.Builder
	end := func() error {
		if name.Len() == 0 {
			return fmt.Errorf("segment %d of the path is empty", len(segments)+1)
		}
		segments = append(segments, segment{name: name.String(), index: parseIndex(name.String())})
		name.Reset()
		return nil
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case '.':
			if err := end(); err != nil {
				return nil, err
			}
		case '\\':
			i++
			if i == len(path) {
				return nil, errors.New("the path ends with a backslash that escapes nothing")
			}
			name.WriteByte(path[i])
		case '*', '?', '#', '|', '@', '!', '{', '[':
			return nil, fmt.Errorf("the path holds %q, which gjson reads as more than a name; write %q if it is part of a member's name", string(c), `\`+string(c))
		default:
			name.WriteByte(c)
		}
	}
	if err := end(); err != nil {
		return nil, err
	}
	return segments, nil
}

// parseIndex reads an array index without leading zeros, or gives -1. More
// than one digit could only point outside of the one element that an array may
// have, but is still an index.
func parseIndex(s string) int {
	if s == "" || len(s) > 9 || s[0] == '0' && len(s) > 1 {
		return -1
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// canonicalPath spells a path that parses with no needless backslash.
func canonicalPath(path string) string {
	segments, err := parsePath(path)
	if err != nil {
		return path
	}
	var b strings.Builder
	for i, s := range segments {
		if i > 0 {
			b.WriteByte('.')
		}
		for j := range len(s.name) {
			if strings.IndexByte(`.\*?#|@!{[`, s.name[j]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(s.name[j])
		}
	}
	return b.String()
}
