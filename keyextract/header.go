package keyextract

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// headerReader reads the value of one header.
func headerReader(name string) (reader, error) {
	if name == "" {
		return nil, errors.New("a header's name is required")
	}
	for i := range len(name) {
		if !tokenChar(name[i]) {
			return nil, fmt.Errorf("%q cannot stand in a header's name", name[i:i+1])
		}
	}
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Host", "Trailer", "Transfer-Encoding":
		// net/http takes these out of Request.Header: they would be missing
		// in every request.
		return nil, fmt.Errorf("header %s tells how the request travels, not which event it carries", name)
	}
	return func(r *request) (string, error) {
		switch values := r.Header[name]; len(values) {
		case 0:
			return "", absent("the header is absent")
		case 1:
			// HTTP/1.1 values arrive trimmed, HTTP/2 ones need not, and n8n gets
			// them over HTTP/1.1: the same text must be the same key.
			return strings.Trim(values[0], " \t"), nil
		default:
			return "", malformed("the header is there %d times", len(values))
		}
	}, nil
}

// tokenChar reports whether c may stand in a header's name (RFC 9110, tchar).
func tokenChar(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
