package store

import "fmt"

// Names are the ID and the aliases of a stored record, in the memory that they
// were read from.
type Names struct {
	Operation, EventKey []byte
	Aliases             []AliasBytes
}

// AliasBytes is an Alias in the memory that it was read from.
type AliasBytes struct {
	Kind  AliasKind
	Value []byte
}

// Decode reads the names alone of what AppendRecord wrote, and reuses the room
// that n has: for engines that look at all records to find them again by these.
func (n *Names) Decode(b []byte) error {
	n.Operation, n.EventKey, n.Aliases = nil, nil, n.Aliases[:0]
	for len(b) > 0 {
		f, size := consumeField(b)
		if size < 0 {
			return fmt.Errorf("decoding the names of a record: malformed field %d", f.num)
		}
		b = b[size:]
		switch f.num {
		case recordOperation:
			n.Operation = f.message()
		case recordEventKey:
			n.EventKey = f.message()
		case recordAlias:
			n.Aliases = append(n.Aliases, f.alias())
		}
		if f.bad {
			return fmt.Errorf("decoding the names of a record: malformed value of field %d", f.num)
		}
	}
	return nil
}

// alias reads an alias without copying it.
func (f *field) alias() (a AliasBytes) {
	for b := f.message(); len(b) > 0; {
		g, size := consumeField(b)
		if size < 0 {
			f.bad = true
			return a
		}
		b = b[size:]
		switch g.num {
		case aliasKind:
			a.Kind = AliasKind(g.small())
		case aliasValue:
			a.Value = g.message()
		}
		f.bad = f.bad || g.bad
	}
	return a
}
