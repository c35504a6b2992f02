package caddymodule

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/n8n-gate/n8n-gate/store"
)

const (
	// noteOperation holds notes of authenticated deliveries that were refused: a
	// person may want to know of an event that was not carried out.
	noteOperation = ".note"
	// noteSlots bounds the notes of one operation: a note takes the slot that its
	// content hashes to, and with it the place of an older one.
	noteSlots = 256
	noteKept  = 30 * 24 * time.Hour
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
	CorrelationID string    `json:"correlation_id"` // of the newest such delivery
	Times         int       `json:"times"`          // how often it was written
	At            time.Time `json:"at"`
}

// noted are the decisions that leave a note.
var noted = map[decision]bool{
	decidedConflict: true, decidedMissingKey: true, decidedMalformed: true, decidedTooLarge: true,
}

// note leaves a note of a refused delivery, if the decision is one that does.
// That it could not be written changes nothing for the sender.
func (d *delivery) note(a answer) {
	if d.hook == nil || !noted[a.decision] {
		return
	}
	n := Note{
		Operation: d.operation(), EventKey: d.id.EventKey, Decision: string(a.decision), Detail: a.detail,
		CorrelationID: d.correlationID(),
	}
	id := n.slot()
	if !d.gate.notes.first(id.EventKey+" "+n.Detail, d.started) {
		return
	}
	ledger, err := d.gate.app.lease()
	if err == nil {
		defer func() { _ = ledger.release() }()
		err = n.write(context.WithoutCancel(d.request.Context()), ledger, id)
	}
	if err != nil {
		d.gate.logger.Error("a refused delivery could not be noted", zap.String("correlation_id", n.CorrelationID), zap.Error(err))
	}
}

// slot is the record that a note is kept in.
func (n Note) slot() store.ID {
	h := fnv.New32a()
	for _, s := range []string{n.Decision, n.EventKey, n.Detail} {
		_, _ = h.Write([]byte(s + "\x00"))
	}
	return store.ID{Operation: noteOperation, EventKey: n.Operation + ":" + strconv.Itoa(int(h.Sum32()%noteSlots))}
}

func (n Note) write(ctx context.Context, s store.Store, id store.ID) error {
	have, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	_, err = store.Update(ctx, s, have, func(now time.Time, have []store.Record) ([]store.Change, error) {
		note := n
		note.At, note.Times = now, 1
		if former, ok := readNote(have[0]); ok && former.Decision == n.Decision && former.EventKey == n.EventKey && former.Detail == n.Detail {
			note.Times += former.Times
		}
		content, err := json.Marshal(note)
		if err != nil {
			return nil, err
		}
		return []store.Change{{Was: have[0].Version, Now: store.Record{
			ID: id, State: store.Completed, Reason: n.Decision, SettledAt: now, ExpiresAt: now.Add(noteKept),
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
