package caddymodule

import (
	"mime"
	"net/http"
	"slices"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// verdict is what an exchange proves: where the record goes, and why.
type verdict struct {
	to       store.State
	reason   string
	reported bool      // the workflow itself says that it failed: it uses up max_attempts
	onTheWay bool      // the exchange broke off: repeat_safe may let it be tried again
	internal bool      // the body is n8n's own error, with its stack trace: no sender sees it
	class    n8n.Class // of n8n's own answers; 0: none
	proven   bool      // auth upstream: the delivery is its sender's
	answer   string    // which of n8n's own answers it was, for the log
	hint     string    // which setting would have told more, for the log
}

// judge classifies the exchanges of one webhook.
type judge struct {
	sandbox      string       // n8n_sandbox
	forward      string       // the configuration of the way to n8n
	rules        []answerRule // on_response
	completeWhen *condition
}

// classify judges the exchange, and keeps for the log what it was.
func (d *delivery) classify(ex *exchange) verdict {
	v := d.hook.judge.classify(ex)
	if d.hook.upstream {
		v = v.fromUpstream(ex)
	}
	d.n8nAnswer, d.hint = v.answer, v.hint
	return v
}

// classify judges an exchange; the first match wins. Only what proves that the action
// did not begin may be tried again; doubt stops for a person.
func (j *judge) classify(ex *exchange) verdict {
	switch {
	case !ex.sent:
		return verdict{to: store.FailedRetryable, reason: store.ReasonNotSent}
	case !ex.complete && ex.timedOut:
		return verdict{to: store.Ambiguous, reason: store.ReasonTimeout, onTheWay: true}
	case !ex.complete:
		return verdict{to: store.Ambiguous, reason: store.ReasonInterrupted, onTheWay: true}
	}
	own := ex.toN8N()
	if n8n.ShowsSandbox(own) {
		j.marker(ex).shows()
	}
	row, recognised := n8n.Recognise(own)
	if ex.dropped || !recognised {
		row, recognised = n8n.Row{}, false
	}
	v := j.byAnswer(ex, own, row, recognised)
	v.class, v.answer, v.internal = row.Class, row.Name, j.hides(ex, row, recognised)
	return v
}

// marker is the n8n that answered.
func (j *judge) marker(ex *exchange) marker { return marker{j.forward, ex.upstream} }

// byAnswer judges a whole answer. n8n's words from before any execution come first,
// where they are proof; then what the user says; then the rest.
func (j *judge) byAnswer(ex *exchange, own n8n.Exchange, row n8n.Row, recognised bool) verdict {
	trusted := recognised && (j.sandbox == sandboxAssumed || j.sandbox == sandboxRequired && j.marker(ex).shown())
	before := row.Class == n8n.Refused || row.Class == n8n.Rejected
	if trusted && before {
		return byRow(row)
	}
	for _, rule := range j.rules {
		switch matches, unclear := rule.matches(ex); {
		case unclear: // its condition is about a body that could not be held
			return verdict{to: store.Ambiguous, reason: store.ReasonCondition}
		case matches && rule.then == store.Completed && before:
			// These may be n8n's words from before any execution: nothing was done then.
			return verdict{to: store.Ambiguous, reason: store.ReasonUnrecognised, hint: hintAssumed}
		case matches:
			return rule.verdict()
		}
	}
	if trusted {
		return byRow(row)
	}
	return j.byMark(ex, own, row, recognised)
}

// hides reports whether the body is n8n's own error, which may hold a stack trace.
func (j *judge) hides(ex *exchange, row n8n.Row, recognised bool) bool {
	if recognised {
		return row.Class != n8n.Filtered && row.Class != n8n.NoData
	}
	if n8n.FromWorkflow(ex.header) || ex.status < 400 {
		return false
	}
	_, traced := stackTrace.Text(ex.body)
	return traced || j.sandbox != sandboxAbsent // n8n 1.x marks no workflow's errors either
}

// stackTrace is the member with which n8n's error bodies tell too much.
var stackTrace = func() *keyextract.Member {
	m, err := keyextract.CompileMember("stacktrace")
	if err != nil {
		panic(err) // a constant
	}
	return m
}()

const hintAssumed = "n8n_sandbox assumed would take it for n8n's own answer: right for n8n from 2.11 and 1.123.50 on, which mark every answer of a workflow"

// byRow judges one of n8n's own answers, whose words are proof.
func byRow(row n8n.Row) verdict {
	v := verdict{to: store.Ambiguous, reason: store.ReasonErrorAnswer}
	switch row.Class {
	case n8n.Refused:
		v.to, v.reason = store.FailedRetryable, store.ReasonRefused
	case n8n.Rejected:
		v.to, v.reason = store.FailedRetryable, store.ReasonRejected
	case n8n.Filtered, n8n.NoData:
		v.to, v.reason = store.Completed, store.ReasonResponse
	}
	return v
}

// byMark judges by what the user knows of the workflow's answers, and by the sandbox
// CSP with which n8n marks them.
func (j *judge) byMark(ex *exchange, own n8n.Exchange, row n8n.Row, recognised bool) verdict {
	// Without a mark these words prove nothing, but they are no success either.
	doubt := recognised && row.Class != n8n.Filtered && row.Class != n8n.NoData
	completed := verdict{to: store.Completed, reason: store.ReasonResponse}
	switch {
	case n8n.FormNotFound(own): // n8n's own page, though it is marked
		return verdict{to: store.Ambiguous, reason: store.ReasonUnrecognised}
	case j.completeWhen != nil && j.completeWhen.holds(ex):
		return completed
	case j.completeWhen != nil:
		return verdict{to: store.Ambiguous, reason: store.ReasonCondition}
	case n8n.FromWorkflow(ex.header) && n8n.Settled(ex.status):
		return completed
	case n8n.FromWorkflow(ex.header):
		return verdict{to: store.Ambiguous, reason: store.ReasonErrorAnswer, hint: "on_response can say what this status means"}
	case j.sandbox == sandboxAbsent && speaks(ex) && !doubt:
		return completed
	}
	v := verdict{to: store.Ambiguous, reason: store.ReasonUnrecognised, hint: "on_response or complete_when can say what this answer means"}
	switch {
	case doubt && row.Class != n8n.Doubtful && j.sandbox == sandboxRequired:
		v.hint = hintAssumed
	case speaks(ex) && !doubt && j.sandbox != sandboxAbsent && !j.marker(ex).shown():
		v.hint = "n8n_sandbox absent would take it for the workflow's answer: right for n8n 1.x, which marks none"
	}
	return v
}

// speaks reports whether an unmarked answer can be a workflow's success.
func speaks(ex *exchange) bool {
	kind, _, _ := mime.ParseMediaType(ex.header.Get("Content-Type"))
	return ex.status >= 200 && ex.status < 300 && ex.status != http.StatusNoContent &&
		(len(ex.body) > 0 || ex.dropped) && kind != "text/html"
}

// matches reports whether an on_response rule is about this answer; unclear: it is
// but for a condition on a body that was dropped.
func (r *answerRule) matches(ex *exchange) (matches, unclear bool) {
	if !slices.Contains(r.status, ex.status) {
		return false, false
	}
	for _, c := range r.conditions {
		if c.member != nil && ex.dropped {
			unclear = true
		} else if !c.holds(ex) {
			return false, false
		}
	}
	return !unclear, unclear
}

func (r *answerRule) verdict() verdict {
	switch r.then {
	case store.Completed:
		return verdict{to: store.Completed, reason: store.ReasonResponse}
	case store.FailedRetryable:
		return verdict{to: store.FailedRetryable, reason: store.ReasonReported, reported: true}
	}
	return verdict{to: store.Ambiguous, reason: store.ReasonErrorAnswer}
}
