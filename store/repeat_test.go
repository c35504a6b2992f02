package store_test

import (
	"testing"
	"time"

	. "github.com/n8n-gate/n8n-gate/store"
)

const safe = 10 * time.Minute // for so long the downstream knows the key, in these tests

func (l *life) claimSafe(token string, safe time.Duration) *life {
	l.t.Helper()
	c := claimed(token)
	c.RepeatSafe = safe
	return l.then(Claim(l.r, c, l.now))
}

// breakOff ends an attempt that was sent and never answered whole.
func (l *life) breakOff(token string) *life {
	l.t.Helper()
	s := settlement(token, Ambiguous, ByResponse, false)
	s.OnTheWay = true
	return l.then(Settle(l.r, s, l.now))
}

func (l *life) at(sinceFirst time.Duration) *life {
	l.now = epoch.Add(sinceFirst)
	return l
}

func (l *life) wants(state State, reason string, doubt bool) *life {
	l.t.Helper()
	if l.r.State != state || l.r.Reason != reason || l.r.Doubt != doubt {
		l.t.Fatalf("%s (%s), doubt %t, want %s (%s), %t", l.r.State, l.r.Reason, l.r.Doubt, state, reason, doubt)
	}
	return l
}

// What breaks off on the way is tried again while the downstream knows the key, and
// the doubt of it stays with the record, whatever the next attempts prove of themselves.
func TestRepeatSafe(t *testing.T) {
	key := newLife(t).claimSafe(earlier, safe).r.IdempotencyKey()
	l := newLife(t).claimSafe(earlier, safe).breakOff(earlier).wants(FailedRetryable, ReasonTimeout, true)
	l.claimSafe(delivery, safe).settle(delivery, FailedRetryable, ByResponse).wants(FailedRetryable, ReasonNotSent, true)
	l.claimSafe(execution, safe).report(execution).wants(FailedRetryable, ReasonReported, true)
	if l.r.Refused != 1 || l.r.Reported != 1 || l.r.IdempotencyKey() != key || key == "" {
		t.Fatalf("%d refused, %d reported, key %s, want %s", l.r.Refused, l.r.Reported, l.r.IdempotencyKey(), key)
	}
	// To the instant at which an attempt's deadline is the end.
	last := *l
	last.at(safe-attemptLasts).claimSafe("last", safe).wants(Processing, ReasonDelivery, true)
	last.settle("last", Completed, ByResponse).wants(Completed, ReasonResponse, true)
	late := *l
	late.at(safe-attemptLasts+1).claimSafe("late", safe).wants(Ambiguous, ReasonRepeatOver, true)
	if late.r.Attempt != 3 || !late.r.SettledAt.Equal(late.now.Add(-time.Second)) {
		t.Errorf("attempt %d, settled %v", late.r.Attempt, late.r.SettledAt)
	}
}

// Doubt is what an attempt's own proof does not take away once the key is forgotten.
func TestRepeatSafeIsOver(t *testing.T) {
	inDoubt := func() *life { return newLife(t).claimSafe(earlier, safe).breakOff(earlier) }
	lateRetry := func() *life { return inDoubt().at(safe-attemptLasts).claimSafe(delivery, safe).at(safe) }
	newLife(t).claimSafe(earlier, safe).at(safe-1).breakOff(earlier).wants(FailedRetryable, ReasonTimeout, true)
	newLife(t).claimSafe(earlier, safe).at(safe).breakOff(earlier).wants(Ambiguous, ReasonTimeout, false)
	lateRetry().settle(delivery, FailedRetryable, ByResponse).wants(Ambiguous, ReasonRepeatOver, true)
	lateRetry().report(delivery).wants(Ambiguous, ReasonRepeatOver, true)
	lateRetry().breakOff(delivery).wants(Ambiguous, ReasonTimeout, true)
	if _, err := Claim(inDoubt().at(safe).claimSafe(delivery, safe).r, claimed("more"), epoch.Add(safe)); err == nil {
		t.Error("claimed again though ambiguous")
	}

	// For whoever reads it, from that instant on.
	l := inDoubt()
	if _, err := Lapse(l.r, true, epoch.Add(safe-1)); err == nil {
		t.Error("lapsed too early")
	}
	if !l.r.DueAt().Equal(epoch.Add(safe)) {
		t.Errorf("due at %v, want %v", l.r.DueAt(), epoch.Add(safe))
	}
	l.at(safe).then(Lapse(l.r, false, epoch.Add(safe))).wants(Ambiguous, ReasonRepeatOver, true)
	if !l.r.DueAt().IsZero() {
		t.Errorf("what is ambiguous is due at %v", l.r.DueAt())
	}
	// Without a doubt there is no end: nothing has reached the downstream.
	l = newLife(t).claimSafe(earlier, safe).settle(earlier, FailedRetryable, ByResponse)
	if _, err := Lapse(l.r, true, epoch.Add(2*safe)); err == nil || !l.r.DueAt().IsZero() {
		t.Errorf("lapsed without a doubt: %v, due at %v", err, l.r.DueAt())
	}
	l.at(2*safe).claimSafe(delivery, safe).wants(Processing, ReasonDelivery, false).
		breakOff(delivery).wants(Ambiguous, ReasonTimeout, false)
}

// The end is counted from the first claim of the generation, whoever claims later.
func TestRepeatSafeIsCountedFromTheFirstClaim(t *testing.T) {
	end := func(l *life) time.Duration { return l.r.RepeatUntil.Sub(epoch) }
	l := newLife(t).claimSafe(earlier, safe).settle(earlier, FailedRetryable, ByResponse).at(time.Minute).claimSafe(delivery, safe)
	if end(l) != safe {
		t.Errorf("after an attempt that was not sent: the end is %v after the first claim", end(l))
	}
	l.breakOff(delivery).at(2*time.Minute).claimSafe(execution, safe)
	if end(l) != safe {
		t.Errorf("after one that broke off: the end is %v after the first claim", end(l))
	}
	// A configuration that is changed meanwhile brings the end forward only.
	inDoubt := func() *life { return newLife(t).claimSafe(earlier, safe).breakOff(earlier).at(time.Minute) }
	if l := inDoubt().claimSafe(delivery, 2*safe); end(l) != safe {
		t.Errorf("a longer repeat_safe: the end is %v after the first claim", end(l))
	}
	if l := inDoubt().claimSafe(delivery, safe/2); end(l) != safe/2 {
		t.Errorf("a shorter repeat_safe: the end is %v after the first claim", end(l))
	}
	inDoubt().claimSafe(delivery, 0).wants(Ambiguous, ReasonRepeatOver, true)
	// Set only now, it counts from the first claim as well.
	l = newLife(t).claimSafe(earlier, 0).settle(earlier, FailedRetryable, ByResponse).at(time.Minute).claimSafe(delivery, safe)
	if end(l) != safe {
		t.Errorf("repeat_safe since the second claim: the end is %v after the first", end(l))
	}

	// A rerun has another key, which is counted from its own first claim; a person's
	// word that nothing was done keeps the key.
	l = newLife(t).claimSafe(earlier, safe).settle(earlier, FailedRetryable, ByResponse).rerun().at(time.Hour).claimSafe(delivery, safe)
	if end(l) != time.Hour+safe {
		t.Errorf("after a rerun: the end is %v after the former generation's first claim", end(l))
	}
	l = inDoubt().at(safe).claimSafe(delivery, safe).resolve(FailedRetryable).claimSafe(execution, safe).wants(Processing, ReasonDelivery, false)
	if end(l) != safe {
		t.Errorf("after a person's word: the end is %v after the first claim", end(l))
	}
	// A backup does not know when its key was used.
	l = inDoubt().distrust().resolve(FailedRetryable).claimSafe(execution, safe)
	if !l.r.RepeatUntil.IsZero() {
		t.Errorf("after a restore the end is %v", l.r.RepeatUntil)
	}
	l.breakOff(execution).wants(Ambiguous, ReasonTimeout, false)
}

// Once an execution has bound itself, only it knows: the delivery's connection breaks
// off without meaning.
func TestRepeatSafeIsNotForBoundAttempts(t *testing.T) {
	newLife(t).claimSafe(delivery, safe).bind(delivery, execution).breakOff(delivery).wants(Ambiguous, ReasonTimeout, false)
}

// What a former attempt may have acted on stays known under its content.
func TestRepeatSafeKeepsTheContentInDoubt(t *testing.T) {
	l := newLife(t).claimSafe(earlier, safe).breakOff(earlier)
	c := claimed(delivery)
	c.RepeatSafe, c.Aliases = safe, []Alias{{AliasFingerprint, "another body"}}
	l.then(Claim(l.r, c, l.now))
	found := map[string]int{}
	for _, a := range l.r.Aliases {
		if a.Kind == AliasFingerprint {
			found[a.Value]++
		}
	}
	if len(found) != 2 || found["body"] != 1 || found["another body"] != 1 {
		t.Errorf("found by %v", found)
	}
}
