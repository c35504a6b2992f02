package signature

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// partKind is what a part of a signed message is.
type partKind int

const (
	partText partKind = iota
	partBody
	partTimestamp
	partID
	partMethod
	partURL
	// partDecodedURL is the URL with some escapes decoded, as HubSpot signs it.
	partDecodedURL
	partHeader
	partQuery
	partSecret
	partJSON
)

var partNames = map[string]partKind{
	"body": partBody, "timestamp": partTimestamp, "id": partID, "method": partMethod,
	"url": partURL, "decoded_url": partDecodedURL, "secret": partSecret,
}

// part is one part of a signed message; text is what stands there, or a header's or a
// parameter's name.
type part struct {
	kind partKind
	text string
}

// template is a signed message with places for what a request holds. Where a sender puts
// no separator between two of them, bytes may not wander from one to the other: a
// timestamp is read strictly, so that it cannot.
type template []part

func compileTemplate(text string) (template, error) {
	var t template
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		if before != "" {
			t = append(t, part{partText, before})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, fmt.Errorf("sign: { is not closed")
		}
		p, err := partNamed(name)
		if err != nil {
			return nil, err
		}
		t, text = append(t, p), after
	}
	if !slices.ContainsFunc(t, func(p part) bool { return p.kind != partText && p.kind != partSecret }) {
		return nil, fmt.Errorf("sign: nothing of the delivery is signed")
	}
	return t, nil
}

func partNamed(name string) (part, error) {
	if kind, ok := partNames[name]; ok {
		return part{kind: kind}, nil
	}
	if header, ok := strings.CutPrefix(name, "header."); ok && header != "" {
		return part{partHeader, http.CanonicalHeaderKey(header)}, nil
	}
	if parameter, ok := strings.CutPrefix(name, "query."); ok && parameter != "" {
		return part{partQuery, parameter}, nil
	}
	if path, ok := strings.CutPrefix(name, "json."); ok && path != "" {
		return part{partJSON, path}, nil
	}
	return part{}, fmt.Errorf("sign: {%s}: unknown", name)
}

func (t template) has(kind partKind) bool {
	return slices.ContainsFunc(t, func(p part) bool { return p.kind == kind })
}

func (t template) covers(id string) Covers {
	c := Covers{Body: t.has(partBody), URL: t.has(partURL) || t.has(partDecodedURL)}
	for _, p := range t {
		switch p.kind {
		case partID:
			c.Headers = append(c.Headers, http.CanonicalHeaderKey(id))
		case partHeader:
			c.Headers = append(c.Headers, p.text)
		case partQuery:
			c.Query = append(c.Query, p.text)
		case partJSON:
			c.JSON = append(c.JSON, p.text)
		}
	}
	return c
}

// message is what a request's signature is over, in parts, so that no body is copied.
func (s *signed) message(r *http.Request, body *document, at string) ([][]byte, error) {
	parts := make([][]byte, 0, 8)
	for _, p := range s.sign {
		text, err := p.text, error(nil)
		switch p.kind {
		case partBody:
			parts = append(parts, body.raw)
			continue
		case partTimestamp:
			text = at
		case partID:
			text, err = one(r, s.id)
		case partMethod:
			text = r.Method
		case partURL:
			text = s.origin(r) + target(r)
		case partDecodedURL:
			text = s.origin(r) + decodedTarget.Replace(target(r))
		case partHeader:
			text, err = one(r, p.text)
		case partQuery:
			text, err = parameter(r, p.text)
		case partSecret:
			text = s.secret
		case partJSON:
			text, err = body.text(p.text)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, []byte(text))
	}
	return parts, nil
}

// decodedTarget decodes the escapes that HubSpot does not sign
// (developers.hubspot.com, "Validating requests", version 3).
var decodedTarget = strings.NewReplacer(
	"%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2C", ",", "%3B", ";",
)

// origin is scheme and host of the URL to which the sender sent.
func (s *signed) origin(r *http.Request) string { return originOf(s.publicURL, r) }

func originOf(publicURL string, r *http.Request) string {
	if publicURL != "" {
		return publicURL
	}
	return "https://" + r.Host
}

// target is path and query as they were sent.
func target(r *http.Request) string {
	if r.RequestURI != "" && r.RequestURI[0] == '/' {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// parameter is the query's parameter, there once.
func parameter(r *http.Request, name string) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", ErrQuery
	}
	return only(query[name])
}
