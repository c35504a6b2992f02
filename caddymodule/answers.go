package caddymodule

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/store"
)

// What a webhook may believe of n8n's mark on the answers of workflows.
const (
	sandboxRequired = "required"
	sandboxAssumed  = "assumed"
	sandboxAbsent   = "absent"
)

// ResponseRule says what an answer of the workflow means.
type ResponseRule struct {
	// The statuses that it is about.
	Status []int `json:"status"`

	// What else must hold, all of it.
	When []Condition `json:"when,omitempty"`

	// "completed", "failed_retryable" (the workflow knows that it did not act; uses
	// up max_attempts), or "ambiguous".
	Then string `json:"then"`
}

// Place is a part of n8n's answer: a header, or a member of its JSON body. Empty, where
// it may be, it is none.
type Place struct {
	Header string `json:"header,omitempty"`
	Path   string `json:"path,omitempty"` // of a JSON member, as in key json
}

// Condition compares a part of n8n's answer.
type Condition struct {
	Place
	Value string `json:"value,omitempty"` // its text: true, 12 and "12" are written true, 12, 12
}

// answerRule and condition are their compiled forms.
type answerRule struct {
	status     []int
	conditions []*condition
	then       store.State
}

type condition struct {
	place
	value string
}

type place struct {
	header string
	member *keyextract.Member
}

func (p *Place) compile() (compiled place, err error) {
	if (p.Header == "") == (p.Path == "") {
		return compiled, errors.New("a part of the answer is either a header or a JSON member")
	}
	if p.Header != "" {
		if err := checkHeaderName(p.Header); err != nil {
			return compiled, err
		}
	}
	compiled.header = p.Header
	if p.Path != "" {
		if compiled.member, err = keyextract.CompileMember(p.Path); err != nil {
			return compiled, fmt.Errorf("json %s: %w", p.Path, err)
		}
	}
	return compiled, nil
}

// text is what stands there, if it stands there once.
func (p *place) text(ex *exchange) (string, bool) {
	if p.member != nil {
		return p.member.Text(ex.body)
	}
	values := ex.header.Values(p.header)
	return strings.Join(values, ""), len(values) == 1
}

func (c *Condition) compile() (*condition, error) {
	p, err := c.Place.compile()
	return &condition{p, c.Value}, err
}

func (c *condition) holds(ex *exchange) bool {
	text, ok := c.text(ex)
	return ok && text == c.value
}

func (r *ResponseRule) compile() (rule answerRule, err error) {
	if len(r.Status) == 0 {
		return rule, errors.New("on_response needs a status")
	}
	for _, status := range r.Status {
		if status < 200 || status > 599 {
			return rule, fmt.Errorf("on_response %d: no final HTTP status", status)
		}
	}
	rule.status = r.Status
	if rule.then, _ = store.ParseState(r.Then); rule.then == store.Gone || rule.then == store.Processing {
		return rule, fmt.Errorf("on_response … %q: must end in completed, failed_retryable or ambiguous", r.Then)
	}
	for _, when := range r.When {
		c, err := when.compile()
		if err != nil {
			return rule, fmt.Errorf("on_response: %w", err)
		}
		rule.conditions = append(rule.conditions, c)
	}
	return rule, nil
}

// judge compiles what o says about n8n's answers.
func (o *Options) judge(forward string) (j judge, err error) {
	j.sandbox, j.forward = o.Sandbox, forward
	for _, r := range o.OnResponse {
		rule, err := r.compile()
		if err != nil {
			return j, err
		}
		j.rules = append(j.rules, rule)
	}
	if o.CompleteWhen != nil && *o.CompleteWhen != (Condition{}) {
		if j.completeWhen, err = o.CompleteWhen.compile(); err != nil {
			return j, fmt.Errorf("complete_when: %w", err)
		}
	}
	return j, nil
}

// marker is an n8n that has shown that it marks what a workflow answers, so that what
// it does not mark is its own word. It is one server: behind one forward there may be
// several, of several versions, while one after the other is updated.
type marker struct {
	forward  string // the configuration
	upstream string // as attempt has it
}

// markers hold for this process's life, over reloads.
var markers sync.Map

func (m marker) shows()      { markers.Store(m, true) }
func (m marker) shown() bool { _, ok := markers.Load(m); return ok }

// checkSandbox refuses words that are none.
func checkSandbox(word string) error {
	switch word {
	case "", sandboxRequired, sandboxAssumed, sandboxAbsent:
		return nil
	}
	return fmt.Errorf("n8n_sandbox %q: must be required, assumed or absent", word)
}
