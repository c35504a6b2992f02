package caddymodule

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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

// Condition looks at n8n's answer: at a header, or at a member of its JSON body.
type Condition struct {
	Header string `json:"header,omitempty"`
	Path   string `json:"path,omitempty"` // of a JSON member, as in key json
	Value  string `json:"value"`          // its text: true, 12 and "12" are written true, 12, 12
}

// answerRule and condition are their compiled forms.
type answerRule struct {
	status     []int
	conditions []*condition
	then       store.State
}

type condition struct {
	header string
	member *keyextract.Member
	value  string
}

func (c *Condition) compile() (*condition, error) {
	if (c.Header == "") == (c.Path == "") {
		return nil, errors.New("a condition is about either a header or a JSON member")
	}
	compiled := &condition{header: c.Header, value: c.Value}
	if c.Path != "" {
		member, err := keyextract.CompileMember(c.Path)
		if err != nil {
			return nil, fmt.Errorf("json %s: %w", c.Path, err)
		}
		compiled.member = member
	}
	return compiled, nil
}

func (c *condition) holds(ex *exchange) bool {
	if c.member == nil {
		values := ex.header.Values(c.header)
		return len(values) == 1 && values[0] == c.value
	}
	text, ok := c.member.Text(ex.body)
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
	j.sandbox, j.repeatSafe, j.proof = o.Sandbox, time.Duration(o.RepeatSafe), proofOf(upstream)
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
