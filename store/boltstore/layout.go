package boltstore

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// The buckets of the file; doc.go has the reasons. Numbers are big-endian, so
// that their order is that of the keys.
var (
	// bucketRecords: place -> record, as store.AppendRecord writes it.
	bucketRecords = []byte("records")
	// bucketOwn: the gate's own records, whose operation begins with a dot:
	// operation 0x00 event_key -> record. They are few, and are read by operation.
	bucketOwn = []byte("own")
	// bucketOwnExpiry: expires_at, key in bucketOwn -> nothing; completed ones only.
	bucketOwnExpiry = []byte("own_expiry")
	// bucketUnsettled: state (1 byte; with ownFlag: of bucketOwn) key of the
	// record -> Record.DueAt, empty if there is none. All that is not completed.
	bucketUnsettled = []byte("unsettled")
	// bucketPayloads: number of the record, or key in bucketOwn -> body held
	// beside the record.
	bucketPayloads = []byte("payloads")
	// bucketCounts: operation 0x00 state (1 byte) -> number of records.
	bucketCounts = []byte("counts")
	// bucketMeta: the keys below.
	bucketMeta = []byte("meta")

	// metaSchema -> number of this layout.
	metaSchema = []byte("schema")
	// metaSequence -> the last number given out. Every commit takes one at
	// least, versions are taken from it, and none is ever used twice.
	metaSequence = []byte("sequence")
	// metaLastWrite -> time of the last commit.
	metaLastWrite = []byte("last_write")
	// metaLeapt -> when the clock was found far ahead of the last write; absent
	// if it never was.
	metaLeapt = []byte("leapt")
)

// schema is the number of this layout. Files with another one are refused:
// format 1 was never released, and higher ones come from later versions.
const schema = 2

var allBuckets = [][]byte{
	bucketRecords, bucketOwn, bucketOwnExpiry, bucketUnsettled, bucketPayloads, bucketCounts, bucketMeta,
}

// place is where a record stands in bucketRecords: 16 bits of the day after which
// it may go, then 48 bits of the number of its first version. So records stand
// in the order of their arrival, apart by their retention, and what has expired
// stands in front. The number never changes; the day does when a record could not
// go at its day (expire.go), or may go much earlier.
type place uint64

const (
	placeSize  = 8
	numberBits = 48
	// never is the day of what is kept for ever.
	never = math.MaxUint16
)

func newPlace(day uint16, number uint64) place {
	return place(day)<<numberBits | place(number)&(1<<numberBits-1)
}

func (p place) day() uint16    { return uint16(p >> numberBits) }
func (p place) number() uint64 { return uint64(p) & (1<<numberBits - 1) }
func (p place) key() []byte    { return encodeUint(uint64(p)) }

// day is the number of t's day since 1970, UTC.
func day(t time.Time) uint16 {
	const nanosPerDay = int64(24 * time.Hour)
	return uint16(min(max(store.UnixNano(t)/nanosPerDay, 0), never-2))
}

// lastDay is the day that r is planned to stay through, when it is now. A claim
// is planned as if it were settled today or tomorrow.
func lastDay(r store.Record, now time.Time) uint16 {
	switch {
	case r.State != store.Completed:
		return day(now.Add(max(r.Retention, 0))) + 1
	case r.ExpiresAt.IsZero():
		return never
	}
	return day(r.ExpiresAt) + 1
}

// spot is where a record stands: at its name in bucketOwn, or at place in
// bucketRecords; 0 if it does not stand there yet.
type spot struct {
	own   []byte
	place place
}

func (s spot) bucket() []byte {
	if s.own != nil {
		return bucketOwn
	}
	return bucketRecords
}

func (s spot) key() []byte {
	if s.own != nil {
		return s.own
	}
	return s.place.key()
}

// payloadKey outlives a change of the day. No operation begins with a zero byte,
// as all numbers do.
func (s spot) payloadKey() []byte {
	if s.own != nil {
		return s.own
	}
	return encodeUint(s.place.number())
}

// unsettledKey is the key of a record in state in bucketUnsettled; nil if it does
// not stand there.
func (s spot) unsettledKey(state store.State) []byte {
	if state == store.Gone || state == store.Completed {
		return nil
	}
	first := byte(state)
	if s.own != nil {
		first |= ownFlag
	}
	return append([]byte{first}, s.key()...)
}

// ownFlag sets the gate's own records in bucketUnsettled apart.
const ownFlag = 0x80

// unsettledSpot is the inverse of unsettledKey.
func unsettledSpot(key []byte) spot {
	if key[0]&ownFlag != 0 {
		return spot{own: bytes.Clone(key[1:])}
	}
	return spot{place: place(decodeUint(key[1:]))}
}

// dueTime is the value of r in bucketUnsettled.
func dueTime(r store.Record) []byte {
	at := r.DueAt()
	if at.IsZero() {
		return []byte{}
	}
	return timePrefix(at)
}

// maxKey leaves room for what an index puts before a key of bucketOwn.
const maxKey = bbolt.MaxKeySize - timeSize

const timeSize = 8

// isOwn reports whether records of operation are the gate's own.
func isOwn(operation string) bool { return operation != "" && operation[0] == '.' }

// newSpot is the spot of a record that is not there yet, or ErrBadID.
func newSpot(id store.ID) (spot, error) {
	size := len(id.Operation) + 1 + len(id.EventKey)
	if id.Operation == "" || id.EventKey == "" || size > maxKey || hasZero(id.Operation) || hasZero(id.EventKey) {
		return spot{}, ErrBadID
	}
	if isOwn(id.Operation) {
		return spot{own: ownKey(id)}, nil
	}
	return spot{}, nil
}

func hasZero(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// ownKey is the key of id in bucketOwn. Neither part contains a zero byte.
func ownKey(id store.ID) []byte {
	return append(append([]byte(id.Operation), 0), id.EventKey...)
}

// timePrefix makes times of before 1970, negative numbers, sort first too.
func timePrefix(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, timeSize), uint64(store.UnixNano(t))^1<<63)
}

// ownExpiryKey is the key of r, at s, in bucketOwnExpiry; nil if it does not
// stand there.
func (s spot) ownExpiryKey(r store.Record) []byte {
	if s.own == nil || r.State != store.Completed || r.ExpiresAt.IsZero() {
		return nil
	}
	return append(timePrefix(r.ExpiresAt), s.own...)
}

func countKey(operation string, s store.State) []byte {
	return append(append([]byte(operation), 0), byte(s))
}

func encodeUint(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// decodeUint reads what encodeUint wrote; what is absent is 0.
func decodeUint(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}
