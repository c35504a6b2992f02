package store

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// DecodeRecord reads what AppendRecord wrote. The record shares no memory with
// b. Fields of later versions are skipped; what cannot be a record is an error.
func DecodeRecord(b []byte) (Record, error) {
	var r Record
	if err := r.decode(message{b, string(b)}, false); err != nil {
		return Record{}, fmt.Errorf("decoding a record: %w", err)
	}
	return r, nil
}

// decode reads a record. One that is a prior has none of its own: what was written by
// no gate must not nest without end.
func (r *Record) decode(m message, prior bool) error {
	r.makeRoom(m)
	f := in(m)
	for f.next() {
		switch f.num {
		case recordOperation:
			r.Operation = f.string()
		case recordEventKey:
			r.EventKey = f.string()
		case recordState:
			r.State = State(f.small())
		case recordVersion:
			r.Version = f.uint()
		case recordHolder:
			r.Holder = Holder(f.small())
		case recordIncarnation:
			r.Incarnation = f.string()
		case recordAttempt:
			r.Attempt = f.int()
		case recordRefused:
			r.Refused = f.int()
		case recordReported:
			r.Reported = f.int()
		case recordGeneration:
			r.Generation = f.int()
		case recordMaxAttempts:
			r.MaxAttempts = f.int()
		case recordRetention:
			r.Retention = time.Duration(f.uint())
		case recordFirstSeenAt:
			r.FirstSeenAt = f.time()
		case recordClaimedAt:
			r.ClaimedAt = f.time()
		case recordSettledAt:
			r.SettledAt = f.time()
		case recordDeadline:
			r.Deadline = f.time()
		case recordExpiresAt:
			r.ExpiresAt = f.time()
		case recordFingerprint:
			r.Fingerprint = f.hash()
		case recordTokenHash:
			r.TokenHash = f.hash()
		case recordExecution:
			r.Execution = f.string()
		case recordAlias:
			r.Aliases = append(r.Aliases, Alias{})
			f.fail(r.Aliases[len(r.Aliases)-1].decode(f.message()))
		case recordReason:
			r.Reason = f.string()
		case recordEvidence:
			r.Evidence = Evidence(f.small())
		case recordActionID:
			r.ActionID = f.string()
		case recordReceipt:
			r.Receipt = new(Receipt)
			f.fail(r.Receipt.decode(f.message()))
		case recordPrior:
			if !prior {
				r.Prior = new(Record)
				f.fail(r.Prior.decode(f.message(), true))
			}
		case recordMove:
			r.History = append(r.History, Move{})
			f.fail(r.History[len(r.History)-1].decode(f.message()))
		case recordHeaderHash:
			r.HeaderHash = f.hash()
		case recordDoubt:
			r.Doubt = f.uint() != 0
		case recordCovers:
			r.Covers = f.string()
		case recordKeyedAt:
			r.KeyedAt = f.time()
		case recordRepeatUntil:
			r.RepeatUntil = f.time()
		case recordUnproven:
			r.Unproven = f.string()
		}
	}
	return f.err
}

// makeRoom makes room for what is repeated, so that it does not grow piece by piece.
func (r *Record) makeRoom(m message) {
	if n := m.count(recordAlias); n > 0 {
		r.Aliases = make([]Alias, 0, n)
	}
	if n := m.count(recordMove); n > 0 {
		r.History = make([]Move, 0, n)
	}
}

// count is how often a field stands in m.
func (m message) count(num protowire.Number) (n int) {
	for f := in(m); f.next(); {
		if f.num == num {
			n++
		}
	}
	return n
}

func (a *Alias) decode(m message) error {
	f := in(m)
	for f.next() {
		switch f.num {
		case aliasKind:
			a.Kind = AliasKind(f.small())
		case aliasValue:
			a.Value = f.string()
		}
	}
	return f.err
}

func (r *Receipt) decode(m message) error {
	if n := m.count(receiptField); n > 0 {
		r.Header = make([]Field, 0, n)
	}
	f := in(m)
	for f.next() {
		switch f.num {
		case receiptStatus:
			r.Status = f.int()
		case receiptField:
			r.Header = append(r.Header, Field{})
			f.fail(r.Header[len(r.Header)-1].decode(f.message()))
		case receiptBody:
			r.Body = f.bytes()
		case receiptBodyDropped:
			r.BodyDropped = f.uint() != 0
		case receiptResult:
			r.Result = f.bytes()
		}
	}
	return f.err
}

func (h *Field) decode(m message) error {
	f := in(m)
	for f.next() {
		switch f.num {
		case fieldName:
			h.Name = f.string()
		case fieldValue:
			h.Value = f.string()
		}
	}
	return f.err
}

func (m *Move) decode(b message) error {
	f := in(b)
	for f.next() {
		switch f.num {
		case moveAt:
			m.At = f.time()
		case moveFrom:
			m.From = State(f.small())
		case moveTo:
			m.To = State(f.small())
		case moveAttempt:
			m.Attempt = f.int()
		case moveReason:
			m.Reason = f.string()
		case moveBy:
			m.By = f.string()
		case moveNote:
			m.Note = f.string()
		}
	}
	return f.err
}
