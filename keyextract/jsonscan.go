package keyextract

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The functions of this file read JSON that has not been validated, and check
// the grammar of what they read (RFC 8259).

// scalar gives the offset behind the string, number or word at b[i], and whether
// it stands in its canonical form.
func scalar(b []byte, i int) (end int, canonical bool, err error) {
	switch c := b[i]; c {
	case '"':
		end, escaped, ok := scanString(b, i)
		if !ok {
			return 0, false, errNotJSON
		}
		return end, !escaped, nil
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	}
	return scanNumber(b, i)
}

func scanWord(b []byte, i int, word string) (int, bool, error) {
	if !bytes.HasPrefix(b[i:], []byte(word)) {
		return 0, false, errNotJSON
	}
	return i + len(word), true, nil
}

// scanNumber says of integers only that they stand in their canonical form.
func scanNumber(b []byte, i int) (int, bool, error) {
	start := i
	if b[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	first := i
	if !digits() || b[first] == '0' && i-first > 1 {
		return 0, false, errNotJSON
	}
	canonical := b[first] != '0' || first == start // not -0
	if i < len(b) && b[i] == '.' {
		i++
		canonical = false
		if !digits() {
			return 0, false, errNotJSON
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		canonical = false
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return 0, false, errNotJSON
		}
	}
	return i, canonical, nil
}

// scanString gives the offset behind the string at b[i], and whether it has
// escapes, which are not checked. It looks at eight bytes at once.
func scanString(b []byte, i int) (end int, escaped, ok bool) {
	i++
	for i+8 <= len(b) {
		word := binary.LittleEndian.Uint64(b[i:])
		q, s := word^quotes, word^backslashes
		// The lowest bit set is at the first quote, backslash or control
		// character. (Those above it may be false.)
		found := ((q-ones)&^q | (s-ones)&^s | (word-spaces)&^word) & highs
		if found == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(found) / 8
		switch b[i] {
		case '"':
			return i + 1, escaped, true
		case '\\':
			escaped = true
			i += 2
		default:
			return 0, false, false
		}
	}
	for ; i < len(b); i++ {
		switch {
		case b[i] == '"':
			return i + 1, escaped, true
		case b[i] == '\\':
			escaped = true
			i++
		case b[i] < ' ':
			return 0, false, false
		}
	}
	return 0, false, false
}

const (
	ones        = 0x0101010101010101
	highs       = 0x8080808080808080
	quotes      = '"' * ones
	backslashes = '\\' * ones
	spaces      = ' ' * ones
)

// afterComma gives the offset of what follows the member or element that ends
// before b[i]: another one behind a comma, or closer, which is there.
func afterComma(b []byte, i int, closer byte) (int, error) {
	i = afterSpace(b, i)
	switch b[i] {
	case closer:
		return i, nil
	case ',':
		if i = afterSpace(b, i+1); b[i] != closer {
			return i, nil
		}
	}
	return 0, errNotJSON
}
