package store

import (
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The stored form of a record is a protocol buffer message without a schema
// file: tagged fields, so that a later version can add some and still read, and
// be read by, this one. What is zero is left out; what is unknown is skipped.
//
// A number is never given to another field, not even after its field is gone:
// old files would be read wrongly. encoding_test.go pins the bytes.
const (
	recordOperation   protowire.Number = 1
	recordEventKey    protowire.Number = 2
	recordState       protowire.Number = 3
	recordVersion     protowire.Number = 4
	recordHolder      protowire.Number = 5
	recordIncarnation protowire.Number = 6
	recordAttempt     protowire.Number = 7
	recordRefused     protowire.Number = 8
	recordReported    protowire.Number = 9
	recordGeneration  protowire.Number = 10
	recordMaxAttempts protowire.Number = 11
	recordRetention   protowire.Number = 12
	recordFirstSeenAt protowire.Number = 13
	recordClaimedAt   protowire.Number = 14
	recordSettledAt   protowire.Number = 15
	recordDeadline    protowire.Number = 16
	recordExpiresAt   protowire.Number = 17
	recordFingerprint protowire.Number = 18
	recordTokenHash   protowire.Number = 19
	recordExecution   protowire.Number = 20
	recordAlias       protowire.Number = 21 // repeated
	recordReason      protowire.Number = 22
	recordEvidence    protowire.Number = 23
	recordActionID    protowire.Number = 24
	recordReceipt     protowire.Number = 25
	recordPrior       protowire.Number = 26
	recordMove        protowire.Number = 27 // repeated
	recordHeaderHash  protowire.Number = 28
	recordDoubt       protowire.Number = 29
	recordCovers      protowire.Number = 30
	recordKeyedAt     protowire.Number = 31
	recordRepeatUntil protowire.Number = 32
	recordUnproven    protowire.Number = 33

	aliasKind  protowire.Number = 1
	aliasValue protowire.Number = 2

	receiptStatus      protowire.Number = 1
	receiptField       protowire.Number = 2 // repeated
	receiptBody        protowire.Number = 3
	receiptBodyDropped protowire.Number = 4
	receiptResult      protowire.Number = 5

	fieldName  protowire.Number = 1
	fieldValue protowire.Number = 2

	moveAt      protowire.Number = 1
	moveFrom    protowire.Number = 2
	moveTo      protowire.Number = 3
	moveAttempt protowire.Number = 4
	moveReason  protowire.Number = 5
	moveBy      protowire.Number = 6
	moveNote    protowire.Number = 7
)

// AppendRecord appends the stored form of r to dst and returns the longer
// slice. Times are kept to the nanosecond, without their zone; those outside
// the years 1678 to 2262 become the nearest time inside.
func AppendRecord(dst []byte, r Record) []byte {
	dst = slices.Grow(dst, r.roughSize())
	dst = appendString(dst, recordOperation, r.Operation)
	dst = appendString(dst, recordEventKey, r.EventKey)
	dst = appendUint(dst, recordState, uint64(r.State))
	dst = appendUint(dst, recordVersion, r.Version)
	dst = appendUint(dst, recordHolder, uint64(r.Holder))
	dst = appendString(dst, recordIncarnation, r.Incarnation)
	dst = appendInt(dst, recordAttempt, int64(r.Attempt))
	dst = appendInt(dst, recordRefused, int64(r.Refused))
	dst = appendInt(dst, recordReported, int64(r.Reported))
	dst = appendInt(dst, recordGeneration, int64(r.Generation))
	dst = appendInt(dst, recordMaxAttempts, int64(r.MaxAttempts))
	dst = appendInt(dst, recordRetention, int64(r.Retention))
	dst = appendTime(dst, recordFirstSeenAt, r.FirstSeenAt)
	dst = appendTime(dst, recordClaimedAt, r.ClaimedAt)
	dst = appendTime(dst, recordSettledAt, r.SettledAt)
	dst = appendTime(dst, recordDeadline, r.Deadline)
	dst = appendTime(dst, recordExpiresAt, r.ExpiresAt)
	dst = appendHash(dst, recordFingerprint, r.Fingerprint)
	dst = appendHash(dst, recordTokenHash, r.TokenHash)
	dst = appendString(dst, recordExecution, r.Execution)
	for _, a := range r.Aliases {
		dst = appendNested(dst, recordAlias, func(dst []byte) []byte { return appendAlias(dst, a) })
	}
	dst = appendString(dst, recordReason, r.Reason)
	dst = appendUint(dst, recordEvidence, uint64(r.Evidence))
	dst = appendString(dst, recordActionID, r.ActionID)
	if r.Receipt != nil {
		dst = appendNested(dst, recordReceipt, func(dst []byte) []byte { return appendReceipt(dst, *r.Receipt) })
	}
	if r.Prior != nil {
		prior := *r.Prior
		prior.Prior = nil // only one claim can be undone
		dst = appendNested(dst, recordPrior, func(dst []byte) []byte { return AppendRecord(dst, prior) })
	}
	for _, m := range r.History {
		dst = appendNested(dst, recordMove, func(dst []byte) []byte { return appendMove(dst, m) })
	}
	dst = appendHash(dst, recordHeaderHash, r.HeaderHash)
	dst = appendBool(dst, recordDoubt, r.Doubt)
	dst = appendString(dst, recordCovers, r.Covers)
	dst = appendTime(dst, recordKeyedAt, r.KeyedAt)
	dst = appendTime(dst, recordRepeatUntil, r.RepeatUntil)
	return appendString(dst, recordUnproven, r.Unproven)
}

func appendAlias(dst []byte, a Alias) []byte {
	dst = appendUint(dst, aliasKind, uint64(a.Kind))
	return appendString(dst, aliasValue, a.Value)
}

func appendReceipt(dst []byte, r Receipt) []byte {
	dst = appendInt(dst, receiptStatus, int64(r.Status))
	for _, f := range r.Header {
		dst = appendNested(dst, receiptField, func(dst []byte) []byte {
			return appendString(appendString(dst, fieldName, f.Name), fieldValue, f.Value)
		})
	}
	dst = appendBytes(dst, receiptBody, r.Body)
	dst = appendBool(dst, receiptBodyDropped, r.BodyDropped)
	return appendBytes(dst, receiptResult, r.Result)
}

func appendMove(dst []byte, m Move) []byte {
	dst = appendTime(dst, moveAt, m.At)
	dst = appendUint(dst, moveFrom, uint64(m.From))
	dst = appendUint(dst, moveTo, uint64(m.To))
	dst = appendInt(dst, moveAttempt, int64(m.Attempt))
	dst = appendString(dst, moveReason, m.Reason)
	dst = appendString(dst, moveBy, m.By)
	return appendString(dst, moveNote, m.Note)
}

func appendBool(dst []byte, n protowire.Number, v bool) []byte {
	if !v {
		return dst
	}
	return appendUint(dst, n, 1)
}

func appendUint(dst []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, n, protowire.VarintType)
	return protowire.AppendVarint(dst, v)
}

func appendInt(dst []byte, n protowire.Number, v int64) []byte {
	return appendUint(dst, n, uint64(v))
}

func appendString(dst []byte, n protowire.Number, v string) []byte {
	if v == "" {
		return dst
	}
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	return protowire.AppendString(dst, v)
}

func appendBytes(dst []byte, n protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	return appendMessage(dst, n, v)
}

// appendNested appends a message that write appends. It is there even if it is empty:
// that says something (a receipt without anything in it is not the same as none).
func appendNested(dst []byte, n protowire.Number, write func([]byte) []byte) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	start := len(dst)
	dst = write(append(dst, 0)) // the length goes there; most fit into one byte
	size := len(dst) - start - 1
	if more := protowire.SizeVarint(uint64(size)) - 1; more > 0 {
		dst = slices.Grow(dst, more)[:len(dst)+more]
		copy(dst[start+1+more:], dst[start+1:])
	}
	protowire.AppendVarint(dst[:start], uint64(size))
	return dst
}

// roughSize is about what the stored form of r takes, so that it seldom has to grow.
func (r *Record) roughSize() int {
	size := 384 + len(r.Operation) + len(r.EventKey) + len(r.Covers) + 48*len(r.Aliases) + 40*len(r.History)
	if r.Receipt != nil {
		size += 256 + len(r.Receipt.Body) + len(r.Receipt.Result)
	}
	if r.Prior != nil {
		size += r.Prior.roughSize()
	}
	return size
}

func appendMessage(dst []byte, n protowire.Number, v []byte) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	return protowire.AppendBytes(dst, v)
}

func appendHash(dst []byte, n protowire.Number, v Hash) []byte {
	if v == (Hash{}) {
		return dst
	}
	return appendMessage(dst, n, v[:])
}

func appendTime(dst []byte, n protowire.Number, v time.Time) []byte {
	if v.IsZero() {
		return dst
	}
	dst = protowire.AppendTag(dst, n, protowire.Fixed64Type)
	return protowire.AppendFixed64(dst, uint64(UnixNano(v)))
}

var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

// UnixNano is t in nanoseconds since 1970, as records keep their times: times
// that do not fit become the nearest that do, where time.Time would wrap round
// and make a deadline in the far future one of the past.
func UnixNano(t time.Time) int64 {
	switch {
	case t.Before(firstTime):
		return math.MinInt64
	case t.After(lastTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}
