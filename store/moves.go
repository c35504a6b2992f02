package store

import (
	"errors"
	"slices"
	"time"
)

// The state machine. Every move is pure: it takes a record, an event and the
// time, and returns the record as it should be, or one of these errors. No
// other code changes a State.
var (
	// ErrIllegalMove: the record's state does not allow that event.
	ErrIllegalMove = errors.New("illegal move")
	// ErrNotOwner: the token is not that of the attempt that owns the record.
	ErrNotOwner = errors.New("another attempt owns the record, or none")
)

// Reasons stand in records, history, metrics and answers: bounded, snake_case.
const (
	ReasonDelivery     = "delivery"           // a delivery claimed the event
	ReasonResponse     = "response"           // n8n's response completed it, or was stored
	ReasonReceipt      = "receipt"            // the workflow's receipt completed it
	ReasonBound        = "bound"              // an execution bound itself to the attempt
	ReasonNotSent      = "not_sent"           // proven: no connection was obtained
	ReasonRefused      = "refused"            // proven: n8n answered before any execution
	ReasonRejected     = "rejected"           // proven: n8n refused this request before any execution
	ReasonReported     = "reported"           // the workflow said that it failed
	ReasonTimeout      = "timeout"            // no answer in time, after it was sent
	ReasonInterrupted  = "interrupted"        // the exchange broke after it was sent
	ReasonUnrecognised = "unrecognised"       // an answer that proves nothing
	ReasonErrorAnswer  = "error_answer"       // the workflow answered with an error that proves nothing
	ReasonCondition    = "condition"          // the answer is not what complete_when demands
	ReasonHolderLost   = "holder_lost"        // the process that waited for the answer is gone
	ReasonDeadline     = "deadline"           // nothing settled the attempt in time
	ReasonExhausted    = "attempts_exhausted" // the workflow reported max_attempts failures
	ReasonLateEvidence = "late_evidence"      // an earlier attempt turns out to have acted
	ReasonRepeatOver   = "repeat_safe_over"   // in doubt for longer than the downstream knows the idempotency key
	ReasonPanic        = "panic"              // the gate itself failed while it had the answer in its hands
	ReasonUndone       = "undone"             // the claim was taken back
	ReasonResolved     = "resolved"           // a person looked it up
	ReasonRerun        = "rerun"              // a person wants it done again
	ReasonRestored     = "restored"           // it comes from a backup
	ReasonBackup       = "backup"             // the store is a copy that `backup` made
	ReasonImport       = "import"             // the store was filled by `import`
	ReasonAccepted     = "accepted"           // a person has accepted a restored store
	historyLimit       = 32                   // moves of the gate itself that a record keeps
	tokenLimit         = 32                   // attempts of a generation whose late evidence is recognised
)

// Claimed is a delivery that wants to act.
type Claimed struct {
	Token       Hash
	Incarnation string
	Holder      Holder
	Lasts       time.Duration // from the claim to the deadline
	Retention   time.Duration
	MaxAttempts int
	RepeatSafe  time.Duration // for so long from KeyedAt the downstream knows the idempotency key
	Fingerprint Hash
	Covers      string
	Aliases     []Alias // beside the token's own
	Unproven    string  // Record.Unproven of a new record
}

// Claim: – or failed_retryable → processing. The record must carry its ID.
//
// Where a former attempt of the record may have acted, another one begins only if its
// deadline is not after RepeatUntil, so that it cannot reach the downstream when the
// idempotency key is forgotten there; else: failed_retryable → ambiguous.
func Claim(r Record, c Claimed, now time.Time) (Record, error) {
	if r.State != Gone && r.State != FailedRetryable {
		return r, ErrIllegalMove
	}
	next := Record{ID: r.ID, Generation: 1, FirstSeenAt: now, Unproven: c.Unproven}
	if r.State == FailedRetryable {
		next, next.Prior = r.Clone(), &r
	}
	next.keyUsed(r, c.RepeatSafe, now)
	if r.Doubt && now.Add(c.Lasts).After(next.RepeatUntil) {
		next.SettledAt = now
		return next.move(Ambiguous, ReasonRepeatOver, now), nil
	}
	next.Attempt++
	next.Holder, next.Incarnation = c.Holder, c.Incarnation
	next.ClaimedAt, next.Deadline = now, now.Add(c.Lasts)
	next.Retention, next.MaxAttempts = c.Retention, c.MaxAttempts
	next.Fingerprint, next.Covers = c.Fingerprint, c.Covers
	next.Execution, next.HeaderHash = "", Hash{}
	next.Receipt, next.Evidence, next.ActionID = nil, 0, ""
	next.adoptToken(c.Token)
	if !r.Doubt { // the former attempts are proven not to have acted on what they held
		next.Aliases = slices.DeleteFunc(next.Aliases, func(a Alias) bool { return a.Kind == AliasFingerprint })
	}
	for _, a := range c.Aliases {
		if !slices.Contains(next.Aliases, a) {
			next.Aliases = append(next.Aliases, a)
		}
	}
	return next.move(Processing, ReasonDelivery, now), nil
}

// Settlement is what an attempt, or evidence of it, says about its end.
type Settlement struct {
	Token    Hash
	To       State // Completed, FailedRetryable or Ambiguous; Gone: as before the claim (Undo)
	Evidence Evidence
	Reason   string
	ActionID string
	Receipt  *Receipt
	// Reported: the workflow itself says that it failed, which uses up max_attempts.
	// Other failures are proofs that the attempt never reached a workflow.
	Reported bool
	// Proven: n8n has shown that the delivery is its sender's, though it did not
	// complete it.
	Proven bool
	// OnTheWay: the exchange broke off after it was sent, To is Ambiguous. While the
	// downstream knows the idempotency key that is failed_retryable, in doubt.
	OnTheWay bool
}

// Settle ends the attempt that owns the record, or takes late evidence of one:
//
//	processing                   → completed, failed_retryable, ambiguous  the owner
//	processing                   → as before the claim                     the owner
//	processing, bound            → ambiguous   the delivery whose execution owns it
//	processing, not yet bound    → ambiguous   an earlier attempt turns out to have acted
//	failed_retryable             → completed   any attempt of this generation
//	ambiguous                    → completed, failed_retryable  the attempt that owns it
//	completed (by response only) → ambiguous   its own attempt reports a failure
//	completed (by receipt)       → completed   the response of its attempt is added, once
func Settle(r Record, s Settlement, now time.Time) (Record, error) {
	switch {
	case s.To == Gone && s.Evidence == ByResponse:
		return Undo(r, s.Token, now)
	case !r.Knows(s.Token):
		return r, ErrNotOwner
	case s.To != Completed && s.To != FailedRetryable && s.To != Ambiguous:
		return r, ErrIllegalMove
	}
	owner, delivery := r.Owned(s.Token), r.isDelivery(s.Token)
	next := r.Clone()
	switch {
	case r.State == Processing && (owner || delivery && s.To == Ambiguous):
		return next.settle(s, now), nil

	case r.State == Processing && s.To == Completed && !r.bound():
		next.Doubt, next.SettledAt = true, now
		return next.move(Ambiguous, ReasonLateEvidence, now), nil

	case r.State == FailedRetryable && s.To == Completed && !delivery && !(owner && r.outweighs(s)):
		next.Doubt = next.Doubt || !owner
		return next.settle(s, now), nil

	case r.State == Ambiguous && owner && s.To == Completed && !r.outweighs(s),
		r.State == Ambiguous && owner && s.To == FailedRetryable && !r.Doubt && !r.exhausts(s) && !r.repeats(s):
		return next.settle(s, now), nil

	case r.State == Completed && owner && s.To != Completed && r.Evidence == ByResponse && s.Evidence == ByReceipt:
		next.Evidence, next.ExpiresAt, next.SettledAt = ByReceipt, time.Time{}, now
		return next.move(Ambiguous, s.Reason, now), nil

	case r.State == Completed && (owner || delivery) && s.To == Completed && r.Evidence == ByReceipt &&
		s.Evidence == ByResponse && r.Receipt.status() == 0 && s.Receipt != nil:
		next.Receipt = r.Receipt.withResponse(s.Receipt)
		return next.move(Completed, s.Reason, now), nil

	case !owner:
		return r, ErrNotOwner
	}
	return r, ErrIllegalMove
}

// outweighs: a failure that the workflow reported counts more than n8n's response,
// which only says that the workflow was started.
func (r Record) outweighs(s Settlement) bool {
	return s.Evidence == ByResponse && r.Evidence == ByReceipt
}

// exhausts: a failure that uses up the attempts, or comes when they are used up,
// leaves the decision to a person.
func (r Record) exhausts(s Settlement) bool {
	spent := r.Reported
	if s.Reported {
		spent++
	}
	return r.MaxAttempts > 0 && spent >= r.MaxAttempts
}

// repeats: the receipt that put a completed event in doubt is given once more.
func (r Record) repeats(s Settlement) bool {
	return s.Evidence == ByReceipt && r.Evidence == ByReceipt && r.Reason == s.Reason
}

// settle carries out a settlement that was found legal.
func (r *Record) settle(s Settlement, now time.Time) Record {
	to, reason := s.To, s.Reason
	if to == Completed || s.Proven {
		r.prove()
	}
	switch to {
	case Completed:
		r.Evidence = s.Evidence
		if s.ActionID != "" {
			r.ActionID = s.ActionID
		}
		if r.Receipt == nil || s.Evidence == ByResponse { // a receipt keeps the response that waited for it
			r.Receipt = s.Receipt
		} else if s.Receipt != nil {
			r.Receipt = s.Receipt.withResponse(r.Receipt)
		}
		r.ExpiresAt = now.Add(r.Retention)
	case Ambiguous:
		if s.OnTheWay && r.Owned(s.Token) && now.Before(r.RepeatUntil) {
			to, r.Doubt = FailedRetryable, true
		}
	case FailedRetryable:
		r.Evidence = s.Evidence
		switch {
		case r.Doubt && r.RepeatUntil.IsZero():
			to, reason = Ambiguous, ReasonLateEvidence
		case r.Doubt && !now.Before(r.RepeatUntil):
			to, reason = Ambiguous, ReasonRepeatOver
		case s.Reported && r.exhausts(s):
			to, reason = Ambiguous, ReasonExhausted
		}
		if s.Reported {
			r.Reported++
		} else {
			r.Refused++
		}
	}
	r.SettledAt = now
	return r.move(to, reason, now)
}

// Await: processing → processing. n8n's response is stored, and the record now
// waits for the workflow's receipt, for that long.
func Await(r Record, token Hash, response *Receipt, lasts time.Duration, now time.Time) (Record, error) {
	switch {
	case !r.Owned(token) && !r.isDelivery(token):
		return r, ErrNotOwner
	case r.State != Processing || r.Receipt != nil:
		return r, ErrIllegalMove
	}
	next := r.Clone()
	next.Receipt = response
	if next.Holder == HolderForward {
		next.Holder = HolderReceipt
	}
	next.Deadline = now.Add(lasts)
	return next.move(Processing, ReasonResponse, now), nil
}

// Bind gives the attempt to one execution, once: processing → processing, or
// completed by n8n's response only → processing. From then on only fresh owns it;
// the delivery's own token may still say that it failed in doubt.
func Bind(r Record, token, fresh Hash, execution Alias, lasts time.Duration, now time.Time) (Record, error) {
	switch {
	case !r.Owned(token):
		return r, ErrNotOwner
	case r.bound():
		return r, ErrIllegalMove
	case r.State != Processing && (r.State != Completed || r.Evidence != ByResponse):
		return r, ErrIllegalMove
	}
	next := r.Clone()
	next.Holder, next.Execution = HolderExecution, execution.Value
	if execution.Value != "" { // a workflow need not know its execution's id
		next.Aliases = append(next.Aliases, execution)
	}
	next.HeaderHash = token
	next.adoptToken(fresh)
	next.Deadline = now.Add(lasts)
	next.ExpiresAt, next.Evidence = time.Time{}, 0
	return next.move(Processing, ReasonBound, now), nil
}

// Undo: processing → as it was before the claim, because n8n refused the sender
// or was never reached: a forged delivery burns nothing, and leaves no line in the
// history, which it could fill otherwise.
func Undo(r Record, token Hash, now time.Time) (Record, error) {
	switch {
	case !r.Owned(token):
		return r, ErrNotOwner
	case r.State != Processing || r.Holder != HolderForward || r.bound():
		return r, ErrIllegalMove
	}
	next := Record{ID: r.ID}
	if r.Prior != nil {
		next = r.Prior.Clone()
	}
	next.Version = r.Version
	next.moved = Move{At: now, From: Processing, To: next.State, Attempt: r.Attempt, Reason: ReasonUndone}
	return next, nil
}

// Lapse: processing → ambiguous, where nobody will settle any more: the deadline
// has passed, or the holder that waited for a response is lost. And failed_retryable
// → ambiguous, where an attempt may have acted and the downstream no longer knows the
// idempotency key that would keep another one from acting again.
func Lapse(r Record, holderAlive bool, now time.Time) (Record, error) {
	var reason string
	switch {
	case r.State == FailedRetryable && r.Doubt && !now.Before(r.RepeatUntil):
		reason = ReasonRepeatOver
	case r.State != Processing:
		return r, ErrIllegalMove
	case !holderAlive && r.Holder == HolderForward:
		reason = ReasonHolderLost
	case !now.Before(r.Deadline):
		reason = ReasonDeadline
	default:
		return r, ErrIllegalMove
	}
	next := r.Clone()
	next.SettledAt = now
	return next.move(Ambiguous, reason, now), nil
}

// Verdict is a person's decision. Note is the reason in their words, required.
type Verdict struct {
	To       State // Completed or FailedRetryable
	ActionID string
	By, Note string
}

// Resolve: ambiguous → completed or failed_retryable, on a person's word. To
// failed_retryable starts a new budget of attempts.
func Resolve(r Record, v Verdict, now time.Time) (Record, error) {
	if r.State != Ambiguous || v.Note == "" || (v.To != Completed && v.To != FailedRetryable) {
		return r, ErrIllegalMove
	}
	next := r.Clone()
	next.SettledAt, next.Doubt = now, false
	if v.To == Completed {
		next.prove()
		next.Evidence, next.ExpiresAt = ByPerson, now.Add(r.Retention)
		if v.ActionID != "" {
			next.ActionID = v.ActionID
		}
	} else {
		next.Reported, next.Evidence = 0, ByPerson
	}
	return next.moveBy(v.To, ReasonResolved, v.By, v.Note, now), nil
}

// Rerun: completed or failed_retryable → failed_retryable, a new generation: the
// only way to act twice, by a person, with a reason.
func Rerun(r Record, v Verdict, now time.Time) (Record, error) {
	if (r.State != Completed && r.State != FailedRetryable) || v.Note == "" {
		return r, ErrIllegalMove
	}
	next := r.Clone()
	next.Generation++
	next.Reported = 0
	next.SettledAt, next.ExpiresAt = now, time.Time{}
	next.Receipt, next.Evidence, next.ActionID = nil, 0, ""
	next.TokenHash, next.HeaderHash, next.Doubt = Hash{}, Hash{}, false
	next.KeyedAt, next.RepeatUntil = time.Time{}, time.Time{}
	next.Aliases = slices.DeleteFunc(next.Aliases, func(a Alias) bool { return a.Kind != AliasFingerprint && a.Kind != AliasEvent })
	return next.moveBy(FailedRetryable, ReasonRerun, v.By, v.Note, now), nil
}

// Distrust, in a store that was restored:
//
//	failed_retryable → ambiguous   the event may have been carried out after the copy was made
//	processing       → processing  so may this one: its attempt's failure proves nothing any more
//
// The second one is about attempts that outlive a restart (they wait for a receipt):
// in the store that was lost, the same failure may have been reported, and followed by
// a later attempt that acted. Those that wait for n8n's response do not: Lapse.
func Distrust(r Record, v Verdict, now time.Time) (Record, error) {
	waits := r.State == Processing && r.Holder != HolderForward && !r.Doubt
	if (r.State != FailedRetryable && !waits) || v.Note == "" {
		return r, ErrIllegalMove
	}
	next := r.Clone()
	next.Doubt = true
	next.KeyedAt, next.RepeatUntil = time.Time{}, time.Time{} // a backup knows not when its key was used
	if r.State == Processing {
		return next.moveBy(Processing, ReasonRestored, v.By, v.Note, now), nil
	}
	next.SettledAt = now
	return next.moveBy(Ambiguous, ReasonRestored, v.By, v.Note, now), nil
}

// prove: the record's event is its sender's. From now on it is found by the event's own
// key as well, and holds back whatever has that.
func (r *Record) prove() {
	if r.Unproven == "" {
		return
	}
	r.Aliases = append(r.Aliases, EventAlias(ID{r.Operation, r.Unproven}))
	r.Unproven = ""
}

// adoptToken makes token's attempt the owner. Older tokens stay findable, so
// that late evidence is recognised, up to tokenLimit.
func (r *Record) adoptToken(token Hash) {
	r.TokenHash = token
	r.Aliases = append(r.Aliases, tokenAlias(token))
	tokens := 0
	for i := len(r.Aliases) - 1; i >= 0; i-- {
		if r.Aliases[i].Kind != AliasToken {
			continue
		}
		if tokens++; tokens > tokenLimit {
			r.Aliases = slices.Delete(r.Aliases, i, i+1)
		}
	}
}

func (r *Record) move(to State, reason string, now time.Time) Record {
	return r.moveBy(to, reason, "", "", now)
}

// moveBy is the one place where a state changes and the history grows.
func (r *Record) moveBy(to State, reason, by, note string, now time.Time) Record {
	r.moved = Move{At: now, From: r.State, To: to, Attempt: r.Attempt, Reason: reason, By: by, Note: note}
	r.History = append(r.History, r.moved)
	own := 0
	for i := len(r.History) - 1; i >= 0; i-- {
		if r.History[i].Note != "" { // a person's
			continue
		}
		if own++; own > historyLimit {
			r.History = slices.Delete(r.History, i, i+1)
		}
	}
	if to != Processing {
		r.Deadline, r.Prior = time.Time{}, nil
	}
	r.State, r.Reason = to, reason
	return *r
}

// status is the HTTP status of a receipt; 0 where there was no response.
func (r *Receipt) status() int {
	if r == nil {
		return 0
	}
	return r.Status
}

// withResponse joins a workflow's receipt with the response of the same attempt.
func (r *Receipt) withResponse(response *Receipt) *Receipt {
	joined := *response
	if r != nil {
		joined.Result = r.Result
	}
	return &joined
}
