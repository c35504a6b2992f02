package caddymodule

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	// noteOperation holds notes of authenticated deliveries that were refused: a
	// person may want to know of an event that was not carried out.
	noteOperation = ".note"
	// noteSlots bounds the notes of one operation. A note looks at some slots from the
	// one that its content hashes to; if all are taken, the oldest gives way.
	noteSlots  = 256
	noteProbes = 16
	noteKept   = 30 * 24 * time.Hour
	// A note that repeats within that time is not written again: a sender that
	// repeats itself must not keep the disk busy.
	noteEvery = time.Minute
)

// Note is what is kept of a refused delivery. It holds no body.
type Note struct {
	Operation     string    `json:"operation"`
	EventKey      string    `json:"event_key,omitempty"`
	Decision      string    `json:"decision"`
	Detail        string    `json:"detail"`
	CorrelationID string    `json:"correlation_id"`      // of the newest such delivery
	OtherKey      string    `json:"other_key,omitempty"` // under which the content came before
	Times         int       `json:"times"`               // how often it was written
	At            time.Time `json:"at"`
}

// noted are the decisions that leave a note.
var noted = map[decision]bool{
	decidedConflict: true, decidedMissingKey: true, decidedMalformed: true, decidedTooLarge: true,
}

// note leaves a note of a refused delivery, if the decision is one that does.
// That it could not be written changes nothing for the sender.
func (d *delivery) note(a answer) {
	if d.hook == nil || !noted[a.decision] || d.hook.upstream { // who is not authenticated leaves nothing
		return
	}
	n := Note{
		Operation: d.operation(), EventKey: d.id.EventKey, Decision: string(a.decision), Detail: a.detail,
		OtherKey: d.other, CorrelationID: d.correlationID(),
	}
	if !d.gate.notes.first(n.content(), d.started) {
		return
	}
	ledger, err := d.gate.app.lease()
	if err == nil {
		defer func() { _ = ledger.release() }()
		err = n.write(context.WithoutCancel(d.request.Context()), ledger)
	}
	if err != nil {
		d.gate.logger.Error("a refused delivery could not be noted", zap.String("correlation_id", n.CorrelationID), zap.Error(err))
	}
}

// content is what makes two notes one.
func (n Note) content() string {
	return strings.Join([]string{n.Operation, n.Decision, n.EventKey, n.Detail, n.OtherKey}, "\x00")
}

// slots are the records that a note may be kept in.
func (n Note) slots() []store.ID {
	h := fnv.New32a()
	_, _ = h.Write([]byte(n.content()))
	ids := make([]store.ID, noteProbes)
	for i := range ids {
		ids[i] = store.ID{Operation: noteOperation, EventKey: fmt.Sprintf("%s:%d", n.Operation, (h.Sum32()+uint32(i))%noteSlots)}
	}
	return ids
}

// write keeps n in the slot that has the same note already, or else a free one, or
// that of the oldest note.
func (n Note) write(ctx context.Context, s store.Store) error {
	have, err := s.Get(ctx, n.slots()...)
	if err != nil {
		return err
	}
	_, err = store.Update(ctx, s, have, func(now time.Time, have []store.Record) ([]store.Change, error) {
		place := slices.MinFunc(have, func(a, b store.Record) int { return a.SettledAt.Compare(b.SettledAt) })
		note := n
		note.At, note.Times = now, 1
		for _, r := range have {
			if former, ok := readNote(r); ok && former.content() == n.content() {
				place, note.Times = r, former.Times+1
			}
		}
		content, err := json.Marshal(note)
		if err != nil {
			return nil, err
		}
		return []store.Change{{Was: place.Version, Now: store.Record{
			ID: place.ID, State: store.Completed, Reason: n.Decision, SettledAt: now, ExpiresAt: now.Add(noteKept),
			Receipt: &store.Receipt{Result: content},
		}}}, nil
	})
	return err
}

func readNote(r store.Record) (n Note, ok bool) {
	return n, r.Receipt != nil && json.Unmarshal(r.Receipt.Result, &n) == nil
}

// recent remembers what was noted within the last noteEvery.
type recent struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// first reports whether what was not seen within noteEvery before now.
func (r *recent) first(what string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.seen[what]; ok && now.Sub(at) < noteEvery {
		return false
	}
	if r.seen == nil || len(r.seen) >= noteSlots*16 { // rare: forget all rather than grow
		r.seen = make(map[string]time.Time)
	}
	r.seen[what] = now
	return true
}
