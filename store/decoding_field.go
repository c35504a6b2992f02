package store

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one tagged field on the wire. Its getters note in bad when the field
// does not hold what its number promises.
type field struct {
	num protowire.Number
	typ protowire.Type
	n   uint64 // of VarintType and Fixed64Type
	b   []byte // of BytesType; belongs to the input
	bad bool
}

// eachField gives every field of the message b to set, in order, and stops at
// the first that is malformed.
func eachField(b []byte, set func(*field) error) error {
	for len(b) > 0 {
		f, size := consumeField(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		if err := set(&f); err != nil {
			return fmt.Errorf("field %d: %w", f.num, err)
		}
		if f.bad {
			return fmt.Errorf("field %d: malformed value", f.num)
		}
		b = b[size:]
	}
	return nil
}

// consumeField reads the first field of b. A negative size is a protowire error.
func consumeField(b []byte) (f field, size int) {
	var tag, value int
	f.num, f.typ, tag = protowire.ConsumeTag(b)
	if tag < 0 {
		return f, tag
	}
	switch b = b[tag:]; f.typ {
	case protowire.VarintType:
		f.n, value = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.n, value = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		f.b, value = protowire.ConsumeBytes(b)
	default: // no field of ours has another type: a later version's
		value = protowire.ConsumeFieldValue(f.num, f.typ, b)
	}
	if value < 0 {
		return f, value
	}
	return f, tag + value
}

func (f *field) want(ok bool) { f.bad = f.bad || !ok }

func (f *field) uint() uint64 {
	f.want(f.typ == protowire.VarintType)
	return f.n
}

func (f *field) int() int {
	n := int64(f.uint())
	f.want(int64(int(n)) == n)
	return int(n)
}

// small is a value of one of the enumerations.
func (f *field) small() uint8 {
	n := f.uint()
	f.want(n <= math.MaxUint8)
	return uint8(n)
}

// message is the content of the field in the input's own memory.
func (f *field) message() []byte {
	f.want(f.typ == protowire.BytesType)
	return f.b
}

func (f *field) string() string { return string(f.message()) }

func (f *field) hash() (h Hash) {
	f.want(copy(h[:], f.message()) == len(h) && len(f.b) == len(h))
	return h
}

func (f *field) time() time.Time {
	f.want(f.typ == protowire.Fixed64Type)
	return time.Unix(0, int64(f.n)).UTC()
}
