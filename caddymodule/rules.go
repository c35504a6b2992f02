package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	upstream bool   // its records are named by their content too
	keys     []keyRule
	was      []string

	comesBack time.Duration // after its last delivery, the sender may
}

// keyRule is how one webhook makes its event keys, as one line, and how it made
// them before.
type keyRule struct {
	rule   string
	former string // key_changed from; empty: as now
	fresh  bool   // key_changed fresh: the user accepts that old events are new
}

// join adds what another webhook that writes the same operation says.
func (o *operation) join(other *operation) {
	o.shared, o.comesBack = true, max(o.comesBack, other.comesBack)
	o.keys = append(o.keys, other.keys...)
	for _, was := range other.was {
		if !slices.Contains(o.was, was) {
			o.was = append(o.was, was)
		}
	}
}

// rule is the rules of all its webhooks, in whatever order they come. No rule holds a
// line break.
func (o *operation) rule() string {
	rules := make([]string, len(o.keys))
	for i, k := range o.keys {
		rules[i] = k.rule
	}
	slices.Sort(rules)
	return strings.Join(slices.Compact(rules), "\n")
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

// refusedRules is why a configuration cannot be used, to whoever asks what kind of
// fault it is: not the store's.
type refusedRules struct{ cause error }

func (r *refusedRules) Error() string        { return r.cause.Error() }
func (r *refusedRules) Unwrap() error        { return r.cause }
func (r *refusedRules) Is(target error) bool { return target == errOutdated }

// checkRules compares the configuration's operations with what the store
// remembers, and writes down what is new. It refuses a rule that changed unsaid,
// and records that nobody names any more; then it has changed nothing.
func checkRules(ctx context.Context, s store.Store, operations []*operation, forget []string) error {
	stats, err := s.Stats(ctx)
	if err != nil {
		return fmt.Errorf("reading which operations the store knows: %w", err)
	}
	named := slices.Clone(forget)
	for _, o := range operations {
		named = append(named, o.name)
	}
	for _, o := range operations {
		for _, was := range o.was {
			if slices.Contains(named, was) {
				return fmt.Errorf("operation_was %s: that operation is another webhook's, or forgotten", was)
			}
			named = append(named, was)
		}
	}
	var orphaned []string
	for name := range stats.Records {
		if !slices.Contains(named, name) {
			orphaned = append(orphaned, strconv.Quote(name))
		}
	}
	if len(orphaned) > 0 {
		slices.Sort(orphaned)
		return fmt.Errorf("the store has records of %s, which no webhook names any more: say `operation_was` in the webhook that took it over, "+
			"or `forget` in the global block", strings.Join(orphaned, ", "))
	}
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
	if stored == "" {
		return nil
	}
	rules := strings.Split(stored, "\n")
	for _, k := range o.keys {
		switch {
		case slices.Contains(rules, k.rule) || k.fresh || k.former != "" && slices.Contains(rules, k.former):
		case k.former != "":
			return fmt.Errorf("the event keys of %q were made of (%s), not of what `key_changed from` says (%s)", name, strings.Join(rules, "; "), k.former)
		default:
			return fmt.Errorf("the event keys of %q were made of (%s), and are to be made of (%s): say `key_changed from` with the former rule, "+
				"or `key_changed fresh` if old events may be carried out again", name, strings.Join(rules, "; "), k.rule)
		}
	}
	return nil
}

// writeRules remembers the rule of every operation, all or none.
func writeRules(ctx context.Context, s store.Store, operations []*operation) error {
	if len(operations) == 0 {
		return nil
	}
	ids := make([]store.ID, len(operations))
	for i, o := range operations {
		ids[i] = ruleID(o.name)
	}
	have, err := s.Get(ctx, ids...)
	if err == nil {
		_, err = store.Update(ctx, s, have, func(now time.Time, have []store.Record) (changes []store.Change, _ error) {
			for i, o := range operations {
				if ruleText(have[i]) == o.rule() {
					continue
				}
				changes = append(changes, store.Change{Was: have[i].Version, Now: store.Record{
					ID: ids[i], State: store.Completed, Reason: "key_rule", SettledAt: now, // it never expires
					Receipt: &store.Receipt{Result: []byte(o.rule())},
				}})
			}
			return changes, nil
		})
	}
	if err != nil {
		return fmt.Errorf("remembering how event keys are made: %w", err)
	}
	return nil
}

// rulesText is all that names events in a configuration, to compare it with another.
func rulesText(operations []*operation) string {
	var b strings.Builder
	for _, o := range operations {
		fmt.Fprintf(&b, "%q was %q\n", o.name, o.was)
		for _, k := range o.keys {
			fmt.Fprintf(&b, "\t%s from %s\n", k.rule, k.former)
		}
	}
	return b.String()
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
