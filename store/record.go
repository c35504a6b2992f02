// Package store holds what the gate knows about every event: the record, the
// state machine that moves it (pure functions, in moves.go), and the contract
// that a storage engine keeps (store.go). It knows neither Caddy nor an engine.
package store

import (
	"slices"
	"time"
)

// ID names a record: one source event under one protected operation.
// EventKey is the printed form of the event key (package keyextract).
type ID struct{ Operation, EventKey string }

// State says where the action of an event stands.
type State uint8

const (
	// Gone is the absence of a record: what a first delivery finds, and what
	// a Change asks for to delete one.
	Gone State = iota
	// Processing: an attempt owns the claim.
	Processing
	// Completed: done; the receipt is stored.
	Completed
	// FailedRetryable: proven that the action did not begin.
	FailedRetryable
	// Ambiguous: it may have acted; nobody knows. Only a person or evidence moves it.
	Ambiguous
)

var stateNames = [...]string{"gone", "processing", "completed", "failed_retryable", "ambiguous"}

// States lists the states that a stored record can be in.
func States() []State { return []State{Processing, Completed, FailedRetryable, Ambiguous} }

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// ParseState is the inverse of String for the states that a record can have.
func ParseState(name string) (State, bool) {
	i := slices.Index(stateNames[1:], name)
	return State(i + 1), i >= 0
}

// Holder says what a processing record waits for.
type Holder uint8

const (
	// HolderForward waits for n8n's HTTP response. If the process that waits
	// dies, the record is an orphan: nobody will ever settle it.
	HolderForward Holder = iota + 1
	// HolderReceipt waits for the workflow's receipt and outlives a restart.
	HolderReceipt
	// HolderExecution is bound to one n8n execution and outlives a restart.
	HolderExecution
)

// Evidence says on whose word a record was completed.
type Evidence uint8

const (
	// ByResponse: n8n's HTTP response said so.
	ByResponse Evidence = iota + 1
	// ByReceipt: the workflow's own receipt said so.
	ByReceipt
	// ByPerson: somebody looked it up and said so.
	ByPerson
)

// Hash is a SHA-256.
type Hash [32]byte

// AliasKind is a name space of aliases.
type AliasKind uint8

const (
	// AliasToken finds the record by the hash of an attempt's fencing token.
	AliasToken AliasKind = iota + 1
	// AliasExecution finds it by an n8n execution id, scoped by instance.
	AliasExecution
	// AliasFingerprint finds it by the fingerprint of its delivery.
	AliasFingerprint
	// AliasEvent finds it by its event's own key, where its name holds more than that.
	AliasEvent
)

// Alias is another way to find a record. An alias belongs to at most one
// record at a time; a rule that does not want uniqueness does not set one.
type Alias struct {
	Kind  AliasKind
	Value string
}

// Record is everything known about one (operation, event key). It is a value:
// whoever changes one copies it first (Clone), and engines never share theirs.
type Record struct {
	ID
	State   State
	Version uint64 // from one store-wide sequence, never used twice; 0 = absent

	Holder      Holder // what a processing record waits for
	Incarnation string // the opening of the store that its holder lives in

	Attempt    int // how often the event was let through
	Refused    int // how many of those are proven never to have reached a workflow
	Reported   int // failures that the workflow reported, of MaxAttempts
	Generation int // 1, and one more for every rerun by a person

	MaxAttempts int           // the budget for Reported
	Retention   time.Duration // how long a completed record is kept, from settling

	FirstSeenAt time.Time // first claim ever
	ClaimedAt   time.Time // claim of the present attempt
	SettledAt   time.Time // end of the last attempt; zero before
	Deadline    time.Time // processing only: afterwards the record is ambiguous
	ExpiresAt   time.Time // completed only: afterwards it may be deleted; zero: never
	KeyedAt     time.Time // first claim of the generation; zero: unknown
	RepeatUntil time.Time // until then the downstream knows the idempotency key; zero: it does not

	Fingerprint Hash
	Covers      string // what the fingerprint was taken of: those of others cannot be compared
	TokenHash   Hash   // of the attempt that owns the record
	HeaderHash  Hash   // of the delivery's own token, once an execution took the attempt over
	Execution   string
	Aliases     []Alias

	Reason   string // why it is in its state; one of the Reason constants
	Evidence Evidence
	ActionID string // the downstream system's id of what was done
	Receipt  *Receipt
	Doubt    bool    // an attempt may have acted, whatever the owner says: its failure proves nothing
	Unproven string  // the event's own key, until n8n has shown that the delivery is its sender's; empty: it is
	Prior    *Record // what an undone claim goes back to; nil where there was no record
	History  []Move  // bounded; a person's moves are never evicted

	moved Move // the move that made this value; not stored
}

// Receipt is the durable result of a completed attempt.
type Receipt struct {
	Status      int // HTTP status; 0 where there was no response
	Header      []Field
	Body        []byte
	BodyDropped bool   // the body was over the limit: only status and headers are kept
	Result      []byte // what a workflow's receipt said, JSON
}

// Field is one header line of a receipt.
type Field struct{ Name, Value string }

// Move is one line of a record's history.
type Move struct {
	At       time.Time
	From, To State
	Attempt  int
	Reason   string
	By       string // the person, or empty for the gate itself
	Note     string // the person's reason
}

// Clone returns a copy that shares nothing which a move changes in place.
// Bodies are never changed in place, so they are shared.
func (r Record) Clone() Record {
	r.Aliases = slices.Clone(r.Aliases)
	r.History = slices.Clone(r.History)
	return r
}

// Knows reports whether token is one of this generation's attempts.
func (r Record) Knows(token Hash) bool {
	return slices.Contains(r.Aliases, tokenAlias(token))
}

// Owned reports whether token's attempt is the one that owns the record now.
func (r Record) Owned(token Hash) bool { return token != Hash{} && r.TokenHash == token }

// bound reports whether an execution has taken the attempt over, and if so,
// whether token is the delivery's own, which may say little from then on.
func (r Record) bound() bool                { return r.HeaderHash != Hash{} }
func (r Record) isDelivery(token Hash) bool { return r.bound() && r.HeaderHash == token }

// DueAt is when the record becomes ambiguous if nothing happens before: past the
// deadline of its attempt or, where it waits for another one in doubt, past the time
// for which the downstream knows the idempotency key. Zero: never.
func (r Record) DueAt() time.Time {
	switch {
	case r.State == Processing:
		return r.Deadline
	case r.State == FailedRetryable && r.Doubt:
		return r.RepeatUntil
	}
	return time.Time{}
}

// LastMove returns the newest line of the history, or a zero Move.
func (r Record) LastMove() Move {
	if len(r.History) == 0 {
		return Move{}
	}
	return r.History[len(r.History)-1]
}
