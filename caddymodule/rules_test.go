package caddymodule

import (
	"path/filepath"
	"testing"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

func keyed(name string, keys ...keyRule) operation { return operation{name: name, keys: keys} }

func TestKeyRulesAreRemembered(t *testing.T) {
	id, header := keyRule{rule: "json id"}, keyRule{rule: "header X"}
	fresh := func(k keyRule) keyRule { k.fresh = true; return k }
	from := func(k keyRule, former string) keyRule { k.former = former; return k }
	was := func(o operation, names ...string) operation { o.was = names; return o }
	for _, test := range []struct {
		name    string
		former  operation
		records bool // the former has an event
		now     []operation
		forget  []string
		want    string
	}{
		{"the same rule", keyed("pay", id), true, []operation{keyed("pay", id)}, nil, ""},
		{"another rule, unsaid", keyed("pay", id), true, []operation{keyed("pay", header)}, nil, `the event keys of "pay" were made of (json id), and are to be made of (header X)`},
		{"another rule, and no events", keyed("pay", id), false, []operation{keyed("pay", header)}, nil, ""},
		{"another rule, fresh", keyed("pay", id), true, []operation{keyed("pay", fresh(header))}, nil, ""},
		{"another rule, from the former", keyed("pay", id), true, []operation{keyed("pay", from(header, "json id"))}, nil, ""},
		{"another rule, from a wrong one", keyed("pay", id), true, []operation{keyed("pay", from(header, "json other"))}, nil, "not of what `key_changed from` says (json other)"},
		{"shared, and one changes from its former", keyed("pay", id, header), true, []operation{keyed("pay", id, from(keyRule{rule: "header Y"}, "header X"))}, nil, ""},
		{"shared, and one changes unsaid", keyed("pay", id, header), true, []operation{keyed("pay", fresh(id), keyRule{rule: "header Y"})}, nil, "are to be made of (header Y)"},
		{"shared, in another order", keyed("pay", id, header), true, []operation{keyed("pay", header, id)}, nil, ""},
		{"an operation that is gone", keyed("pay", id), true, []operation{keyed("charge", id)}, nil, `the store has records of "pay", which no webhook names any more`},
		{"one without records", keyed("pay", id), false, []operation{keyed("charge", id)}, nil, ""},
		{"one that is forgotten", keyed("pay", id), true, []operation{keyed("charge", id)}, []string{"pay"}, ""},
		{"one that was renamed", keyed("pay", id), true, []operation{was(keyed("charge", id), "pay")}, nil, ""},
		{"renamed with another rule", keyed("pay", id), true, []operation{was(keyed("charge", header), "pay")}, nil, `the event keys of "pay" were made of (json id)`},
		{"renamed to what is still there", keyed("pay", id), true, []operation{was(keyed("charge", id), "pay"), keyed("pay", id)}, nil, "operation_was pay: that operation is another webhook's"},
		{"renamed to two", keyed("pay", id), true, []operation{was(keyed("a", id), "pay"), was(keyed("b", id), "pay")}, nil, "operation_was pay: that operation is another webhook's"},
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
	a := &operation{name: "pay", webhook: "a", explicit: true, keys: []keyRule{{rule: "json id"}}}
	b := &operation{name: "pay", webhook: "b", explicit: true, keys: []keyRule{{rule: "header X"}}}
	for _, o := range []*operation{a, a, b} {
		if got, err := app.own(o); err != nil || got != a {
			t.Fatalf("%v %+v", err, got)
		}
	}
	if !a.shared || a.rule() != "header X\njson id" {
		t.Fatalf("shared %v, rule %q", a.shared, a.rule())
	}
}
