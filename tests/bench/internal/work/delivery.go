package work

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"time"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// Operation is that of every record, as the webhook in the measured Caddy has it: what
// was there before and what comes stand in one range of keys.
const Operation = "orders"

// EventKey is the key of the n-th event: of fixed length, without any order in time,
// as most senders' ids are. No two numbers share one.
func EventKey(n uint64) string {
	// The finaliser of splitmix64, which is a bijection.
	n ^= n >> 30
	n *= 0xbf58476d1ce4e5b9
	n ^= n >> 27
	n *= 0x94d049bb133111eb
	n ^= n >> 31
	return fmt.Sprintf("evt_%016x", n)
}

// FirstNew is a number from which on events are new to every store that was filled
// before, from 0 on: this process counts on from here, one that starts a second later
// from somewhere else.
func FirstNew() uint64 { return uint64(time.Now().UnixNano()) }

const (
	lasts       = 2 * time.Minute // a claim's, as with the gate's default timeout
	maxAttempts = 10
)

// Retention is how long the records live that are made here: the gate's default.
const Retention = 30 * 24 * time.Hour

// Claim is the record with which the gate claims the n-th event: history, token alias
// and fingerprint included.
func Claim(n uint64, incarnation string, now time.Time) store.Record {
	_, token := store.NewToken()
	r, err := store.Claim(store.Record{ID: store.ID{Operation: Operation, EventKey: EventKey(n)}}, store.Claimed{
		Token: token, Incarnation: incarnation, Holder: store.HolderForward,
		Lasts: lasts, Retention: Retention, MaxAttempts: maxAttempts,
		Fingerprint: sha256.Sum256(binary.BigEndian.AppendUint64(nil, n)), Covers: "POST orders",
	}, now)
	if err != nil {
		panic(err) // of an absent record every claim is legal
	}
	return r
}

// ResponseBody is what the workflow answers to the n-th event.
func ResponseBody(n uint64) []byte {
	return fmt.Appendf(nil, `{"success":true,"invoice":{"id":"inv_%016x","status":"created","total":4200}}`, n)
}

// ResponseType is its Content-Type.
const ResponseType = "application/json; charset=utf-8"

// Settle is the claimed record with the receipt of its attempt.
func Settle(claimed store.Record, n uint64, now time.Time) store.Record {
	r, err := store.Settle(claimed, store.Settlement{
		Token: claimed.TokenHash, To: store.Completed, Evidence: store.ByResponse, Reason: store.ReasonResponse,
		Receipt: &store.Receipt{Status: http.StatusOK, Body: ResponseBody(n), Header: []store.Field{
			{Name: "Content-Type", Value: ResponseType},
			{Name: "Content-Security-Policy", Value: n8n.SandboxCSP},
		}},
	}, now)
	if err != nil {
		panic(err) // its owner may settle a processing record
	}
	return r
}

// Stored is a delivery for stores that know nothing of records: a key, and the bytes
// that stand there after the claim and after the receipt.
type Stored struct{ Key, Claimed, Settled []byte }

// AsStored is the n-th delivery in the gate's own encoding.
func AsStored(n uint64) Stored {
	now := time.Now()
	claimed := Claim(n, "0123456789abcdef0123456789abcdef", now)
	return Stored{
		Key:     []byte(Operation + "\x00" + EventKey(n)),
		Claimed: store.AppendRecord(nil, claimed),
		Settled: store.AppendRecord(nil, Settle(claimed, n, now)),
	}
}
