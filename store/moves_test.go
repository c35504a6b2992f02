package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	. "github.com/n8n-gate/n8n-gate/store"
)

// The tokens of a record's life, by name. Every kind of record below has the
// same past: a former generation, and an earlier attempt of this one that failed.
const (
	former    = "former generation"
	earlier   = "earlier attempt"
	delivery  = "delivery"  // of the present attempt; its header token after Bind
	execution = "execution" // given out by Bind
	stranger  = "stranger"
	nobody    = "" // never a token: owns nothing
)

var (
	event    = ID{Operation: "create_invoice", EventKey: "evt_1"}
	epoch    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	response = &Receipt{Status: 200, Header: []Field{{"Content-Type", "text/plain"}}, Body: []byte("ok")}
	result   = &Receipt{Result: []byte(`{"n":1}`)}
	verdict  = Verdict{To: FailedRetryable, By: "ann", Note: "looked it up"}
)

const (
	attemptLasts = 2 * time.Minute
	kept         = 24 * time.Hour
	budget       = 10
)

func hashed(token string) Hash {
	if token == nobody {
		return Hash{}
	}
	return HashToken(token)
}

func claimed(token string) Claimed {
	return Claimed{
		Token: hashed(token), Incarnation: "inc-1", Holder: HolderForward, Lasts: attemptLasts,
		Retention: kept, MaxAttempts: budget, Fingerprint: HashToken("body"),
		Aliases: []Alias{{AliasFingerprint, "body"}},
	}
}

func settlement(token string, to State, by Evidence, reported bool) Settlement {
	s := Settlement{Token: hashed(token), To: to, Evidence: by, Reported: reported}
	switch {
	case to == Completed && by == ByResponse:
		s.Reason, s.ActionID, s.Receipt = ReasonResponse, "inv_456", response
	case to == Completed:
		s.Reason, s.ActionID, s.Receipt = ReasonReceipt, "inv_456", result
	case to == FailedRetryable && reported:
		s.Reason = ReasonReported
	case to == FailedRetryable:
		s.Reason = ReasonNotSent
	case by == ByResponse:
		s.Reason = ReasonTimeout
	default:
		s.Reason = ReasonErrorAnswer
	}
	return s
}

func executed(id string) Alias { return Alias{AliasExecution, "main:" + id} }

// life leads one record through moves that must succeed, a second each.
type life struct {
	t   testing.TB
	r   Record
	now time.Time
}

func newLife(t testing.TB) *life { return &life{t, Record{ID: event}, epoch} }

func (l *life) then(next Record, err error) *life {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("from %v (%s): %v", l.r.State, l.r.Reason, err)
	}
	next.Version = l.r.Version + 1 // an engine gives it
	l.r, l.now = next, l.now.Add(time.Second)
	return l
}

func (l *life) claim(token string) *life { return l.then(Claim(l.r, claimed(token), l.now)) }

func (l *life) settle(token string, to State, by Evidence) *life {
	return l.then(Settle(l.r, settlement(token, to, by, false), l.now))
}

func (l *life) report(token string) *life {
	return l.then(Settle(l.r, settlement(token, FailedRetryable, ByReceipt, true), l.now))
}

func (l *life) await(token string) *life {
	return l.then(Await(l.r, hashed(token), response, attemptLasts, l.now))
}

func (l *life) bind(token, fresh string) *life {
	return l.then(Bind(l.r, hashed(token), hashed(fresh), executed("7"), attemptLasts, l.now))
}

func (l *life) lapse() *life { l.now = l.r.Deadline; return l.then(Lapse(l.r, true, l.now)) }

func (l *life) resolve(to State) *life {
	return l.then(Resolve(l.r, Verdict{To: to, By: "ann", Note: "seen"}, l.now))
}

func (l *life) rerun() *life    { return l.then(Rerun(l.r, verdict, l.now)) }
func (l *life) distrust() *life { return l.then(Distrust(l.r, verdict, l.now)) }

// attempt is the past of every kind, up to its present attempt.
func (l *life) attempt() *life {
	return l.claim(former).settle(former, Completed, ByResponse).rerun().
		claim(earlier).settle(earlier, FailedRetryable, ByResponse).claim(delivery)
}

// said is what one token may say, and where that leads.
type said struct {
	token string
	to    State
	by    Evidence // 0: on either evidence
	state State
	why   string // the reason of the record afterwards; empty: the one that was said
}

func saysAll(token string) []said {
	return []said{
		{token, Completed, 0, Completed, ""},
		{token, FailedRetryable, 0, FailedRetryable, ""},
		{token, Ambiguous, 0, Ambiguous, ""},
	}
}

func saysLate(tokens ...string) (out []said) { // failed_retryable → completed
	for _, token := range tokens {
		out = append(out, said{token, Completed, 0, Completed, ""})
	}
	return out
}

// kinds are the records that there are, with all that section 3 of the contract
// allows them. What is not named here must be refused.
var kinds = []struct {
	name          string
	state         State
	holder        Holder // of a processing record
	owner, header string
	build         func(l *life)
	settle        []said
	await, bind   []string // tokens that may
	undo          string
}{
	{name: "gone", build: func(*life) {}},

	{name: "processing, forward", state: Processing, holder: HolderForward, owner: delivery,
		build:  func(l *life) { l.attempt() },
		settle: append(saysAll(delivery), said{earlier, Completed, 0, Ambiguous, ReasonLateEvidence}),
		await:  []string{delivery}, bind: []string{delivery}, undo: delivery},
	{name: "processing, receipt", state: Processing, holder: HolderReceipt, owner: delivery,
		build:  func(l *life) { l.attempt().await(delivery) },
		settle: append(saysAll(delivery), said{earlier, Completed, 0, Ambiguous, ReasonLateEvidence}),
		bind:   []string{delivery}},
	{name: "processing, bound", state: Processing, holder: HolderExecution, owner: execution, header: delivery,
		build:  func(l *life) { l.attempt().bind(delivery, execution) },
		settle: append(saysAll(execution), said{delivery, Ambiguous, 0, Ambiguous, ""}),
		await:  []string{delivery, execution}},
	{name: "processing, restored", state: Processing, holder: HolderReceipt, owner: delivery,
		build: func(l *life) { l.attempt().await(delivery).distrust() },
		settle: []said{
			{delivery, Completed, 0, Completed, ""},
			{delivery, FailedRetryable, 0, Ambiguous, ReasonLateEvidence},
			{delivery, Ambiguous, 0, Ambiguous, ""},
			{earlier, Completed, 0, Ambiguous, ReasonLateEvidence},
		},
		bind: []string{delivery}},
	{name: "processing, bound before its response", state: Processing, holder: HolderExecution, owner: execution, header: delivery,
		build:  func(l *life) { l.attempt().bind(delivery, execution).await(delivery) },
		settle: append(saysAll(execution), said{delivery, Ambiguous, 0, Ambiguous, ""})},
	{name: "processing, bound after its response", state: Processing, holder: HolderExecution, owner: execution, header: delivery,
		build:  func(l *life) { l.attempt().await(delivery).bind(delivery, execution) },
		settle: append(saysAll(execution), said{delivery, Ambiguous, 0, Ambiguous, ""})},
	{name: "processing, bound after completion", state: Processing, holder: HolderExecution, owner: execution, header: delivery,
		build:  func(l *life) { l.attempt().settle(delivery, Completed, ByResponse).bind(delivery, execution) },
		settle: append(saysAll(execution), said{delivery, Ambiguous, 0, Ambiguous, ""})},

	{name: "completed by response", state: Completed, owner: delivery,
		build: func(l *life) { l.attempt().settle(delivery, Completed, ByResponse) },
		settle: []said{
			{delivery, FailedRetryable, ByReceipt, Ambiguous, ""},
			{delivery, Ambiguous, ByReceipt, Ambiguous, ""},
		},
		bind: []string{delivery}},
	{name: "completed by receipt", state: Completed, owner: delivery,
		build:  func(l *life) { l.attempt().settle(delivery, Completed, ByReceipt) },
		settle: []said{{delivery, Completed, ByResponse, Completed, ""}}},
	{name: "completed by receipt, response added", state: Completed, owner: delivery,
		build: func(l *life) {
			l.attempt().settle(delivery, Completed, ByReceipt).settle(delivery, Completed, ByResponse)
		}},
	{name: "completed by receipt after its response", state: Completed, owner: delivery,
		build: func(l *life) { l.attempt().await(delivery).settle(delivery, Completed, ByReceipt) }},
	{name: "completed by receipt, bound", state: Completed, owner: execution, header: delivery,
		build: func(l *life) { l.attempt().bind(delivery, execution).settle(execution, Completed, ByReceipt) },
		settle: []said{
			{delivery, Completed, ByResponse, Completed, ""},
			{execution, Completed, ByResponse, Completed, ""},
		}},
	{name: "completed by person", state: Completed, owner: delivery,
		build: func(l *life) { l.attempt().lapse().resolve(Completed) }},

	{name: "failed_retryable, not sent", state: FailedRetryable, owner: delivery,
		build:  func(l *life) { l.attempt().settle(delivery, FailedRetryable, ByResponse) },
		settle: saysLate(earlier, delivery)},
	// The workflow's failure receipt outweighs n8n's response to the same attempt; and
	// section 7: a bound attempt's header token may say only ambiguous.
	{name: "failed_retryable, reported", state: FailedRetryable, owner: delivery,
		build:  func(l *life) { l.attempt().report(delivery) },
		settle: append(saysLate(earlier), said{delivery, Completed, ByReceipt, Completed, ""})},
	{name: "failed_retryable, reported by its execution", state: FailedRetryable, owner: execution, header: delivery,
		build:  func(l *life) { l.attempt().bind(delivery, execution).report(execution) },
		settle: append(saysLate(earlier), said{execution, Completed, ByReceipt, Completed, ""})},
	{name: "failed_retryable, resolved", state: FailedRetryable, owner: delivery,
		build:  func(l *life) { l.attempt().lapse().resolve(FailedRetryable) },
		settle: saysLate(earlier, delivery)},
	{name: "failed_retryable, new generation", state: FailedRetryable,
		build: func(l *life) { l.attempt().settle(delivery, FailedRetryable, ByResponse).rerun() }},

	{name: "ambiguous, deadline", state: Ambiguous, owner: delivery,
		build:  func(l *life) { l.attempt().lapse() },
		settle: saysAll(delivery)[:2]},
	{name: "ambiguous, bound", state: Ambiguous, owner: execution, header: delivery,
		build:  func(l *life) { l.attempt().bind(delivery, execution).lapse() },
		settle: saysAll(execution)[:2]},
	{name: "ambiguous, accepted but failed", state: Ambiguous, owner: delivery,
		build: func(l *life) {
			l.attempt().settle(delivery, Completed, ByResponse).settle(delivery, Ambiguous, ByReceipt)
		},
		// The response that was disputed proves nothing when it is settled once more.
		settle: []said{{delivery, Completed, ByReceipt, Completed, ""}, saysAll(delivery)[1]}},
	// What is in doubt in the next three is not what the owner can prove: another
	// attempt acted, or may have since the backup; or the budget is a person's to renew.
	{name: "ambiguous, late evidence", state: Ambiguous, owner: delivery,
		build:  func(l *life) { l.attempt().settle(earlier, Completed, ByReceipt) },
		settle: saysAll(delivery)[:1]},
	{name: "ambiguous, restored", state: Ambiguous, owner: delivery,
		build:  func(l *life) { l.attempt().settle(delivery, FailedRetryable, ByResponse).distrust() },
		settle: saysAll(delivery)[:1]},
	{name: "ambiguous, attempts exhausted", state: Ambiguous, owner: delivery,
		build:  func(l *life) { l.attempt(); l.r.Reported = budget - 1; l.report(delivery) },
		settle: []said{{delivery, Completed, ByReceipt, Completed, ""}}},
}

// expected is where a move must lead; err if it must be refused.
type expected struct {
	state  State
	reason string
	err    error
}

// try carries out one move of a record that must not be touched by it.
func try(t *testing.T, r Record, move string, now time.Time, want expected, do func(Record) (Record, error)) Record {
	t.Helper()
	in, untouched := guarded(r)
	got, err := do(in)
	if !untouched() {
		t.Errorf("%s changed the record that it was given", move)
	}
	if want.err != nil {
		if !errors.Is(err, want.err) {
			t.Errorf("%v (%s): got %v, %v (%s); want error %q", r.State, r.Reason, err, got.State, got.Reason, want.err)
		}
		if err != nil && !reflect.DeepEqual(got, in) {
			t.Errorf("refused, but the record was changed")
		}
		return got
	}
	if err != nil {
		t.Fatalf("%v (%s): %v; want %v (%s)", r.State, r.Reason, err, want.state, want.reason)
	}
	if got.State != want.state || got.Reason != want.reason {
		t.Errorf("got %v (%s), want %v (%s)", got.State, got.Reason, want.state, want.reason)
	}
	for _, broken := range brokenBy(move, r, got, now) {
		t.Error(broken)
	}
	return got
}

func TestMoves(t *testing.T) {
	tokens := []string{former, earlier, delivery, execution, stranger}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			l := newLife(t)
			k.build(l)
			r, now := l.r, l.now
			if r.State != k.state || r.TokenHash != hashed(k.owner) || r.HeaderHash != hashed(k.header) ||
				k.state == Processing && r.Holder != k.holder {
				t.Fatalf("built %v, holder %d, reason %s", r.State, r.Holder, r.Reason)
			}
			refused := func(token string) expected {
				if token == k.owner {
					return expected{err: ErrIllegalMove}
				}
				return expected{err: ErrNotOwner}
			}
			// only wants a move by a person, or by the gate, from these states.
			only := func(to State, reason string, from ...State) expected {
				if slices.Contains(from, k.state) {
					return expected{state: to, reason: reason}
				}
				return expected{err: ErrIllegalMove}
			}

			t.Run("claim", func(t *testing.T) {
				try(t, r, "claim", now, only(Processing, ReasonDelivery, Gone, FailedRetryable),
					func(r Record) (Record, error) { return Claim(r, claimed("next"), now) })
			})
			for _, token := range tokens {
				for _, to := range []State{Completed, FailedRetryable, Ambiguous} {
					for _, by := range []Evidence{ByResponse, ByReceipt} {
						for _, reported := range []bool{false, true} {
							want, say := refused(token), settlement(token, to, by, reported)
							for _, s := range k.settle {
								if s.token == token && s.to == to && (s.by == 0 || s.by == by) {
									want = expected{state: s.state, reason: cmp.Or(s.why, say.Reason)}
								}
							}
							how := map[Evidence]string{ByResponse: "response", ByReceipt: "receipt"}[by]
							t.Run(fmt.Sprintf("settle %v by %s, reported %v, %s", to, how, reported, token), func(t *testing.T) {
								try(t, r, "settle", now, want, func(r Record) (Record, error) {
									return Settle(r, say, now)
								})
							})
						}
					}
				}
				t.Run("await, "+token, func(t *testing.T) {
					want := refused(token)
					if token == k.header {
						want.err = ErrIllegalMove // it stores its response while another owns the attempt
					}
					if slices.Contains(k.await, token) {
						want = expected{state: Processing, reason: ReasonResponse}
					}
					got := try(t, r, "await", now, want, func(r Record) (Record, error) {
						return Await(r, hashed(token), response, time.Hour, now)
					})
					if want.err == nil && (got.Receipt != response || !got.Deadline.Equal(now.Add(time.Hour)) ||
						got.Holder == HolderForward || k.holder == HolderExecution && got.Holder != HolderExecution) {
						t.Errorf("holder %d, deadline %v, receipt %v", got.Holder, got.Deadline, got.Receipt)
					}
				})
				t.Run("bind, "+token, func(t *testing.T) {
					want := refused(token)
					if slices.Contains(k.bind, token) {
						want = expected{state: Processing, reason: ReasonBound}
					}
					got := try(t, r, "bind", now, want, func(r Record) (Record, error) {
						return Bind(r, hashed(token), hashed("fresh"), executed("8"), time.Hour, now)
					})
					if want.err == nil && (got.TokenHash != hashed("fresh") || got.HeaderHash != hashed(token) ||
						got.Holder != HolderExecution || !got.Knows(hashed("fresh")) || !got.Knows(hashed(token)) ||
						!slices.Contains(got.Aliases, executed("8")) || !got.Deadline.Equal(now.Add(time.Hour))) {
						t.Errorf("bound to %q, holder %d, deadline %v", got.Execution, got.Holder, got.Deadline)
					}
				})
				t.Run("undo, "+token, func(t *testing.T) {
					want := refused(token)
					if k.undo == token {
						want = expected{state: FailedRetryable, reason: ReasonNotSent} // as it was before the claim
					}
					try(t, r, "undo", now, want, func(r Record) (Record, error) { return Undo(r, hashed(token), now) })
				})
			}
			for _, alive := range []bool{true, false} {
				for _, late := range []bool{false, true} {
					t.Run(fmt.Sprintf("lapse, holder alive %v, late %v", alive, late), func(t *testing.T) {
						at, want := now, expected{err: ErrIllegalMove}
						if late && k.state == Processing {
							at = r.Deadline
							want = expected{state: Ambiguous, reason: ReasonDeadline}
						}
						if !alive && k.holder == HolderForward {
							want = expected{state: Ambiguous, reason: ReasonHolderLost}
						}
						try(t, r, "lapse", at, want, func(r Record) (Record, error) { return Lapse(r, alive, at) })
					})
				}
			}
			for to := Gone; to <= Ambiguous; to++ {
				for _, note := range []string{"", "looked it up"} {
					t.Run(fmt.Sprintf("resolve %v, reason %q", to, note), func(t *testing.T) {
						want := only(to, ReasonResolved, Ambiguous)
						if note == "" || to != Completed && to != FailedRetryable {
							want = expected{err: ErrIllegalMove}
						}
						got := try(t, r, "resolve", now, want, func(r Record) (Record, error) {
							return Resolve(r, Verdict{To: to, By: "ann", Note: note, ActionID: "inv_9"}, now)
						})
						if want.err == nil && to == Completed && (got.Evidence != ByPerson || got.ActionID != "inv_9") {
							t.Errorf("evidence %d, action %q", got.Evidence, got.ActionID)
						}
					})
				}
			}
			t.Run("rerun", func(t *testing.T) {
				got := try(t, r, "rerun", now, only(FailedRetryable, ReasonRerun, Completed, FailedRetryable),
					func(r Record) (Record, error) { return Rerun(r, verdict, now) })
				for _, token := range tokens {
					if got.Reason == ReasonRerun && got.Knows(hashed(token)) {
						t.Errorf("the new generation knows the token of the %s", token)
					}
				}
			})
			t.Run("distrust", func(t *testing.T) {
				want := only(Ambiguous, ReasonRestored, FailedRetryable)
				if k.state == Processing && k.holder != HolderForward && !r.Doubt {
					want = expected{state: Processing, reason: ReasonRestored}
				}
				got := try(t, r, "distrust", now, want,
					func(r Record) (Record, error) { return Distrust(r, verdict, now) })
				if want.err == nil && !got.Doubt {
					t.Error("a failure of its owner would still be believed")
				}
			})
			t.Run("without a reason", func(t *testing.T) {
				for _, do := range []func(Record, Verdict, time.Time) (Record, error){Rerun, Distrust} {
					try(t, r, "person", now, expected{err: ErrIllegalMove},
						func(r Record) (Record, error) { return do(r, Verdict{By: "ann"}, now) })
				}
			})
		})
	}
}

// A settlement that names no end, or comes without a token, moves nothing.
func TestMalformedMovesNothing(t *testing.T) {
	for _, k := range kinds {
		l := newLife(t)
		k.build(l)
		r, now := l.r, l.now
		moves := map[string]func(Record) (Record, error){
			"await without a token": func(r Record) (Record, error) { return Await(r, Hash{}, response, time.Hour, now) },
			"bind without a token": func(r Record) (Record, error) {
				return Bind(r, Hash{}, hashed("fresh"), executed("8"), time.Hour, now)
			},
			"undo without a token": func(r Record) (Record, error) { return Undo(r, Hash{}, now) },
		}
		for _, to := range []State{Completed, FailedRetryable, Ambiguous} {
			moves[fmt.Sprintf("settle %v without a token", to)] = func(r Record) (Record, error) {
				return Settle(r, settlement(nobody, to, ByReceipt, false), now)
			}
		}
		for _, token := range []string{earlier, delivery, execution} {
			for _, to := range []State{Gone, Processing, Ambiguous + 1} {
				moves[fmt.Sprintf("settle to %v, %s", to, token)] = func(r Record) (Record, error) {
					return Settle(r, settlement(token, to, ByReceipt, false), now)
				}
			}
		}
		for name, do := range moves {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				in, untouched := guarded(r)
				got, err := do(in)
				if err == nil {
					t.Errorf("%v → %v (%s), want it refused", r.State, got.State, got.Reason)
				}
				if !untouched() {
					t.Error("the record that it was given is changed")
				}
			})
		}
	}
}

// Section 7: receipts are idempotent. A receipt whose answer was lost comes again.
func TestSettleTwice(t *testing.T) {
	for _, k := range kinds {
		for _, s := range k.settle {
			for _, reported := range []bool{false, true} {
				by := s.by
				if by == 0 {
					by = ByReceipt
				}
				t.Run(fmt.Sprintf("%s/%v, reported %v, %s", k.name, s.to, reported, s.token), func(t *testing.T) {
					l := newLife(t)
					k.build(l)
					say := settlement(s.token, s.to, by, reported)
					was := l.r.State
					l.then(Settle(l.r, say, l.now))
					if twice, err := Settle(l.r, say, l.now); err == nil {
						t.Errorf("%v → %v, and said once more → %v (%s)", was, l.r.State, twice.State, twice.Reason)
					}
				})
			}
		}
	}
}

// "Nothing is lost in silence": where the workflow's failure receipt and n8n's 200
// contradict each other, the order in which they arrive must not decide that the
// event was carried out. (Response first: ambiguous, by section 3.)
func TestFailureReceiptOutweighsResponse(t *testing.T) {
	for _, tc := range []struct {
		name string
		said []Settlement
	}{
		{"response first", []Settlement{settlement(delivery, Completed, ByResponse, false), settlement(delivery, FailedRetryable, ByReceipt, true)}},
		{"receipt first", []Settlement{settlement(delivery, FailedRetryable, ByReceipt, true), settlement(delivery, Completed, ByResponse, false)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLife(t).claim(delivery)
			for _, s := range tc.said {
				if next, err := Settle(l.r, s, l.now); err == nil {
					l.then(next, nil)
				}
			}
			if l.r.State == Completed {
				t.Error("completed, against the workflow's word")
			}
		})
	}
}

// "One intended action": what an earlier attempt did must not be forgotten because
// the present one proves that it did nothing.
func TestLateEvidenceStopsFurtherAttempts(t *testing.T) {
	for name, proof := range map[string]Settlement{
		"not sent": settlement(delivery, FailedRetryable, ByResponse, false),
		"reported": settlement(delivery, FailedRetryable, ByReceipt, true),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t).attempt().settle(earlier, Completed, ByReceipt)
			if next, err := Settle(l.r, proof, l.now); err == nil {
				l.then(next, nil)
			}
			if again, err := Claim(l.r, claimed("next"), l.now); err == nil {
				t.Errorf("attempt %d may act, though the %s has", again.Attempt, earlier)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	first := newLife(t).claim(delivery).r
	if first.ID != event || first.Attempt != 1 || first.Generation != 1 || !first.FirstSeenAt.Equal(epoch) ||
		!first.ClaimedAt.Equal(epoch) || !first.Deadline.Equal(epoch.Add(attemptLasts)) ||
		first.Incarnation != "inc-1" || first.Holder != HolderForward || first.Retention != kept ||
		!first.Owned(hashed(delivery)) || !slices.Contains(first.Aliases, Alias{AliasFingerprint, "body"}) {
		t.Errorf("first claim: %+v", first)
	}
	l := newLife(t).claim(earlier).await(earlier).bind(earlier, execution).report(execution).claim(delivery)
	if r := l.r; r.Attempt != 2 || r.Generation != 1 || !r.FirstSeenAt.Equal(epoch) || r.Receipt != nil ||
		r.Execution != "" || r.HeaderHash != (Hash{}) || !r.Knows(hashed(earlier)) || !r.Knows(hashed(execution)) {
		t.Errorf("second claim: %+v", r)
	}
	fingerprints := 0
	for _, a := range l.r.Aliases {
		if a.Kind == AliasFingerprint {
			fingerprints++
		}
	}
	if fingerprints != 1 {
		t.Errorf("%d fingerprint aliases after two deliveries of one body, want 1", fingerprints)
	}
}

func TestReceiptAndResponseAreJoined(t *testing.T) {
	both := &Receipt{Status: response.Status, Header: response.Header, Body: response.Body, Result: result.Result}
	for _, tc := range []struct {
		name  string
		build func(l *life)
		by    Evidence
		want  *Receipt
	}{
		{"response alone", func(l *life) { l.settle(delivery, Completed, ByResponse) }, ByResponse, response},
		{"receipt alone", func(l *life) { l.settle(delivery, Completed, ByReceipt) }, ByReceipt, result},
		{"response, then receipt", func(l *life) { l.await(delivery).settle(delivery, Completed, ByReceipt) }, ByReceipt, both},
		{"receipt, then response", func(l *life) {
			l.settle(delivery, Completed, ByReceipt).settle(delivery, Completed, ByResponse)
		}, ByReceipt, both},
		{"bound, receipt, then response", func(l *life) {
			l.bind(delivery, execution).settle(execution, Completed, ByReceipt).settle(delivery, Completed, ByResponse)
		}, ByReceipt, both},
		{"response, bound, receipt", func(l *life) {
			l.settle(delivery, Completed, ByResponse).bind(delivery, execution).settle(execution, Completed, ByReceipt)
		}, ByReceipt, both},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLife(t).claim(delivery)
			tc.build(l)
			if !reflect.DeepEqual(l.r.Receipt, tc.want) || l.r.Evidence != tc.by || l.r.ActionID != "inv_456" {
				t.Errorf("got %+v, evidence %d, action %q; want %+v", l.r.Receipt, l.r.Evidence, l.r.ActionID, tc.want)
			}
			if want := l.r.SettledAt.Add(kept); !l.r.ExpiresAt.Equal(want) {
				t.Errorf("expires %v, want %v: counted from settling", l.r.ExpiresAt, want)
			}
		})
	}
}

func TestAttemptsAreBudgeted(t *testing.T) {
	l := newLife(t)
	for i := 1; i < budget; i++ {
		l.claim(fmt.Sprint("not sent ", i)).settle(fmt.Sprint("not sent ", i), FailedRetryable, ByResponse)
		l.claim(fmt.Sprint("reported ", i)).report(fmt.Sprint("reported ", i))
	}
	if l.r.State != FailedRetryable || l.r.Reported != budget-1 || l.r.Refused != budget-1 {
		t.Fatalf("%v, %d reported, %d refused", l.r.State, l.r.Reported, l.r.Refused)
	}
	last := l.claim("last").report("last").r
	if last.State != Ambiguous || last.Reason != ReasonExhausted || last.Attempt != 2*budget-1 {
		t.Fatalf("last attempt: %v (%s), attempt %d", last.State, last.Reason, last.Attempt)
	}
	for name, renew := range map[string]func(*life) *life{
		"resolve": func(l *life) *life { return l.resolve(FailedRetryable) },
		"rerun":   func(l *life) *life { return l.resolve(Completed).rerun() },
	} {
		t.Run(name, func(t *testing.T) {
			l := renew(&life{t, last, l.now}).claim("next").report("next")
			if l.r.State != FailedRetryable || l.r.Reported != 1 {
				t.Errorf("%v (%s), %d reported of a new budget", l.r.State, l.r.Reason, l.r.Reported)
			}
		})
	}
}

// forged is a delivery that n8n will refuse: another body under the same key.
func forged() Claimed {
	c := claimed("forged")
	c.Fingerprint, c.Aliases = HashToken("other body"), []Alias{{AliasFingerprint, "other body"}}
	return c
}

// Section 3: "as it was before the claim: no attempt counted, no history lost, a
// forged delivery burns nothing".
func TestUndo(t *testing.T) {
	t.Run("first claim", func(t *testing.T) {
		l := newLife(t).claim(delivery)
		if r, err := Undo(l.r, hashed(delivery), l.now); err != nil || r.State != Gone || r.Attempt != 0 || r.ID != event {
			t.Errorf("%v, %v, attempt %d", err, r.State, r.Attempt)
		}
	})
	for name, build := range map[string]func(*life){
		"not sent":            func(l *life) { l.attempt().settle(delivery, FailedRetryable, ByResponse) },
		"reported":            func(l *life) { l.attempt().report(delivery) },
		"reported, responded": func(l *life) { l.attempt().await(delivery).report(delivery) },
		"reported, bound":     func(l *life) { l.attempt().bind(delivery, execution).report(execution) },
		"resolved":            func(l *life) { l.attempt().lapse().resolve(FailedRetryable) },
		"rerun":               func(l *life) { l.attempt().settle(delivery, Completed, ByResponse).rerun() },
		"many attempts": func(l *life) {
			for i := range TokenLimit {
				l.claim(fmt.Sprint(i)).settle(fmt.Sprint(i), FailedRetryable, ByResponse)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			build(l)
			was := l.r
			l.then(Claim(l.r, forged(), l.now))
			l.then(Undo(l.r, hashed("forged"), l.now))
			for _, broken := range notUndone(was, l.r) {
				t.Error(broken)
			}
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	for _, by := range []string{"ann", ""} { // section 7's /resolutions names nobody
		t.Run(fmt.Sprintf("by %q", by), func(t *testing.T) {
			l := newLife(t).claim("0").lapse()
			l.then(Resolve(l.r, Verdict{To: FailedRetryable, By: by, Note: "mine"}, l.now))
			for i := range 2 * HistoryLimit {
				l.claim(fmt.Sprint(i)).settle(fmt.Sprint(i), FailedRetryable, ByResponse)
			}
			if n := len(l.r.History); n > HistoryLimit+1 {
				t.Errorf("%d moves kept", n)
			}
			if !slices.ContainsFunc(l.r.History, func(m Move) bool { return m.Note == "mine" }) {
				t.Error("a person's move was evicted")
			}
			if m := l.r.LastMove(); m.To != FailedRetryable || m.Reason != ReasonNotSent {
				t.Errorf("newest move: %+v", m)
			}
			tokens := 0
			for i := range 2 * HistoryLimit {
				if l.r.Knows(hashed(fmt.Sprint(i))) {
					tokens++
				}
			}
			if tokens != TokenLimit || !l.r.Knows(l.r.TokenHash) {
				t.Errorf("%d attempts are recognised, want the newest %d", tokens, TokenLimit)
			}
		})
	}
}

// Section 7: execution_id is optional, and an attempt is bound once all the same.
func TestBindWithoutExecutionID(t *testing.T) {
	l := newLife(t).claim(delivery)
	l.then(Bind(l.r, hashed(delivery), hashed(execution), Alias{}, time.Hour, l.now))
	for _, a := range l.r.Aliases {
		if a.Value == "" {
			t.Errorf("alias %+v: the next record without an execution id would conflict with it", a)
		}
	}
	if _, err := Bind(l.r, hashed(execution), hashed("second"), executed("8"), time.Hour, l.now); !errors.Is(err, ErrIllegalMove) {
		t.Errorf("bound twice: %v", err)
	}
}
