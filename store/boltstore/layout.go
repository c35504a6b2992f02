package boltstore

import (
	"bytes"
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// The buckets of the file. A record key is operation 0x00 event_key; neither part
// contains a zero byte, so no two records share a key and the records of one
// operation stand together. Numbers are big-endian, so that their order is that
// of the keys.
var (
	// bucketRecords: record key -> record, as store.AppendRecord writes it.
	bucketRecords = []byte("records")
	// bucketAliases: kind (1 byte) value -> record key.
	bucketAliases = []byte("aliases")
	// bucketDue: Record.DueAt record key -> nothing; records that have one only.
	bucketDue = []byte("due")
	// bucketExpiry: expires_at record key -> nothing; completed records only.
	bucketExpiry = []byte("expiry")
	// bucketPayloads: record key -> body held beside the record.
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
)

// schema is the number of this layout. Files with a higher one are refused.
const schema = 1

var allBuckets = [][]byte{
	bucketRecords, bucketAliases, bucketDue, bucketExpiry, bucketPayloads, bucketCounts, bucketMeta,
}

// maxKey leaves room for what an index puts before a record key.
const maxKey = bbolt.MaxKeySize - timeSize

const timeSize = 8

// recordKey is the key of id, or ErrBadID.
func recordKey(id store.ID) ([]byte, error) {
	size := len(id.Operation) + 1 + len(id.EventKey)
	if id.Operation == "" || id.EventKey == "" || size > maxKey {
		return nil, ErrBadID
	}
	key := make([]byte, 0, size)
	key = append(key, id.Operation...)
	key = append(key, 0)
	key = append(key, id.EventKey...)
	if bytes.Count(key, []byte{0}) != 1 {
		return nil, ErrBadID
	}
	return key, nil
}

// recordID is the inverse of recordKey.
func recordID(key []byte) store.ID {
	operation, eventKey, _ := bytes.Cut(key, []byte{0})
	return store.ID{Operation: string(operation), EventKey: string(eventKey)}
}

func aliasKey(a store.Alias) []byte {
	return append([]byte{byte(a.Kind)}, a.Value...)
}

// timePrefix makes times of before 1970, negative numbers, sort first too.
func timePrefix(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, timeSize), uint64(store.UnixNano(t))^1<<63)
}

// indexKey is where record key stands in an index over t; nil without a time.
func indexKey(t time.Time, key []byte) []byte {
	if t.IsZero() {
		return nil
	}
	return append(timePrefix(t), key...)
}

// dueKey is the key of r in bucketDue; nil if it does not stand there.
func dueKey(r store.Record, key []byte) []byte {
	return indexKey(r.DueAt(), key)
}

// expiryKey is the key of r in bucketExpiry; nil if it does not stand there.
func expiryKey(r store.Record, key []byte) []byte {
	if r.State != store.Completed {
		return nil
	}
	return indexKey(r.ExpiresAt, key)
}

// passed visits the record keys of an index whose time is not after now, in the
// order of their times, until visit says no.
func passed(index *bbolt.Bucket, now time.Time, visit func(key []byte) bool) {
	last := timePrefix(now)
	c := index.Cursor()
	for k, _ := c.First(); k != nil && bytes.Compare(k[:timeSize], last) <= 0; k, _ = c.Next() {
		if !visit(k[timeSize:]) {
			return
		}
	}
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
