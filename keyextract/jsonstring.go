package keyextract

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

var (
	errSurrogate = errors.New("it holds half of a surrogate pair")
	errEscape    = errors.New("it holds an escape that JSON does not know")
)

// unescape resolves the escapes of a JSON string, without its quotes. Unlike gjson and
// encoding/json it refuses a lone surrogate instead of replacing it, because
// the replacement would make different strings alike.
func unescape(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), nil
	}
	out, err := appendUnescaped(make([]byte, 0, len(raw)), raw)
	return string(out), err // no text beside an error: out is nil then
}

func appendUnescaped(out, raw []byte) ([]byte, error) {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		if i++; i == len(raw) {
			return nil, errEscape
		}
		switch c := raw[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hex4(raw[i+1:])
			if !ok {
				return nil, errEscape
			}
			i += 4
			if utf16.IsSurrogate(r) {
				// Only a high half and, escaped right behind it, a low one are
				// a character.
				rest := raw[i+1:]
				if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
					return nil, errSurrogate
				}
				low, ok := hex4(rest[2:])
				if !ok {
					return nil, errEscape
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return nil, errSurrogate
				}
				i += 6
			}
			out = utf8.AppendRune(out, r)
		case '"', '\\', '/':
			out = append(out, c)
		default:
			return nil, errEscape
		}
	}
	return out, nil
}

// hex4 reads four hexadecimal digits.
func hex4(raw []byte) (r rune, ok bool) {
	if len(raw) < 4 {
		return 0, false
	}
	for _, c := range raw[:4] {
		digit, ok := unhex(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
