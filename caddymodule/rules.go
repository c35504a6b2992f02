package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/store"
)

// ruleOperation holds the key rule of every operation: how its event keys are
// made. Under another rule an event that was carried out would look new.
const ruleOperation = ".rule"

// operation is one protected action, and what all its webhooks say of it.
type operation struct {
	name     string
	webhook  string // the whole configuration of the webhook that named it first
	explicit bool   // its name is written out
	shared   bool   // several webhooks write it: method and path tell no events apart
	rule     string // how its event keys are made
	former   string // key_changed from: how they were made before; empty: they were not
	fresh    bool   // key_changed fresh: the user accepts that old events are new
	was      []string
}

// join adds what another webhook that writes the same operation says.
func (o *operation) join(other *operation) {
	o.shared = true
	o.rule, o.former = joined(o.rule, other.rule), joined(o.former, other.former)
	o.fresh = o.fresh || other.fresh
	for _, was := range other.was {
		if !slices.Contains(o.was, was) {
			o.was = append(o.was, was)
		}
	}
}

// joined is the rule of webhooks with different rules, in whatever order they come.
func joined(a, b string) string {
	rules := slices.Compact(slices.Sorted(slices.Values(append(strings.Split(a, "; "), b))))
	return strings.TrimPrefix(strings.Join(rules, "; "), "; ")
}

// identity is what the key rule, and its change, say about one event: the record's
// name, and the names that it may have had before.
func (o *operation) identity(key string, formerKey string) []store.ID {
	ids := []store.ID{{Operation: o.name, EventKey: key}}
	if formerKey != "" && formerKey != key {
		ids = append(ids, store.ID{Operation: o.name, EventKey: formerKey})
	}
	for _, was := range o.was {
		ids = append(ids, store.ID{Operation: was, EventKey: key})
		if formerKey != "" && formerKey != key {
			ids = append(ids, store.ID{Operation: was, EventKey: formerKey})
		}
	}
	return ids
}

// checkRules compares the configuration's operations with what the store
// remembers, and writes down what is new. It refuses a rule that changed unsaid,
// and records that nobody names any more.
func checkRules(ctx context.Context, s store.Store, operations []*operation, forget []string) error {
	known := slices.Clone(forget)
	for _, o := range operations {
		known = append(append(known, o.name), o.was...)
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		return fmt.Errorf("reading which operations the store knows: %w", err)
	}
	var orphaned []string
	for name := range stats.Records {
		if !slices.Contains(known, name) {
			orphaned = append(orphaned, name)
		}
	}
	if len(orphaned) > 0 {
		slices.Sort(orphaned)
		return fmt.Errorf("the store has records of %s, which no webhook names any more: say `operation_was` in the webhook that took it over, or `forget` in the global block", quoted(orphaned))
	}
	// First everything is checked, then everything is written: a configuration that
	// is refused changes nothing.
	for _, o := range operations {
		for _, name := range append([]string{o.name}, o.was...) {
			if len(stats.Records[name]) == 0 {
				continue // it has no events that could look new
			}
			if err := o.checkRule(ctx, s, name); err != nil {
				return err
			}
		}
	}
	return writeRules(ctx, s, operations)
}

// checkRule compares o's rule with the one that is remembered under name.
func (o *operation) checkRule(ctx context.Context, s store.Store, name string) error {
	have, err := s.Get(ctx, ruleID(name))
	if err != nil {
		return fmt.Errorf("reading the key rule of %q: %w", name, err)
	}
	stored := ruleText(have[0])
	switch {
	case stored == "" || stored == o.rule || o.fresh || stored == o.former:
		return nil
	case o.former != "":
		return fmt.Errorf("the event keys of %q were made of (%s), not of what `key_changed from` says (%s)", name, stored, o.former)
	}
	return fmt.Errorf("the event keys of %q were made of (%s), and are to be made of (%s): say `key_changed from` with the former rule, "+
		"or `key_changed fresh` if old events may be carried out again", name, stored, o.rule)
}

// writeRules remembers the rule of every operation.
func writeRules(ctx context.Context, s store.Store, operations []*operation) error {
	for _, o := range operations {
		have, err := s.Get(ctx, ruleID(o.name))
		if err == nil {
			_, err = store.Update(ctx, s, have, func(now time.Time, have []store.Record) ([]store.Change, error) {
				if ruleText(have[0]) == o.rule {
					return nil, nil
				}
				next := store.Record{
					ID: have[0].ID, State: store.Completed, Reason: "key_rule", SettledAt: now, // it never expires
					Receipt: &store.Receipt{Result: []byte(o.rule)},
				}
				return []store.Change{{Was: have[0].Version, Now: next}}, nil
			})
		}
		if err != nil {
			return fmt.Errorf("remembering the key rule of %q: %w", o.name, err)
		}
	}
	return nil
}

func ruleID(operation string) store.ID {
	return store.ID{Operation: ruleOperation, EventKey: operation}
}

func ruleText(r store.Record) string {
	if r.Receipt == nil {
		return ""
	}
	return string(r.Receipt.Result)
}

func quoted(names []string) string {
	for i, n := range names {
		names[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(names, ", ")
}

// KeyChanged says what a changed key rule means for events that the store knows.
type KeyChanged struct {
	// Old events count as new: they may be carried out again. Only if that is harmless.
	Fresh bool `json:"fresh,omitempty"`

	// The former rule. Events are looked up by their former key first.
	From []keyextract.Source `json:"from,omitempty"`
}

func (k *KeyChanged) validate() error {
	if k != nil && k.Fresh == (len(k.From) > 0) {
		return errors.New("key_changed: either fresh, or from with the former key lines")
	}
	return nil
}
