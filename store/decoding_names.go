package store

import "fmt"

// DecodeNames reads the ID and the aliases alone of what AppendRecord wrote: for
// engines that look at all records to find them again by these.
func DecodeNames(b []byte) (Record, error) {
	var r Record
	err := eachField(b, func(f *field) error {
		switch f.num {
		case recordOperation, recordEventKey, recordAlias:
			return r.setField(f)
		}
		return nil
	})
	if err != nil {
		return Record{}, fmt.Errorf("decoding the names of a record: %w", err)
	}
	return r, nil
}
