package store

import "fmt"

// DecodeNames reads the ID and the aliases alone of what AppendRecord wrote: for
// engines that look at all records to find them again by these.
func DecodeNames(b []byte) (Record, error) {
	var r Record
	m := message{b, string(b)}
	if n := m.count(recordAlias); n > 0 {
		r.Aliases = make([]Alias, 0, n)
	}
	f := in(m)
	for f.next() {
		switch f.num {
		case recordOperation:
			r.Operation = f.string()
		case recordEventKey:
			r.EventKey = f.string()
		case recordAlias:
			r.Aliases = append(r.Aliases, Alias{})
			f.fail(r.Aliases[len(r.Aliases)-1].decode(f.message()))
		}
	}
	if f.err != nil {
		return Record{}, fmt.Errorf("decoding the names of a record: %w", f.err)
	}
	return r, nil
}
