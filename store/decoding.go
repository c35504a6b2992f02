package store

import (
	"bytes"
	"fmt"
	"time"
)

// DecodeRecord reads what AppendRecord wrote. The record shares no memory with
// b. Fields of later versions are skipped; what cannot be a record is an error.
func DecodeRecord(b []byte) (Record, error) {
	var r Record
	if err := eachField(b, r.setField); err != nil {
		return Record{}, fmt.Errorf("decoding a record: %w", err)
	}
	return r, nil
}

func (r *Record) setField(f *field) error {
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
	default:
		return r.setLaterField(f)
	}
	return nil
}

// setLaterField is the second half of setField.
func (r *Record) setLaterField(f *field) error {
	switch f.num {
	case recordFingerprint:
		r.Fingerprint = f.hash()
	case recordTokenHash:
		r.TokenHash = f.hash()
	case recordExecution:
		r.Execution = f.string()
	case recordAlias:
		r.Aliases = append(r.Aliases, Alias{})
		return eachField(f.message(), r.Aliases[len(r.Aliases)-1].setField)
	case recordReason:
		r.Reason = f.string()
	case recordEvidence:
		r.Evidence = Evidence(f.small())
	case recordActionID:
		r.ActionID = f.string()
	case recordReceipt:
		r.Receipt = new(Receipt)
		return eachField(f.message(), r.Receipt.setField)
	case recordPrior:
		r.Prior = new(Record)
		return eachField(f.message(), r.Prior.setPriorField)
	case recordMove:
		r.History = append(r.History, Move{})
		return eachField(f.message(), r.History[len(r.History)-1].setField)
	case recordHeaderHash:
		r.HeaderHash = f.hash()
	case recordCovers:
		r.Covers = f.string()
	case recordDoubt:
		r.Doubt = f.uint() != 0
	case recordKeyedAt:
		r.KeyedAt = f.time()
	case recordRepeatUntil:
		r.RepeatUntil = f.time()
	}
	return nil
}

func (a *Alias) setField(f *field) error {
	switch f.num {
	case aliasKind:
		a.Kind = AliasKind(f.small())
	case aliasValue:
		a.Value = f.string()
	}
	return nil
}

func (r *Receipt) setField(f *field) error {
	switch f.num {
	case receiptStatus:
		r.Status = f.int()
	case receiptField:
		r.Header = append(r.Header, Field{})
		return eachField(f.message(), r.Header[len(r.Header)-1].setField)
	case receiptBody:
		r.Body = bytes.Clone(f.message())
	case receiptBodyDropped:
		r.BodyDropped = f.uint() != 0
	case receiptResult:
		r.Result = bytes.Clone(f.message())
	}
	return nil
}

func (h *Field) setField(f *field) error {
	switch f.num {
	case fieldName:
		h.Name = f.string()
	case fieldValue:
		h.Value = f.string()
	}
	return nil
}

// setPriorField keeps what was written by no gate, a prior in a prior, from
// nesting without end.
func (r *Record) setPriorField(f *field) error {
	if f.num == recordPrior {
		return nil
	}
	return r.setField(f)
}

func (m *Move) setField(f *field) error {
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
	return nil
}
