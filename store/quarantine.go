package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A copy of the records knows nothing of what was done after it was made. Until a
// person has accepted that, a store that was restored is in quarantine: nobody may
// claim in it. The mark is a record of the gate's own, so it is as durable as those
// it is about, and travels with them.

// MetaOperation is that of the gate's own records about the store itself.
const MetaOperation = ".meta"

var quarantineID = ID{Operation: MetaOperation, EventKey: "quarantine"}

// ErrNotQuarantined: there is nothing to accept.
var ErrNotQuarantined = errors.New("the store is not in quarantine")

// Quarantine says whether a store is a restored copy, and why.
type Quarantine struct {
	Active bool
	Since  time.Time
	Reason string // ReasonBackup or ReasonImport
	// History has every mark, and every acceptance with who gave it and why.
	History []Move
}

// QuarantineOf reads the mark of s.
func QuarantineOf(ctx context.Context, s Store) (Quarantine, error) {
	have, err := s.Get(ctx, quarantineID)
	if err != nil {
		return Quarantine{}, fmt.Errorf("reading the mark of a restored copy: %w", err)
	}
	r := have[0]
	q := Quarantine{Active: r.State == Ambiguous, History: r.History}
	if q.Active {
		q.Since, q.Reason = r.SettledAt, r.Reason
	}
	return q, nil
}

// MarkRestored puts s in quarantine, durably on return. reason is ReasonBackup or
// ReasonImport; by and note say who made the copy and what for.
func MarkRestored(ctx context.Context, s Store, reason, by, note string) error {
	return moveMark(ctx, s, Ambiguous, reason, by, note)
}

func moveMark(ctx context.Context, s Store, to State, reason, by, note string) error {
	have, err := s.Get(ctx, quarantineID)
	if err == nil {
		_, err = Update(ctx, s, have, func(now time.Time, have []Record) ([]Change, error) {
			was := have[0]
			line := Move{At: now, From: was.State, To: to, Reason: reason, By: by, Note: note}
			if last := was.LastMove(); was.State == to && last.Reason == reason && last.By == by && last.Note == note {
				return nil, nil // its own, after an unknown commit; or the same words again
			}
			history := append(slices.Clone(was.History), line)
			// The newest lines are enough to see what happened to this copy.
			history = history[max(0, len(history)-historyLimit):]
			return []Change{{Was: was.Version, Now: Record{ // it never expires
				ID: quarantineID, State: to, Reason: reason, SettledAt: now, History: history,
			}}}, nil
		})
	}
	if err != nil {
		return fmt.Errorf("marking the store as restored or accepted: %w", err)
	}
	return nil
}

// Accepted says what an Accept has changed.
type Accepted struct {
	Ambiguous int `json:"ambiguous"` // failed_retryable → ambiguous
	Doubted   int `json:"doubted"`   // processing: a failure of theirs will prove nothing
}

// acceptBatch bounds one commit: replays are answered meanwhile.
const acceptBatch = 100

// Accept ends the quarantine on a person's word: v.By and v.Note. First every record
// that could act again is set right, in bounded commits, with a line in its history
// (Distrust): failed_retryable ones are ambiguous, since the event may have been
// carried out after the copy was made. Then the mark is lifted. Interrupted, it goes
// on where it stopped when it is called again: until the last commit nobody may
// claim. Errors: ErrNotQuarantined, ErrIllegalMove without a note, the engine's.
func Accept(ctx context.Context, s Store, v Verdict) (Accepted, error) {
	var out Accepted
	q, err := QuarantineOf(ctx, s)
	switch {
	case err != nil:
		return out, err
	case !q.Active:
		return out, ErrNotQuarantined
	case v.Note == "":
		return out, ErrIllegalMove
	}
	// Pages see records that move meanwhile as they are then, so a record could come
	// to stand behind the page that was to have it: the last pass has found none.
	for changed := true; changed; {
		if changed, err = distrustAll(ctx, s, v, &out); err != nil {
			return out, err
		}
	}
	return out, moveMark(ctx, s, Completed, ReasonAccepted, v.By, v.Note)
}

func distrustAll(ctx context.Context, s Store, v Verdict, out *Accepted) (changed bool, err error) {
	query := Query{States: []State{Processing, FailedRetryable}, Limit: acceptBatch}
	for more := true; more; more = query.After != "" {
		page, err := s.Scan(ctx, query)
		if err != nil {
			return changed, err
		}
		touched := make(map[ID]bool)
		have, err := Update(ctx, s, page.Records, func(now time.Time, have []Record) (changes []Change, _ error) {
			for _, r := range have {
				next, err := distrust(ctx, s, r, v, now)
				if err != nil {
					return nil, err
				}
				if next.Version != 0 {
					touched[r.ID] = true
					changes = append(changes, Change{Was: r.Version, Now: next})
				}
			}
			return changes, nil
		})
		if err != nil {
			return changed, err
		}
		for _, r := range have {
			switch {
			case !touched[r.ID]:
			case r.State == Ambiguous:
				out.Ambiguous++
			case r.Doubt:
				out.Doubted++
			}
		}
		changed = changed || len(touched) > 0
		query.After = page.Next
	}
	return changed, nil
}

// distrust is what r must be before the quarantine may end; Version 0 if it may stay
// as it is.
func distrust(ctx context.Context, s Store, r Record, v Verdict, now time.Time) (Record, error) {
	lapsed, err := LapseRule(ctx, s, now, r)
	switch {
	case err != nil:
		return Record{}, err
	case len(lapsed) > 0:
		return lapsed[0].Now, nil
	}
	next, err := Distrust(r, v, now)
	if errors.Is(err, ErrIllegalMove) { // it may stay as it is
		return Record{}, nil
	}
	return next, err
}
