package keyextract

import (
	"errors"
	"io"
	"sync"
	"unicode/utf8"
)

// The canonical form is RFC 8785's (JSON Canonicalization Scheme), with one
// deviation: integers, which the scheme passes through a float64, keep their
// digits, because two ids beyond 2^53 must not become one. So:
//
//   - 9007199254740993 stays what it is. 1e21 becomes 1e+21, but
//     1000000000000000000000 stays too: one value in two spellings may have two
//     forms beyond 2^53, never two integers one. -0 becomes 0.
//   - Numbers with a fraction or an exponent are float64s, as in the scheme and
//     in n8n: 1.0 is 1, and fractions that differ beyond a float64's precision
//     are alike.
//   - A number that no float64 holds (1e400) has no form: the scheme forbids
//     Infinity. An integer of any length has one.
//
// As the scheme demands, an object with two members of one name, a lone
// surrogate and invalid UTF-8 have no form. Nor has what is nested too deeply.
//
// It is written here because the libraries at hand take two to three times as
// long, for every delivery. The tests compare it with one of them, with Node
// and with the scheme's published vectors.

var (
	errNotJSON       = errors.New("it is not valid JSON")
	errNotUTF8       = errors.New("it is not valid UTF-8")
	errDeep          = errors.New("it is nested too deeply")
	errDuplicateName = errors.New("an object has two members of one name")
	errHugeNumber    = errors.New("a number is too large for a float64")
)

// canonicalizer writes the canonical form of one text.
type canonicalizer struct {
	text []byte
	to   io.Writer
	out  []byte // not yet written
	// containers are the text's objects and arrays in the order in which they
	// begin: with them, members are found in one pass at any depth.
	containers []container
	open       []opened // those not yet closed, while containers are found
	// members are those of the objects that are being written, innermost last.
	members []objectMember
	// names are the unescaped names of members that have escapes, and at the
	// end what is being unescaped.
	names []byte
}

// container is an object or array. Texts are far below 4 GiB.
type container struct {
	end  uint32 // offset behind it
	next uint32 // the first container that begins behind it
}

type opened struct {
	container uint32
	closer    byte
}

var canonicalizers = sync.Pool{New: func() any { return new(canonicalizer) }}

// chunk is how much is written at once.
const chunk = 16 << 10

// Beside the text, a text of nothing but brackets or tiny members takes up to eleven
// times its own size while it is written. Large ones therefore wait for one place:
// it is work for a processor, 16 MiB are through in 0.1 to 1 s.
var largePlace = make(chan struct{}, 1)

const large = 256 << 10

// writeCanonical writes the canonical form of text, or says why it has none.
// After an error, what was written means nothing.
func writeCanonical(to io.Writer, text []byte) error {
	if !utf8.Valid(text) {
		return errNotUTF8
	}
	if len(text) > large {
		largePlace <- struct{}{}
		defer func() { <-largePlace }()
	}
	c := canonicalizers.Get().(*canonicalizer)
	defer c.release()
	c.text, c.to = text, to
	if err := c.findContainers(); err != nil {
		return err
	}
	start := afterSpace(text, 0)
	if start == len(text) {
		return errNotJSON
	}
	end, err := c.value(start, 0)
	if err != nil {
		return err
	}
	if afterSpace(text, end) != len(text) {
		return errNotJSON
	}
	_, err = to.Write(c.out)
	return err
}

// release keeps c for the next text, unless it grew far beyond what texts need.
func (c *canonicalizer) release() {
	c.text, c.to = nil, nil
	if cap(c.containers) <= 64<<10 && cap(c.members) <= 16<<10 && cap(c.names) <= 4*chunk && cap(c.out) <= 4*chunk {
		c.out, c.containers, c.open, c.members, c.names = c.out[:0], c.containers[:0], c.open[:0], c.members[:0], c.names[:0]
		canonicalizers.Put(c)
	}
}

// findContainers refuses brackets that do not match and more than maxDepth of
// them, so that all recursion is bounded and ends at a bracket.
func (c *canonicalizer) findContainers() error {
	text := c.text
	for i := 0; i < len(text); {
		b := text[i]
		if !structural[b] {
			i++
			continue
		}
		switch b {
		case '"':
			i = afterString(text, i)
			continue
		case '{', '[':
			if len(c.open) == maxDepth {
				return errDeep
			}
			c.open = append(c.open, opened{uint32(len(c.containers)), b + 2}) // ASCII
			c.containers = append(c.containers, container{})
		default:
			last := len(c.open) - 1
			if last < 0 || c.open[last].closer != b {
				return errNotJSON
			}
			c.containers[c.open[last].container] = container{end: uint32(i + 1), next: uint32(len(c.containers))}
			c.open = c.open[:last]
		}
		i++
	}
	if len(c.open) > 0 {
		return errNotJSON
	}
	return nil
}

// value writes the value at text[i] and gives the offset behind it. child is
// its container, if it is one.
func (c *canonicalizer) value(i int, child uint32) (int, error) {
	if len(c.out) >= chunk {
		if _, err := c.to.Write(c.out); err != nil {
			return 0, err
		}
		c.out = c.out[:0]
	}
	switch c.text[i] {
	case '{':
		return int(c.containers[child].end), c.object(i, child)
	case '[':
		return int(c.containers[child].end), c.array(i, child)
	}
	end, canonical, err := scalar(c.text, i)
	switch {
	case err != nil:
		return 0, err
	case canonical:
		c.out = append(c.out, c.text[i:end]...)
	case c.text[i] == '"':
		err = c.string(c.text[i+1 : end-1])
	default:
		c.out, err = appendNumber(c.out, c.text[i:end])
	}
	return end, err
}

func (c *canonicalizer) array(i int, self uint32) error {
	child := self + 1
	c.out = append(c.out, '[')
	i = afterSpace(c.text, i+1)
	for c.text[i] != ']' {
		opens := c.text[i] == '{' || c.text[i] == '['
		end, err := c.value(i, child)
		if err != nil {
			return err
		}
		if opens {
			child = c.containers[child].next
		}
		if i, err = afterComma(c.text, end, ']'); err != nil {
			return err
		}
		if c.text[i] != ']' {
			c.out = append(c.out, ',')
		}
	}
	c.out = append(c.out, ']')
	return nil
}

// string writes the string that stands between quotes as raw, with escapes.
func (c *canonicalizer) string(raw []byte) error {
	mark := len(c.names)
	var err error
	if c.names, err = appendUnescaped(c.names, raw); err != nil {
		return err
	}
	c.out = appendString(c.out, c.names[mark:])
	c.names = c.names[:mark]
	return nil
}

// appendString writes text with the escapes of RFC 8785 section 3.2.2.2.
func appendString(out, text []byte) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for _, b := range text {
		switch {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b >= ' ':
			out = append(out, b)
		case b == '\b':
			out = append(out, '\\', 'b')
		case b == '\f':
			out = append(out, '\\', 'f')
		case b == '\n':
			out = append(out, '\\', 'n')
		case b == '\r':
			out = append(out, '\\', 'r')
		case b == '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		}
	}
	return append(out, '"')
}
