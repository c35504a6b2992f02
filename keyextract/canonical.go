package keyextract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// The canonical form is RFC 8785's (JSON Canonicalization Scheme), with one
// deviation: integers, which the scheme passes through a float64, keep their
// digits, because two ids beyond 2^53 must not become one. So:
//
//   - 9007199254740993 stays, and 1e21 is 1e+21, but 1000000000000000000000
//     stays: one value in two spellings may then have two forms, never two
//     integers one form. -0 is 0.
//   - Numbers with a fraction or an exponent are float64s, as in the scheme and
//     in n8n: 1.0 and 1 are alike, and so are fractions that differ beyond a
//     float64's precision.
//   - A number that a float64 cannot hold (1e400) has no form: the scheme
//     forbids Infinity.
//
// An object with two members of one name, a lone surrogate and invalid UTF-8
// have no form either.

// canonicalizer holds the buffers of one canonicalization.
type canonicalizer struct {
	out     bytes.Buffer
	encoder *jsontext.Encoder
}

var canonicalizers = sync.Pool{New: func() any {
	c := new(canonicalizer)
	c.encoder = jsontext.NewEncoder(&c.out)
	return c
}}

// maxPooled is the largest buffer that is kept for the next request.
const maxPooled = 4 << 20

// canonical hands the canonical form of the JSON text to use. The text's depth
// has been checked.
func canonical(text []byte, use func(form []byte)) error {
	c := canonicalizers.Get().(*canonicalizer)
	defer func() {
		if c.out.Cap() <= maxPooled {
			canonicalizers.Put(c)
		}
	}()
	c.out.Reset()
	c.encoder.Reset(&c.out,
		jsontext.CanonicalizeRawFloats(true),
		jsontext.CanonicalizeRawInts(false),
		jsontext.ReorderRawObjects(true))
	if err := c.encoder.WriteValue(text); err != nil {
		return err
	}
	form := bytes.TrimSuffix(c.out.Bytes(), []byte{'\n'})
	// jsontext gives the largest float64 for a number beyond it.
	if bytes.Contains(form, []byte(largest)) && overflows(text) {
		return errors.New("a number is too large")
	}
	use(form)
	return nil
}

const largest = "1.7976931348623157e+308"

// overflows reports whether the valid JSON text holds a number with a fraction
// or exponent that a float64 cannot hold.
func overflows(text []byte) bool {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			i = afterString(text, i)
		case c == '-' || '0' <= c && c <= '9':
			end := afterValue(text, i)
			number := text[i:end]
			if bytes.ContainsAny(number, ".eE") {
				if f, _ := strconv.ParseFloat(string(number), 64); math.IsInf(f, 0) {
					return true
				}
			}
			i = end
		default:
			i++
		}
	}
	return false
}

// canonicalReader hashes the body or the members that paths lead to.
func canonicalReader(paths []string) (reader, error) {
	members, err := parsePaths(paths)
	if err != nil {
		return nil, err
	}
	return func(r *request) (string, error) {
		if len(r.Body) == 0 {
			return "", absent("the body is empty")
		}
		if r.jsonErr != nil {
			return "", r.jsonErr
		}
		hash := sha256.New()
		write := func(form []byte) { hash.Write(form) }
		if len(members) == 0 {
			if err := canonical(r.Body, write); err != nil {
				return "", malformed("the body has no canonical form")
			}
			return hex.EncodeToString(hash.Sum(nil)), nil
		}
		// What is hashed is an array of the members, canonical itself.
		var missing error
		present := 0
		hash.Write([]byte{'['})
		for i, m := range members {
			at, err := locate("the body", r.Body, m)
			if errors.Is(err, errAbsent) {
				if missing == nil {
					missing = err
				}
				continue
			}
			if err != nil {
				return "", err
			}
			present++
			if i > 0 {
				hash.Write([]byte{','})
			}
			if err := canonical(r.Body[at:afterValue(r.Body, at)], write); err != nil {
				return "", malformed("the member %q has no canonical form", paths[i])
			}
		}
		switch {
		case missing != nil && present > 0:
			return "", partlyAbsent("%s", missing)
		case missing != nil:
			return "", missing
		}
		hash.Write([]byte{']'})
		return hex.EncodeToString(hash.Sum(nil)), nil
	}, nil
}

// readBodySHA256 hashes the body as it is after decoding: a sender, or a proxy
// on the way, may compress the same event anew for every try.
func readBodySHA256(r *request) (string, error) {
	if len(r.Body) == 0 {
		return "", absent("the body is empty")
	}
	sum := sha256.Sum256(r.Body)
	return hex.EncodeToString(sum[:]), nil
}
