package store_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/n8n-gate/n8n-gate/store"
)

const ownKey = "evt_1"

// unproven is a claim of an event whose sender only n8n can authenticate.
func (l *life) unproven(token string) *life {
	c := claimed(token)
	c.Unproven = ownKey
	return l.then(Claim(l.r, c, l.now))
}

// Whatever shows that n8n let the sender in makes the record findable by the event's
// own key, once; whatever leaves that open does not.
func TestProof(t *testing.T) {
	alias := EventAlias(ID{event.Operation, ownKey})
	told := func(l *life, to State, proven bool) {
		s := settlement(delivery, to, ByResponse, false)
		s.Proven = proven
		l.then(Settle(l.r, s, l.now))
	}
	tests := []struct {
		name   string
		build  func(*life)
		proven bool
	}{
		{"claimed", func(*life) {}, false},
		{"completed", func(l *life) { told(l, Completed, false) }, true},
		{"in doubt", func(l *life) { told(l, Ambiguous, false) }, false},
		{"in doubt after the sender was let in", func(l *life) { told(l, Ambiguous, true) }, true},
		{"failed after the sender was let in", func(l *life) { told(l, FailedRetryable, true) }, true},
		{"lapsed", func(l *life) { l.lapse() }, false},
		{"lapsed, found done", func(l *life) { l.lapse().resolve(Completed) }, true},
		{"lapsed, found not done", func(l *life) { l.lapse().resolve(FailedRetryable) }, false},
		{"lapsed, late evidence", func(l *life) { l.lapse(); told(l, Completed, false) }, true},
		{"completed and run again", func(l *life) { told(l, Completed, false); l.rerun() }, true},
		{"proven, and tried again", func(l *life) { told(l, FailedRetryable, true); l.unproven("second") }, true},
		{"not proven, and tried again", func(l *life) { l.lapse().resolve(FailedRetryable); l.unproven("second") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLife(t).unproven(delivery)
			tt.build(l)
			found := slices.Contains(l.r.Aliases, alias)
			if (l.r.Unproven == "") != tt.proven || found != tt.proven {
				t.Errorf("unproven %q, found by the event's key: %v; want proven: %v", l.r.Unproven, found, tt.proven)
			}
		})
	}
}

// A settlement to Gone is an undone claim; evidence from a workflow cannot undo one.
func TestSettleUndoes(t *testing.T) {
	l := newLife(t).unproven(delivery)
	s := settlement(delivery, Gone, ByResponse, false)
	if r, err := Settle(l.r, s, l.now); err != nil || r.State != Gone || len(r.Aliases) > 0 || r.Unproven != "" {
		t.Errorf("%v, %+v", err, r)
	}
	s.Evidence = ByReceipt
	if r, err := Settle(l.r, s, l.now); err == nil {
		t.Errorf("a receipt undid the claim: %v", r.State)
	}
}

// Of two contents under one key that n8n lets in, the first holds the key; the second
// is settled all the same.
func TestUpdateProof(t *testing.T) {
	m := newMemory()
	settle := func(key, token string) Record {
		c := claimed(token)
		c.Aliases, c.Unproven = nil, ownKey
		r, err := Claim(Record{ID: named(key)}, c, epoch)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := m.Apply(t.Context(), Change{Now: r})
		if err != nil {
			t.Fatal(err)
		}
		have, err := UpdateProof(t.Context(), m, stored, func(now time.Time, have []Record) ([]Change, error) {
			next, err := Settle(have[0], settlement(token, Completed, ByResponse, false), now)
			return []Change{{Was: have[0].Version, Now: next}}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return have[0]
	}
	first, second := settle("one", "a"), settle("two", "b")
	alias := EventAlias(ID{named("one").Operation, ownKey})
	for i, r := range []Record{first, second} {
		if r.State != Completed || r.Unproven != "" || slices.Contains(r.Aliases, alias) != (i == 0) {
			t.Errorf("record %d: %+v", i, r)
		}
	}
}
