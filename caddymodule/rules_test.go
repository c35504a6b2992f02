package caddymodule

import (
	"path/filepath"
	"testing"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

// loads is what a store sees of one configuration after another.
func TestKeyRulesAreRemembered(t *testing.T) {
	byID := operation{name: "pay", rule: "json id"}
	byHeader := operation{name: "pay", rule: "header X"}
	with := func(o operation, change func(*operation)) operation { change(&o); return o }
	renamed := operation{name: "charge", rule: "json id"}
	for _, test := range []struct {
		name    string
		former  operation
		records bool // the former has an event
		now     []operation
		forget  []string
		want    string
	}{
		{"the same rule", byID, true, []operation{byID}, nil, ""},
		{"another rule, unsaid", byID, true, []operation{byHeader}, nil, `the event keys of "pay" were made of (json id), and are to be made of (header X)`},
		{"another rule, and no events", byID, false, []operation{byHeader}, nil, ""},
		{"another rule, fresh", byID, true, []operation{with(byHeader, func(o *operation) { o.fresh = true })}, nil, ""},
		{"another rule, from the former", byID, true, []operation{with(byHeader, func(o *operation) { o.former = "json id" })}, nil, ""},
		{"another rule, from a wrong one", byID, true, []operation{with(byHeader, func(o *operation) { o.former = "json other" })}, nil, "not of what `key_changed from` says (json other)"},
		{"an operation that is gone", byID, true, []operation{renamed}, nil, `the store has records of "pay", which no webhook names any more`},
		{"one without records", byID, false, []operation{renamed}, nil, ""},
		{"one that is forgotten", byID, true, []operation{renamed}, []string{"pay"}, ""},
		{"one that was renamed", byID, true, []operation{with(renamed, func(o *operation) { o.was = []string{"pay"} })}, nil, ""},
		{"renamed with another rule", byID, true, []operation{with(renamed, func(o *operation) { o.rule, o.was = "header X", []string{"pay"} })}, nil, `the event keys of "pay" were made of (json id)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := boltstore.Open(filepath.Join(t.TempDir(), "gate.db"), boltstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			wantError(t, checkRules(t.Context(), s, []*operation{&test.former}, nil), "")
			if test.records {
				event := store.Record{ID: store.ID{Operation: test.former.name, EventKey: "e1"}, State: store.Completed}
				if _, err := s.Apply(t.Context(), store.Change{Now: event}); err != nil {
					t.Fatal(err)
				}
			}
			now := make([]*operation, len(test.now))
			for i := range test.now {
				now[i] = &test.now[i]
			}
			wantError(t, checkRules(t.Context(), s, now, test.forget), test.want)
			if test.want != "" { // a refused configuration has changed nothing
				wantError(t, checkRules(t.Context(), s, []*operation{&test.former}, nil), "")
			} else { // an accepted one is the next one's former
				wantError(t, checkRules(t.Context(), s, now, test.forget), "")
			}
		})
	}
}

func TestOperationsThatAreShared(t *testing.T) {
	app := &App{operations: make(map[string]*operation)}
	a := &operation{name: "pay", webhook: "a", explicit: true, rule: "json id"}
	b := &operation{name: "pay", webhook: "b", explicit: true, rule: "header X"}
	for _, o := range []*operation{a, a, b, b} {
		if got, err := app.own(o); err != nil || got != a {
			t.Fatalf("%v %+v", err, got)
		}
	}
	if !a.shared || a.rule != "header X; json id" {
		t.Fatalf("shared %v, rule %q", a.shared, a.rule)
	}
}
