package keyextract

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The functions of this file walk over JSON: each takes the offset of what its
// name says and gives the offset after it. Only afterString and tooDeep may be
// called on text that has not been validated.

func afterSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// afterString gives len(b) for a string without an end. It looks at eight bytes
// at once: much of every pass over a body is spent here.
func afterString(b []byte, i int) int {
	i++
	for i+8 <= len(b) {
		word := binary.LittleEndian.Uint64(b[i:])
		q, s := word^quotes, word^backslashes
		// The lowest bit set is at the first quote or backslash. (Those above
		// it may be false.)
		found := ((q-ones)&^q | (s-ones)&^s) & highs
		if found == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(found) / 8
		if b[i] == '"' {
			return i + 1
		}
		i += 2
	}
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(b)
}

// structural are the bytes that matter on the way to a container's end.
var structural = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

// afterContainer is for objects and arrays.
func afterContainer(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		c := b[i]
		if !structural[c] {
			i++
			continue
		}
		switch c {
		case '"':
			i = afterString(b, i)
			continue
		case '{', '[':
			depth++
		default:
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
	return i
}

// afterWord is for numbers, true, false and null.
func afterWord(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return i
}

func afterValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return afterString(b, i)
	case '{', '[':
		return afterContainer(b, i)
	}
	return afterWord(b, i)
}

// tooDeep reports whether text opens more than maxDepth arrays and objects at
// once. In text's longest valid beginning, which is all that gjson descends
// into, it counts exactly; what it says about the rest does not matter.
func tooDeep(text []byte) bool {
	if bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'['}) <= maxDepth {
		return false // as nearly every body, and much faster to find out
	}
	depth := 0
	for i := 0; i < len(text); {
		c := text[i]
		if !structural[c] {
			i++
			continue
		}
		switch c {
		case '"':
			i = afterString(text, i)
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		default:
			depth--
		}
		i++
	}
	return false
}
