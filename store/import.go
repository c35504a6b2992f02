package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"
)

// ImportOptions of Import.
type ImportOptions struct {
	By, Note string // who imports, and why: they stand in the mark of the quarantine
	// SkipExisting leaves records alone that are there already. Else one that says
	// something else than its line is a conflict; one that says the same never is.
	SkipExisting bool
	// Check sees every record before anything is changed; it may be nil.
	Check func(Record) error
	// Quarantine is called once the file was found good and before anything is changed; it
	// may be nil.
	Quarantine func()
}

// Imported says what an Import has done.
type Imported struct {
	Records int `json:"records"` // that were stored
	Skipped int `json:"skipped"` // that were there already
}

// ErrImportConflict: a record or an alias of the export is there, and another one.
var ErrImportConflict = errors.New("the store has another record there already")

const (
	importBatch = 100     // records of one commit: replays are answered meanwhile
	importBytes = 4 << 20 // or so many
)

// Import stores the records of an export in s, which is in quarantine from then on:
// nobody knows what was done after the export was made. The file is read twice, with
// open. The first time everything is verified: each line, by itself (its form, and
// that a record can be so: Validate) and against the others and s, and the trailer; an
// error is a *LineError, and nothing was changed. It takes some 100 bytes of memory a
// record. Then records are stored, in bounded commits; an error then says how many are
// stored, and the same import can be run again: what is there already is skipped.
func Import(ctx context.Context, s Store, open func() (io.ReadCloser, error), o ImportOptions) (Imported, error) {
	if o.Note == "" {
		return Imported{}, ErrIllegalMove
	}
	v := &verifier{store: s, options: o, names: make(map[[16]byte]int)}
	total, err := pass(ctx, open, v.add, v.flush)
	if err != nil {
		return Imported{}, fmt.Errorf("nothing was imported: %w", err)
	}
	if o.Quarantine != nil {
		o.Quarantine()
	}
	if err := MarkRestored(ctx, s, ReasonImport, o.By, o.Note); err != nil {
		return Imported{}, fmt.Errorf("nothing was imported: %w", err)
	}
	in := &importer{store: s, options: o}
	if _, err := pass(ctx, open, in.add, in.flush); err != nil {
		return in.done, fmt.Errorf("the import stopped half-way, and the store is in quarantine: %d of %d records were stored, %d were there: %w",
			in.done.Records, total, in.done.Skipped, err)
	}
	return in.done, nil
}

// item is one line of an export.
type item struct {
	line    int
	record  Record
	payload []byte
}

// pass reads the export once, in batches.
func pass(ctx context.Context, open func() (io.ReadCloser, error), add func(item) error, flush func(context.Context, []item) error) (int, error) {
	file, err := open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	var batch []item
	size := 0
	n, err := readExport(file, func(line int, r Record, payload []byte) error {
		it := item{line, r, payload}
		if err := add(it); err != nil {
			return err
		}
		batch, size = append(batch, it), size+len(payload)+it.weight()
		if len(batch) < importBatch && size < importBytes {
			return nil
		}
		full := batch
		batch, size = nil, 0
		return flush(ctx, full)
	})
	if err == nil && len(batch) > 0 {
		err = flush(ctx, batch)
	}
	return n, err
}

func (i item) weight() int {
	if i.record.Receipt == nil {
		return 0
	}
	return len(i.record.Receipt.Body) + len(i.record.Receipt.Result)
}

// verifier is the first reading.
type verifier struct {
	store   Store
	options ImportOptions
	names   map[[16]byte]int // of records and aliases, hashed -> line
}

func (v *verifier) add(i item) error {
	if i.record.Operation == MetaOperation {
		return errors.New("the gate's own record about another store cannot be imported")
	}
	if v.options.Check != nil {
		if err := v.options.Check(i.record); err != nil {
			return err
		}
	}
	if err := v.first(i.line, "record "+i.record.Operation+"\x00"+i.record.EventKey); err != nil {
		return err
	}
	for _, a := range i.record.Aliases {
		if err := v.first(i.line, fmt.Sprintf("alias %d ", a.Kind)+a.Value); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) first(line int, name string) error {
	sum := sha256.Sum256([]byte(name))
	key := [16]byte(sum[:16])
	if former, taken := v.names[key]; taken {
		return fmt.Errorf("the same record or alias stands in line %d already", former)
	}
	v.names[key] = line
	return nil
}

// flush compares a batch with what the store has.
func (v *verifier) flush(ctx context.Context, batch []item) error {
	have, err := v.store.Get(ctx, idsOf(batch)...)
	if err != nil {
		return err
	}
	for n, i := range batch {
		there, err := alreadyThere(ctx, v.store, i, have[n], v.options.SkipExisting)
		if err != nil {
			return &LineError{i.line, err}
		}
		if there {
			continue
		}
		for _, a := range i.record.Aliases {
			owner, err := v.store.Find(ctx, a)
			if err == nil {
				return &LineError{i.line, fmt.Errorf("%w: one of its aliases is that of %q of operation %q", ErrImportConflict, owner.EventKey, owner.Operation)}
			} else if !errors.Is(err, ErrNotFound) {
				return err
			}
		}
	}
	return nil
}

func idsOf(batch []item) []ID {
	ids := make([]ID, len(batch))
	for n, i := range batch {
		ids[n] = i.record.ID
	}
	return ids
}

// alreadyThere reports whether i need not be stored. ErrImportConflict: it may not be.
func alreadyThere(ctx context.Context, s Store, i item, have Record, skip bool) (bool, error) {
	switch {
	case have.Version == 0:
		return false, nil
	case i.record.Operation[0] == '.': // how event keys are made: another rule is never skipped
		if have.Receipt != nil && i.record.Receipt != nil && bytes.Equal(have.Receipt.Result, i.record.Receipt.Result) {
			return true, nil
		}
		return false, fmt.Errorf("%w: %s of %q says something else", ErrImportConflict, i.record.Operation, i.record.EventKey)
	case skip:
		return true, nil
	}
	payload, err := s.Payload(ctx, i.record.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	if same(have, i.record) && bytes.Equal(payload, i.payload) {
		return true, nil
	}
	return false, fmt.Errorf("%w: %q of operation %q is %v there and %v here", ErrImportConflict,
		i.record.EventKey, i.record.Operation, have.State, i.record.State)
}

// importer is the second reading.
type importer struct {
	store   Store
	options ImportOptions
	done    Imported
}

func (in *importer) add(item) error { return nil }

func (in *importer) flush(ctx context.Context, batch []item) error {
	have, err := in.store.Get(ctx, idsOf(batch)...)
	if err != nil {
		return err
	}
	stored := make(map[ID]bool)
	_, err = Update(ctx, in.store, have, func(_ time.Time, have []Record) (changes []Change, _ error) {
		for n, i := range batch {
			there, err := alreadyThere(ctx, in.store, i, have[n], in.options.SkipExisting)
			if err != nil {
				return nil, &LineError{i.line, err}
			}
			if !there {
				stored[i.record.ID] = true
				changes = append(changes, Change{Now: i.record, Payload: i.payload})
			}
		}
		return changes, nil
	})
	var conflict *Conflict
	if errors.As(err, &conflict) {
		err = fmt.Errorf("lines %d to %d: %w: an alias is taken", batch[0].line, batch[len(batch)-1].line, ErrImportConflict)
	}
	if err != nil {
		return err
	}
	in.done.Records += len(stored)
	in.done.Skipped += len(batch) - len(stored)
	return nil
}
