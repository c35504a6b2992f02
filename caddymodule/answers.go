package caddymodule

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

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

// Place is a part of n8n's answer: a header, or a member of its JSON body.
type Place struct {
	Header string `json:"header,omitempty"`
	Path   string `json:"path,omitempty"` // of a JSON member, as in key json
}

// Condition compares a part of n8n's answer.
type Condition struct {
	Place
	Value string `json:"value"` // its text: true, 12 and "12" are written true, 12, 12
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
func (o *Options) judge(upstream string) (j judge, err error) {
	j.sandbox, j.proof = o.Sandbox, proofOf(upstream)
	for _, r := range o.OnResponse {
		rule, err := r.compile()
		if err != nil {
			return j, err
		}
		j.rules = append(j.rules, rule)
	}
	if o.CompleteWhen != nil {
		if j.completeWhen, err = o.CompleteWhen.compile(); err != nil {
			return j, fmt.Errorf("complete_when: %w", err)
		}
	}
	return j, nil
}

// proof is that an upstream marks what a workflow answers, so that what is not
// marked is n8n's own word.
type proof struct{ shown atomic.Bool }

// proofs hold for this process's life, over reloads: by the forward configuration.
var proofs sync.Map

func proofOf(upstream string) *proof {
	p, _ := proofs.LoadOrStore(upstream, new(proof))
	return p.(*proof)
}

// checkSandbox refuses words that are none.
func checkSandbox(word string) error {
	switch word {
	case "", sandboxRequired, sandboxAssumed, sandboxAbsent:
		return nil
	}
	return fmt.Errorf("n8n_sandbox %q: must be required, assumed or absent", word)
}
