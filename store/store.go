package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Errors of a Store. Engines wrap the cause.
var (
	// ErrNotFound: no record has that alias, or that payload.
	ErrNotFound = errors.New("not found")
	// ErrNotStored: the write failed and nothing changed.
	ErrNotStored = errors.New("not stored")
	// ErrUnknown: the commit failed and may be on disk; read again before deciding.
	ErrUnknown = errors.New("outcome of the commit unknown")
	// ErrClock: the clock has leapt far past the store's last write, or nothing was
	// written for as long; nothing expires until it has been so for a while.
	ErrClock = errors.New("the clock is far ahead of the store's last write")
	// ErrContended: a rule lost against others more often than Update tries.
	ErrContended = errors.New("record changes too fast")
)

// Change replaces one record.
type Change struct {
	// Was is the version that must stand there; 0 means that there must be none.
	Was uint64
	// Now is the new record. Its Version is given by the engine. State Gone deletes.
	Now Record
	// Payload is a body held beside the record. nil leaves what is there, empty
	// removes it; deleting the record removes it too.
	Payload []byte
}

// Conflict is the error of an Apply whose changes do not fit: nothing was
// changed. It shows in full what stands there instead.
type Conflict struct {
	// Present holds the record of every change, as it stands; absent ones have Version 0.
	Present []Record
	// Taken holds the aliases that belong to another record already. It is empty
	// where a record itself was another one than expected: that comes first.
	Taken map[Alias]ID
}

func (c *Conflict) Error() string {
	if len(c.Taken) > 0 {
		return fmt.Sprintf("conflict: %d aliases belong to other records", len(c.Taken))
	}
	return "conflict: the record has changed meanwhile"
}

// Query selects records for Scan. Zero fields do not filter.
type Query struct {
	Operation string // also the only way to see the gate's own records (".rule", ".note", …)
	States    []State
	Reason    string
	// OlderThan keeps records whose present state began before this time.
	OlderThan time.Time
	Limit     int    // records on a page; default 100, at most 1,000
	After     string // the Next of the page before
}

// Page is one answer to a Scan. It may hold fewer records than the limit, even
// none, and still have a next page: engines bound the records they look at.
type Page struct {
	Records []Record
	Next    string // empty on the last page
}

// Stats counts records by operation and state, without the gate's own records.
type Stats struct {
	Records   map[string]map[State]int64
	LastWrite time.Time // the newest commit; zero in a new store
	Bytes     int64     // size on disk, where the engine knows it
}

// Store is one atomic, durable compare-and-swap over records. Engines know no
// rules: moves.go has them. Safe for concurrent use. Records that it returns
// are the caller's own. Reads too may return ErrUnknown, while nobody can say
// whether a commit before them is on disk.
type Store interface {
	// Get reads records in one snapshot, in the order asked; an absent one has Version 0.
	Get(ctx context.Context, ids ...ID) ([]Record, error)
	// Find returns whose alias a is; ErrNotFound.
	Find(ctx context.Context, a Alias) (ID, error)
	// Apply carries out all changes or none, durably on return, and returns the
	// records with their new versions (a deleted one with Version 0). An ID may
	// stand in one change only. A change that does not fit is a *Conflict;
	// ErrNotStored: nothing changed; ErrUnknown: read again before deciding.
	// A ctx that ends before the write began is ErrNotStored; one that ends later is ignored.
	Apply(ctx context.Context, cs ...Change) ([]Record, error)
	// Payload returns the body held beside a record; ErrNotFound.
	Payload(ctx context.Context, id ID) ([]byte, error)
	// Scan returns one page, in a fixed order. No transaction outlives the call,
	// so records that change between pages are seen as they are then.
	Scan(ctx context.Context, q Query) (Page, error)
	// Due returns up to limit records whose DueAt is set and not after now, oldest first.
	Due(ctx context.Context, now time.Time, limit int) ([]Record, error)
	// Expire deletes up to limit completed records whose ExpiresAt is not after now.
	// An engine may go by whole days: at the latest, those of two days ago are gone.
	// ErrClock: none are deleted, as the clock is in doubt.
	Expire(ctx context.Context, now time.Time, limit int) (int, error)
	// Stats costs O(1): Apply keeps it up to date.
	Stats(ctx context.Context) (Stats, error)
	// Now is the engine's clock.
	Now(ctx context.Context) (time.Time, error)
	// Incarnation names this opening of the store, as no other one ever was named.
	Incarnation() string
	// Alive reports whether the holders of another incarnation may still be at
	// work. An embedded engine knows that they are not: it has the file's lock.
	Alive(ctx context.Context, incarnation string) (bool, error)
	Close() error
}

// Rule looks at the records as they stand and says what to change. It is asked
// again when the records turn out to be others, or its own change already: the last
// answer counts. No changes means that all is well as it is.
type Rule func(now time.Time, have []Record) ([]Change, error)

// maxTries bounds how often one Update asks its rule. A loss means that somebody
// else moved the same record; a few are normal, this many are a fault.
const maxTries = 32

// Update is the one caller of Apply: it asks rule for changes, given what the
// caller read, and asks again with what stands there on a *Conflict or after an
// unknown commit. It returns the records as they stand afterwards. Errors: the
// rule's own; a *Conflict over an alias; ErrNotStored, ErrUnknown, ErrContended.
func Update(ctx context.Context, s Store, have []Record, rule Rule) ([]Record, error) {
	for range maxTries {
		now, err := s.Now(ctx)
		if err != nil {
			return have, fmt.Errorf("reading the store's clock: %w", err)
		}
		changes, err := rule(now, have)
		if err != nil || len(changes) == 0 {
			return have, err
		}
		stored, err := s.Apply(ctx, changes...)
		var conflict *Conflict
		switch {
		case err == nil:
			return replace(have, stored), nil
		case errors.As(err, &conflict):
			if len(conflict.Taken) > 0 {
				return replace(have, conflict.Present), err
			}
			have = replace(have, conflict.Present)
		case errors.Is(err, ErrUnknown):
			// Read back before deciding: the rule sees its own change if it is there.
			ids := make([]ID, len(have))
			for i, r := range have {
				ids[i] = r.ID
			}
			read, readErr := s.Get(ctx, ids...)
			if readErr != nil {
				return have, fmt.Errorf("%w (reading back: %w)", err, readErr)
			}
			have = read
		default:
			return have, err
		}
	}
	return have, ErrContended
}

// UpdateProof is Update for a rule whose move may prove an event's sender. Where another
// record of that event was proven first, each under a content of its own, this one goes
// without the alias of the event.
func UpdateProof(ctx context.Context, s Store, have []Record, rule Rule) ([]Record, error) {
	have, err := Update(ctx, s, have, rule)
	var conflict *Conflict
	if !errors.As(err, &conflict) {
		return have, err
	}
	return Update(ctx, s, have, func(now time.Time, have []Record) ([]Change, error) {
		changes, err := rule(now, have)
		for i := range changes {
			aliases := &changes[i].Now.Aliases
			*aliases = slices.DeleteFunc(slices.Clone(*aliases), func(a Alias) bool { return a.Kind == AliasEvent })
		}
		return changes, err
	})
}

// replace returns have with the records of fresh in their places.
func replace(have, fresh []Record) []Record {
	out := make([]Record, len(have))
	copy(out, have)
	for _, f := range fresh {
		for i := range out {
			if out[i].ID == f.ID {
				out[i] = f
			}
		}
	}
	return out
}
