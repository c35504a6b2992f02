package keyextract

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes bounds the parts of a key altogether, before encoding. Ids have some
// tens of bytes; the printed form, at most three times as long, has to fit into
// a header and an index of every store.
const MaxBytes = 512

// Key is an event key: 1 to MaxParts parts in order, each non-empty valid UTF-8
// without control characters. Only Extract and Parse make one. The zero Key has
// no parts and names no event.
type Key struct{ parts []string }

// Parts returns the parts, decoded, in order.
func (k Key) Parts() []string { return append([]string(nil), k.parts...) }

// With is the key with a further, last part. Errors: it would be longer than any key,
// or the part is none.
func (k Key) With(part string) (Key, error) {
	size := len(part)
	for _, p := range k.parts {
		size += len(p)
	}
	switch err := checkText(part); {
	case err != nil:
		return Key{}, err
	case len(k.parts) >= MaxParts:
		return Key{}, fmt.Errorf("an event key has at most %d parts", MaxParts)
	case size > MaxBytes:
		return Key{}, tooLong()
	}
	return Key{parts: append(k.Parts(), part)}, nil
}

// String is the printed form, the same in headers, interfaces and commands: the
// parts percent-encoded (RFC 3986's unreserved characters kept, upper-case hex)
// and joined by ':'. Different keys never print alike.
func (k Key) String() string {
	var b strings.Builder
	for i, part := range k.parts {
		if i > 0 {
			b.WriteByte(':')
		}
		for j := range len(part) {
			if c := part[j]; unreserved(c) {
				b.WriteByte(c)
			} else {
				b.WriteByte('%')
				b.WriteByte(upperHex[c>>4])
				b.WriteByte(upperHex[c&15])
			}
		}
	}
	return b.String()
}

const upperHex = "0123456789ABCDEF"

// unreserved reports whether RFC 3986 section 2.3 counts c as unreserved.
func unreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~'
}

// Parse reads a printed key. It accepts what String prints, and needlessly
// encoded characters and lower-case hex as well, so that "a%3ab" and "a%3Ab"
// are one key; String of the result is the canonical form.
func Parse(s string) (Key, error) {
	if s == "" {
		return Key{}, errors.New("an event key is not empty")
	}
	// More than the longest key prints: three bytes for each of MaxBytes, and
	// the colons. Refused before any work is done on it.
	if len(s) > 3*MaxBytes+MaxParts-1 {
		return Key{}, tooLong()
	}
	texts := strings.Split(s, ":")
	if len(texts) > MaxParts {
		return Key{}, fmt.Errorf("an event key has at most %d parts, not %d", MaxParts, len(texts))
	}
	size := 0
	for i, text := range texts {
		part, err := unescapePart(text)
		if err == nil {
			err = checkText(part)
		}
		if err != nil {
			return Key{}, fmt.Errorf("part %d of the event key: %w", i+1, err)
		}
		if size += len(part); size > MaxBytes {
			return Key{}, tooLong()
		}
		texts[i] = part
	}
	return Key{parts: texts}, nil
}

func unescapePart(text string) (string, error) {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case unreserved(c):
			b.WriteByte(c)
		case c != '%':
			return "", errors.New("it holds a character that must be percent-encoded")
		case i+2 >= len(text):
			return "", errors.New("it ends within a percent-encoding")
		default:
			hi, ok1 := unhex(text[i+1])
			lo, ok2 := unhex(text[i+2])
			if !ok1 || !ok2 {
				return "", errors.New("it holds a '%' without two hexadecimal digits")
			}
			b.WriteByte(hi<<4 | lo)
			i += 2
		}
	}
	return b.String(), nil
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// checkText refuses what no part of a key may be: empty, not UTF-8, or with
// control characters (C0, DEL, C1), which would travel badly in headers, logs
// and terminals and never occur in an id.
func checkText(part string) error {
	if part == "" {
		return malformed("it is empty")
	}
	if !utf8.ValidString(part) {
		return malformed("it is not valid UTF-8")
	}
	if strings.ContainsFunc(part, unicode.IsControl) {
		return malformed("it holds a control character")
	}
	return nil
}
