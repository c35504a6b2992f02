package keyextract

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
)

// maxPairs bounds the pairs of a query or an urlencoded form: n8n's parsers
// (qs for the query, Node's querystring for forms) stop after 1000 without a
// word, so that n8n would not see what stands behind them.
const maxPairs = 1000

// queryReader reads the value of one parameter of the query.
func queryReader(name string) (reader, error) {
	if err := checkName("a parameter's name", name); err != nil {
		return nil, err
	}
	if strings.ContainsAny(name, "[]") {
		return nil, errors.New("n8n reads brackets in a parameter's name as nesting")
	}
	return func(r *request) (string, error) {
		value, err := onePair("query", []byte(r.RawQuery), name, readsNested)
		return string(value), err
	}, nil
}

// onePair reads the value of the one pair of raw, a query or an urlencoded form
// as where says, whose name reads as name. What other pairs hold does not
// matter, but all names must be readable, since any could be the wanted one.
// otherwise, if given, reports whether n8n could read a pair's name differently.
func onePair(where string, raw []byte, name string, otherwise func(pair []byte, name string) bool) ([]byte, error) {
	var value []byte
	found := false
	for count := 0; len(raw) > 0; count++ {
		if count == maxPairs {
			return nil, malformed("the %s has more than %d pairs", where, maxPairs)
		}
		var pair []byte
		pair, raw, _ = bytes.Cut(raw, []byte{'&'})
		if otherwise != nil && otherwise(pair, name) {
			return nil, malformed("the %s holds %q in a form that n8n reads as nested", where, name)
		}
		rawName, rawValue, _ := bytes.Cut(pair, []byte{'='})
		decoded, err := decodePair(rawName)
		switch {
		case err != nil:
			return nil, malformed("the %s holds a name whose percent-encoding is broken", where)
		case string(decoded) != name:
			continue
		case found:
			return nil, malformed("the %s holds %q more than once", where, name)
		}
		found, value = true, rawValue
	}
	if !found {
		return nil, absent("the %s has no %q", where, name)
	}
	decoded, err := decodePair(value)
	if err != nil {
		return nil, malformed("its percent-encoding is broken")
	}
	return decoded, nil
}

// decodePair decodes a name or a value, without copying what has no escapes.
func decodePair(raw []byte) ([]byte, error) {
	if !bytes.ContainsAny(raw, "%+") {
		return raw, nil
	}
	text, err := url.QueryUnescape(string(raw))
	return []byte(text), err
}

// readsNested reports whether qs, with which n8n reads the query, would or, in
// some of its versions, might take pair for name nested ("name[]=x", "[name]=x")
// or for another name than the one before the first "=" ("name=a]=b").
func readsNested(pair []byte, name string) bool {
	if !bytes.ContainsAny(pair, "[]%") {
		return false
	}
	rawName, value, _ := bytes.Cut(pair, []byte{'='})
	decoded, err := decodePair(rawName)
	if err != nil {
		return false // refused anyway
	}
	rest, ok := bytes.CutPrefix(bytes.TrimPrefix(decoded, []byte{'['}), []byte(name))
	switch {
	case !ok:
		return false
	case len(rest) == 0:
		return decoded[0] == '[' || bytes.Contains(value, []byte("]=")) ||
			bytes.Contains(bytes.ToLower(value), []byte("%5d="))
	}
	return rest[0] == '[' || rest[0] == ']'
}
