package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/n8n-gate/n8n-gate/keyextract"
)

// Shape is one kind of delivery that a sender makes, and what names its events.
// Most senders have one; some send several to the same URL.
type Shape struct {
	// Name tells the shapes of a preset apart in errors and documentation. Empty
	// for the only one.
	Name string

	// When says, all of it, which deliveries have the shape. At most one shape of a
	// preset may apply to a delivery: what two of them fit is refused.
	When []Condition

	// Key are the parts of the event key. A preset's parts never change under its
	// name: stored events would look new.
	Key []keyextract.Source
}

// Condition is about one place of a request. Without Is, Not and Absent: something
// stands there, well-formed or not.
type Condition struct {
	keyextract.Source

	// Is are the texts that it must have, one of them: a string's, or what is written
	// for a number, true, false or null.
	Is []string

	// Not are the texts that it must not have; something must be there, save with
	// OrAbsent.
	Not      []string
	OrAbsent bool

	// Absent: nothing is there.
	Absent bool
}

// String is the condition in words: "json statuses.0.id is there".
func (c Condition) String() string {
	switch {
	case c.Absent:
		return c.Source.String() + " is absent"
	case len(c.Is) > 0:
		return c.Source.String() + " is " + strings.Join(c.Is, " or ")
	case c.OrAbsent:
		return c.Source.String() + " is not " + strings.Join(c.Not, " or ")
	case len(c.Not) > 0:
		return c.Source.String() + " is there and not " + strings.Join(c.Not, " or ")
	}
	return c.Source.String() + " is there"
}

// place is one place of a request, compiled.
type place struct{ rule *keyextract.Rule }

func compilePlace(s keyextract.Source) (place, error) {
	rule, err := keyextract.Compile([]keyextract.Source{s})
	return place{rule}, err
}

// text is what stands there. The path's segments belong to keys alone.
func (p place) text(in keyextract.Input) (string, error) {
	in.Segments = nil
	key, err := p.rule.Extract(in)
	if err != nil {
		return "", err
	}
	return key.Parts()[0], nil
}

// condition is a compiled Condition.
type condition struct {
	Condition
	place  place
	member *keyextract.Member // of a JSON place: its text whatever its type
}

func (c Condition) compile() (compiled condition, err error) {
	compiled.Condition = c
	if compiled.place, err = compilePlace(c.Source); err != nil {
		return compiled, err
	}
	if c.Kind == keyextract.KindJSON {
		compiled.member, err = keyextract.CompileMember(c.Path)
	}
	return compiled, err
}

// holds looks at the one place. What is malformed counts as being there: the shape
// then applies, and its key says what is wrong.
func (c *condition) holds(in keyextract.Input) bool {
	text, err := c.place.text(in)
	var bad *keyextract.Error
	missing := errors.As(err, &bad) && bad.Missing
	if c.Absent || missing {
		return missing && (c.Absent || c.OrAbsent)
	}
	if c.member != nil {
		text, _ = c.member.Text(in.Body)
	}
	if len(c.Is) > 0 {
		return slices.Contains(c.Is, text)
	}
	return !slices.Contains(c.Not, text)
}

// Key is a preset's key rule, ready for use. It has the methods of a
// keyextract.Rule and is safe for concurrent use.
type Key struct {
	preset string
	shapes []shape
}

type shape struct {
	name string
	when []condition
	rule *keyextract.Rule
}

// Key compiles the preset's key rule for a path with so many wildcards, whose
// segments precede the parts in every key.
func (p *Preset) Key(wildcards int) (*Key, error) {
	if len(p.Shapes) == 0 {
		return nil, fmt.Errorf("provider %s has no key of its own: say with `key` where it stands in a delivery", p.Name)
	}
	k := &Key{preset: p.Name}
	for _, s := range p.Shapes {
		compiled := shape{name: s.Name}
		for _, c := range s.When {
			ready, err := c.compile()
			if err != nil {
				return nil, fmt.Errorf("provider %s, %s: %w", p.Name, c, err)
			}
			compiled.when = append(compiled.when, ready)
		}
		rule, err := keyextract.CompileForPath(wildcards, s.Key)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Name, err)
		}
		compiled.rule = rule
		k.shapes = append(k.shapes, compiled)
	}
	return k, nil
}

// Extract reads the key. Its error is always a *keyextract.Error. A delivery that no
// shape fits has no key; one that two fit is malformed, since it carries two events.
func (k *Key) Extract(in keyextract.Input) (keyextract.Key, error) {
	var found *shape
	for i := range k.shapes {
		s := &k.shapes[i]
		switch {
		case !s.applies(in):
		case found != nil:
			return keyextract.Key{}, k.two(found, s, in)
		default:
			found = s
		}
	}
	if found != nil {
		return found.rule.Extract(in)
	}
	return keyextract.Key{}, k.none(in)
}

// two is the error for a delivery that two shapes fit: it carries two events, or its
// body cannot be read at all.
func (k *Key) two(one, other *shape, in keyextract.Input) error {
	var bad *keyextract.Error
	if _, err := one.rule.Extract(in); errors.As(err, &bad) && !bad.Missing {
		return bad
	}
	return &keyextract.Error{Where: "provider " + k.preset, Err: fmt.Errorf("the delivery is both %s and %s: a batch", one.name, other.name)}
}

func (s *shape) applies(in keyextract.Input) bool {
	for i := range s.when {
		if !s.when[i].holds(in) {
			return false
		}
	}
	return true
}

// none is the error for a delivery that no shape fits. It may pass as a ping only if
// every shape would find nothing at all.
func (k *Key) none(in keyextract.Input) error {
	none := &keyextract.Error{
		Where: "provider " + k.preset, Err: errors.New("the delivery is none of those whose events have a name"), Missing: true, All: true,
	}
	for i := range k.shapes {
		var bad *keyextract.Error
		if _, err := k.shapes[i].rule.Extract(in); !errors.As(err, &bad) || !bad.All {
			none.All = false
		}
	}
	return none
}

// ReadsBody reports whether the key or the choice of the shape needs the body.
func (k *Key) ReadsBody() bool {
	return slices.ContainsFunc(k.shapes, func(s shape) bool {
		return s.rule.ReadsBody() || slices.ContainsFunc(s.when, func(c condition) bool { return c.place.rule.ReadsBody() })
	})
}

// String is the rule as one line, to be stored and compared. A preset with one
// shape prints like its key lines written out, so that a user may change from one
// to the other. One with several prints its name: its parts never change under it.
func (k *Key) String() string {
	if len(k.shapes) == 1 && len(k.shapes[0].when) == 0 {
		return k.shapes[0].rule.String()
	}
	return "provider " + k.preset
}
