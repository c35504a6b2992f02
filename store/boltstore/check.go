package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// metaClean stands in the file between Close and the next Open. An Open that does
// not find it comes after a kill, a crash or a loss of power.
var metaClean = []byte("clean")

const (
	// wholeCheck is the size up to which an Open after an unclean stop has bbolt check
	// everything. (bbolt 1.5.0 checks 2 GB of 4 KiB pages in 2.5 s from the page cache.)
	wholeCheck = 256 << 20
	// walkTime bounds the walk through a larger file: deliveries wait for Open. A walk
	// through 5 million records takes 0.1 s from the page cache.
	walkTime = 2 * time.Second
	forever  = 100 * 24 * time.Hour
	// maxFindings bounds what one check reports; a damaged file has no end of them.
	maxFindings = 20
)

// Inspection is what an Open after an unclean stop has looked at.
//
// Always: that the file is as long as its root says. Up to 256 MiB: all that bbolt's
// own check finds (every page used once, or free; keys in order). Above: every page
// that can be reached, newest records first, is the one that its parent means, and
// the keys are in order, for up to 2 s. Check looks at everything, in any size.
type Inspection struct {
	Whole bool // nothing was left out for want of time
	Took  time.Duration
}

// Inspected is what was looked at when the store was opened; nil where it had been
// closed properly, or is new.
func (s *Store) Inspected() *Inspection { return s.inspected }

// arrive looks at a file that nobody closed, and takes the mark of a clean stop away
// before anything is written: durably, since Update syncs.
func (s *Store) arrive() error {
	if s.created {
		return nil
	}
	clean := false
	err := s.file.db.View(func(tx *bbolt.Tx) error {
		clean = tx.Bucket(bucketMeta).Get(metaClean) != nil
		if err := checkLength(tx, s.file.os); err != nil || clean {
			return err
		}
		begin := time.Now()
		whole, err := inspect(tx, begin.Add(walkTime))
		s.inspected = &Inspection{whole, time.Since(begin)}
		return err
	})
	if err != nil || !clean {
		return err
	}
	return s.file.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Delete(metaClean) })
}

// depart leaves the mark of a clean stop, where nothing is in doubt. Without it the
// next Open looks closer, no more.
func (s *Store) depart() {
	if s.broken != nil || s.doubt != nil {
		return
	}
	_ = guard(func() error {
		return s.file.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(metaClean, []byte{1}) })
	})
}

// checkLength: reading behind the end of a file that is mapped is a fault, not an error.
func checkLength(tx *bbolt.Tx, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("looking at the size of the store: %w", err)
	}
	if info.Size() < tx.Size() {
		return fmt.Errorf("%w: it is cut short: %d bytes of %d are there", ErrDamaged, info.Size(), tx.Size())
	}
	return nil
}

func inspect(tx *bbolt.Tx, until time.Time) (whole bool, err error) {
	if tx.Size() <= wholeCheck {
		return true, checkStructure(tx)
	}
	return walkAll(tx, until)
}

func walkAll(tx *bbolt.Tx, until time.Time) (whole bool, err error) {
	whole = true
	err = tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		done, err := walkBack(name, b, until)
		whole = whole && done
		return err
	})
	return whole, err
}

// walkBack goes through a bucket from its end, where the newest pages are. The cursor has
// bbolt compare every page with what its parent says it is.
func walkBack(name []byte, b *bbolt.Bucket, until time.Time) (done bool, err error) {
	c := b.Cursor()
	var last []byte
	n := 0
	for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
		if last != nil && bytes.Compare(k, last) >= 0 {
			return false, fmt.Errorf("%w: the keys of bucket %q are not in order", ErrDamaged, name)
		}
		last = k
		if n++; n%4096 == 0 && time.Now().After(until) {
			return false, nil
		}
	}
	return true, nil
}

// checkStructure is bbolt's own check of everything. It must be the only user of the
// file (Tx.Check).
func checkStructure(tx *bbolt.Tx) error {
	// It runs in a goroutine of its own, where a page that leads astray would end the
	// process (guard); so whether there is one is found out here.
	if _, err := walkAll(tx, time.Now().Add(forever)); err != nil {
		return err
	}
	var findings []error
	for err := range tx.Check() { // to its end, or its goroutine would stay
		if len(findings) < maxFindings {
			findings = append(findings, err)
		}
	}
	if len(findings) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrDamaged, errors.Join(findings...))
}

// Checked is what Check has found in order.
type Checked struct {
	Records int   `json:"records"` // without the gate's own
	Bytes   int64 `json:"bytes"`
	Clean   bool  `json:"clean"` // it was closed properly
}

// Check looks at all of a store that nobody has open: bbolt's own check of the
// structure; then it opens it, as a server would, and reads every record, what it
// says of itself (store.Record.Validate), by which other names it is found, and how
// many there are of each state. Errors: ErrDamaged with up to 20 findings, and
// those of Open; a file that is not there is not created.
func Check(ctx context.Context, path string, o Options) (Checked, error) {
	clean, size, err := checkFileOf(path, o)
	if err != nil {
		return Checked{}, err
	}
	s, err := Open(path, o)
	if err != nil {
		return Checked{}, err
	}
	n, err := checkRecords(ctx, s)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return Checked{}, fmt.Errorf("checking the store %s: %w", path, err)
	}
	return Checked{Records: n, Bytes: size, Clean: clean}, nil
}

// checkFileOf checks the structure of the file at path without changing it.
func checkFileOf(path string, o Options) (clean bool, size int64, err error) {
	err = readOnly(path, o, func(tx *bbolt.Tx, f *os.File) error {
		if err := checkLength(tx, f); err != nil {
			return err
		}
		if meta := tx.Bucket(bucketMeta); meta == nil {
			return fmt.Errorf("a bolt database, but %w", ErrForeign)
		} else {
			clean = meta.Get(metaClean) != nil
		}
		size = tx.Size()
		return checkStructure(tx)
	})
	return clean, size, err
}

// readOnly has fn read the file at path, which nobody writes to meanwhile.
func readOnly(path string, o Options, fn func(*bbolt.Tx, *os.File) error) error {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("no store: %w", err)
	}
	var f *os.File
	err := guard(func() error {
		db, err := bbolt.Open(path, fileMode, &bbolt.Options{
			ReadOnly: true, Timeout: o.Timeout,
			OpenFile: func(name string, flag int, mode os.FileMode) (opened *os.File, err error) {
				f, err = os.OpenFile(name, flag, mode)
				return f, err
			},
		})
		if err != nil {
			return explain(path, err)
		}
		if err := db.View(func(tx *bbolt.Tx) error { return fn(tx, f) }); err != nil {
			_ = db.Close()
			return fmt.Errorf("reading the store %s: %w", path, err)
		}
		return db.Close()
	})
	var panicked *panicError
	if errors.As(err, &panicked) {
		if f != nil {
			_ = (&file{os: f}).abandon()
		}
		return explain(path, err)
	}
	return err
}

func checkRecords(ctx context.Context, s *Store) (int, error) {
	counts := make(map[string]map[store.State]int64)
	n := 0
	query := store.Query{Limit: maxLimit}
	for more := true; more; more = query.After != "" {
		page, err := s.Scan(ctx, query)
		if err != nil {
			return n, err
		}
		for _, r := range page.Records {
			if err := checkRecord(ctx, s, r); err != nil {
				return n, fmt.Errorf("%w: record %q of operation %q: %w", ErrDamaged, r.EventKey, r.Operation, err)
			}
			if counts[r.Operation] == nil {
				counts[r.Operation] = make(map[store.State]int64)
			}
			counts[r.Operation][r.State]++
			n++
		}
		query.After = page.Next
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		return n, err
	}
	return n, compareCounts(stats.Records, counts)
}

func checkRecord(ctx context.Context, s *Store, r store.Record) error {
	if err := r.Validate(); err != nil {
		return err
	}
	for _, a := range r.Aliases {
		if id, err := s.Find(ctx, a); err != nil || id != r.ID {
			return fmt.Errorf("it is not found by its alias of kind %d (%w)", a.Kind, errors.Join(err, errors.New("another record is")))
		}
	}
	return nil
}

func compareCounts(kept, counted map[string]map[store.State]int64) error {
	for operation, of := range counted {
		for state, n := range of {
			if kept[operation][state] != n {
				return fmt.Errorf("%w: %d records of operation %q are %v, and %d are counted", ErrDamaged, n, operation, state, kept[operation][state])
			}
		}
	}
	for operation, of := range kept {
		for state, n := range of {
			if counted[operation][state] != n {
				return fmt.Errorf("%w: %d records of operation %q are %v, and %d are counted", ErrDamaged, counted[operation][state], operation, state, n)
			}
		}
	}
	return nil
}
