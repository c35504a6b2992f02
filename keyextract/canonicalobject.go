package keyextract

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// objectMember is a member of an object, by offsets.
type objectMember struct {
	prefix        uint64 // the name's first eight bytes, in the order of names
	name, nameEnd uint32 // in text, or, if escaped, in names
	value, end    uint32 // in text
	child         uint32 // the value's container, if it is one
	escaped       bool   // the name is
	canonical     bool   // the value stands in its form
	whole         bool   // and so does all from the name's quote on
}

// object writes the object at text[i], whose container is self.
func (c *canonicalizer) object(i int, self uint32) error {
	base, names := len(c.members), len(c.names)
	sorted, err := c.collect(i, self)
	if err != nil {
		return err
	}
	if !sorted {
		members := c.members[base:]
		c.sort(members)
		for k := 1; k < len(members); k++ {
			if c.compare(&members[k-1], &members[k]) == 0 {
				return errDuplicateName
			}
		}
	}
	c.out = append(c.out, '{')
	// Values append to c.members behind end, and may move it.
	for k, end := base, len(c.members); k < end; k++ {
		m := &c.members[k]
		if k > base {
			c.out = append(c.out, ',')
		}
		if m.whole {
			c.out = append(c.out, c.text[m.name-1:m.end]...)
			continue
		}
		if m.escaped {
			c.out = appendString(c.out, c.name(m))
		} else {
			c.out = append(c.out, c.text[m.name-1:m.nameEnd+1]...)
		}
		c.out = append(c.out, ':')
		if m.canonical {
			c.out = append(c.out, c.text[m.value:m.end]...)
		} else if _, err := c.value(int(m.value), m.child); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	c.members, c.names = c.members[:base], c.names[:names]
	return nil
}

// collect appends the members of the object at text[i], and reports whether
// they stand in order already, none twice.
func (c *canonicalizer) collect(i int, self uint32) (sorted bool, err error) {
	child, base := self+1, len(c.members)
	sorted = true
	text := c.text
	for i = afterSpace(text, i+1); text[i] != '}'; {
		if text[i] != '"' {
			return false, errNotJSON
		}
		end, escaped, ok := scanString(text, i)
		if !ok {
			return false, errNotJSON
		}
		m := objectMember{name: uint32(i + 1), nameEnd: uint32(end - 1), child: child, escaped: escaped}
		if escaped {
			m.name = uint32(len(c.names))
			if c.names, err = appendUnescaped(c.names, text[i+1:end-1]); err != nil {
				return false, err
			}
			m.nameEnd = uint32(len(c.names))
			m.prefix = prefix(c.names, m.name, m.nameEnd)
		} else {
			m.prefix = prefix(text, m.name, m.nameEnd)
		}
		colon := afterSpace(text, end)
		if text[colon] != ':' {
			return false, errNotJSON
		}
		i = afterSpace(text, colon+1)
		m.value = uint32(i)
		switch text[i] {
		case '{', '[':
			i, child = int(c.containers[child].end), c.containers[child].next
		default:
			if i, m.canonical, err = scalar(text, i); err != nil {
				return false, err
			}
		}
		m.end = uint32(i)
		m.whole = m.canonical && !escaped && int(m.value) == end+1
		sorted = sorted && (len(c.members) == base || c.compare(&c.members[len(c.members)-1], &m) < 0)
		c.members = append(c.members, m)
		if i, err = afterComma(text, i, '}'); err != nil {
			return false, err
		}
	}
	return sorted, nil
}

// sort sorts members, of which objects nearly always have few.
func (c *canonicalizer) sort(members []objectMember) {
	if len(members) > 24 {
		slices.SortFunc(members, func(a, b objectMember) int { return c.compare(&a, &b) })
		return
	}
	for k := 1; k < len(members); k++ {
		m, at := members[k], k
		for ; at > 0 && c.compare(&members[at-1], &m) > 0; at-- {
			members[at] = members[at-1]
		}
		members[at] = m
	}
}

// compare orders members by their names' UTF-16 code units (RFC 8785 section
// 3.2.3).
func (c *canonicalizer) compare(a, b *objectMember) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	x, y := c.name(a), c.name(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return cmp.Compare(rank(x[i]), rank(y[i]))
		}
	}
	return cmp.Compare(len(x), len(y))
}

func (c *canonicalizer) name(m *objectMember) []byte {
	if m.escaped {
		return c.names[m.name:m.nameEnd]
	}
	return c.text[m.name:m.nameEnd]
}

// rank lets the bytes of UTF-8 sort as UTF-16 does: U+E000 to U+FFFF, which
// begin with these two, come behind everything that takes a surrogate pair.
func rank(b byte) byte {
	if b == 0xee || b == 0xef {
		return b + 0x10
	}
	return b
}

// prefix is the first eight bytes of the name b[from:to] as one number that
// compares as they do.
func prefix(b []byte, from, to uint32) uint64 {
	var p uint64
	if int(from)+8 <= len(b) {
		p = binary.BigEndian.Uint64(b[from:])
		if n := to - from; n < 8 {
			p &^= 1<<(64-8*n) - 1
		}
	} else {
		for i := from; i < min(to, from+8); i++ {
			p |= uint64(b[i]) << (56 - 8*(i-from))
		}
	}
	if p&0x8080808080808080 == 0 {
		return p
	}
	for shift := 0; shift < 64; shift += 8 {
		p = p&^(0xff<<shift) | uint64(rank(byte(p>>shift)))<<shift
	}
	return p
}
