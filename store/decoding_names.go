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
	f := in(message{data: b})
	for f.next() {
		switch f.num {
		case recordOperation:
			n.Operation = f.message().data
		case recordEventKey:
			n.EventKey = f.message().data
		case recordAlias:
			n.Aliases = append(n.Aliases, f.alias())
		}
	}
	if f.err != nil {
		return fmt.Errorf("decoding the names of a record: %w", f.err)
	}
	return nil
}

// alias reads an alias without copying it.
func (f *fields) alias() (a AliasBytes) {
	g := in(f.message())
	for g.next() {
		switch g.num {
		case aliasKind:
			a.Kind = AliasKind(g.small())
		case aliasValue:
			a.Value = g.message().data
		}
	}
	f.fail(g.err)
	return a
}
