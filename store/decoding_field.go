package store

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message on the wire: its bytes, which belong to the caller, and the
// same bytes as a text that the record may keep pieces of; none where only the
// bytes are read.
type message struct {
	data []byte
	text string
}

func (m message) slice(from, to int) message {
	if m.text == "" {
		return message{data: m.data[from:to]}
	}
	return message{m.data[from:to], m.text[from:to]}
}

// fields reads a message field by field:
//
//	for f := in(m); f.next(); {
//		switch f.num { … }
//	}
//
// err is set by the first field that is malformed, or does not hold what its number
// promises, and ends the loop.
type fields struct {
	rest message
	err  error

	// The field that was read last.
	num   protowire.Number
	typ   protowire.Type
	n     uint64  // of VarintType and Fixed64Type
	value message // of BytesType
}

func in(m message) fields { return fields{rest: m} }

// next goes to the next field. It reports whether there is one.
func (f *fields) next() bool {
	if f.err != nil || len(f.rest.data) == 0 {
		return false
	}
	data := f.rest.data
	num, typ, tag := protowire.ConsumeTag(data)
	if tag < 0 {
		f.err = protowire.ParseError(tag)
		return false
	}
	f.num, f.typ, f.n, f.value = num, typ, 0, message{}
	var size int
	switch typ {
	case protowire.VarintType:
		f.n, size = protowire.ConsumeVarint(data[tag:])
	case protowire.Fixed64Type:
		f.n, size = protowire.ConsumeFixed64(data[tag:])
	case protowire.BytesType:
		var content []byte
		if content, size = protowire.ConsumeBytes(data[tag:]); size >= 0 {
			f.value = f.rest.slice(tag+size-len(content), tag+size)
		}
	default: // no field of ours has another type: a later version's
		size = protowire.ConsumeFieldValue(num, typ, data[tag:])
	}
	if size < 0 {
		f.err = protowire.ParseError(size)
		return false
	}
	f.rest = f.rest.slice(tag+size, len(data))
	return true
}

// fail ends the loop with what is wrong inside the field.
func (f *fields) fail(err error) {
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("field %d: %w", f.num, err)
	}
}

func (f *fields) want(ok bool) {
	if !ok && f.err == nil {
		f.err = fmt.Errorf("field %d: malformed value", f.num)
	}
}

func (f *fields) uint() uint64 {
	f.want(f.typ == protowire.VarintType)
	return f.n
}

func (f *fields) int() int {
	n := int64(f.uint())
	f.want(int64(int(n)) == n)
	return int(n)
}

// small is a value of one of the enumerations.
func (f *fields) small() uint8 {
	n := f.uint()
	f.want(n <= math.MaxUint8)
	return uint8(n)
}

func (f *fields) message() message {
	f.want(f.typ == protowire.BytesType)
	return f.value
}

func (f *fields) string() string { return f.message().text }

// bytes is a copy: a body is held longer than the record's other parts, and alone.
func (f *fields) bytes() []byte { return []byte(f.message().text) }

func (f *fields) hash() (h Hash) {
	f.want(copy(h[:], f.message().data) == len(h) && len(f.value.data) == len(h))
	return h
}

func (f *fields) time() time.Time {
	f.want(f.typ == protowire.Fixed64Type)
	return time.Unix(0, int64(f.n)).UTC()
}
