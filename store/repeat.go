package store

import "time"

// Trying again in doubt. An attempt that broke off may have acted; another one is
// harmless while the downstream knows the generation's idempotency key and does not
// act on it again. So the record carries the doubt (Doubt) and its end (RepeatUntil):
// Claim lets no attempt begin that could outlast the end, Settle and Lapse turn what
// is in doubt past it into ambiguous. The end is counted from the first claim, which
// no use of the key can come before.

// keyUsed notes since when the generation's idempotency key may be known downstream,
// and until when it is. A configuration that changes between two attempts can bring
// the end forward, never put it off: what was promised before is what a doubt rests on.
func (r *Record) keyUsed(was Record, safe time.Duration, now time.Time) {
	begins := was.State == Gone || was.Reason == ReasonRerun // nothing was sent with this key yet
	if begins {
		r.KeyedAt = now
	}
	until := r.KeyedAt.Add(safe)
	switch {
	case safe <= 0 || r.KeyedAt.IsZero():
		until = time.Time{}
	case was.Doubt && was.RepeatUntil.Before(until):
		until = was.RepeatUntil
	}
	r.RepeatUntil = until
}
