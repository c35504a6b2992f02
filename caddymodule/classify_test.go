package caddymodule

import (
	"net/http"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/signature"
	"github.com/n8n-gate/n8n-gate/store"
)

// answered is a whole answer of n8n to a POST of webhook demo.
func answered(status int, body string, header ...string) *exchange {
	h := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &exchange{
		sent: true, complete: true, status: status, header: h, body: []byte(body),
		method: http.MethodPost, prefix: "/webhook", path: "demo",
	}
}

// byWorkflow is an answer with n8n's mark.
func byWorkflow(status int, body string, header ...string) *exchange {
	return answered(status, body, append(header, "Content-Security-Policy", n8n.SandboxCSP)...)
}

func untyped(ex *exchange) *exchange {
	ex.header.Del("Content-Type")
	return ex
}

const notRegistered = `{"code":404,"message":"The requested webhook \"POST demo\" is not registered.","hint":"The workflow must be active for a production URL to run successfully. You can activate the workflow using the toggle in the top-right of the editor. Note that unlike test URL calls, production URL calls aren't shown on the canvas (only in the executions list)"}`

func TestClassify(t *testing.T) {
	form := "Content-Type"
	for _, test := range []struct {
		name    string
		options Options
		shown   bool // the upstream has shown that it marks
		ex      *exchange
		to      store.State
		reason  string
	}{
		{"no connection", Options{}, false, &exchange{}, store.FailedRetryable, store.ReasonNotSent},
		{"no connection in time", Options{}, false, &exchange{timedOut: true}, store.FailedRetryable, store.ReasonNotSent},
		{"no answer in time", Options{}, false, &exchange{sent: true, timedOut: true}, store.Ambiguous, store.ReasonTimeout},
		{"a broken connection", Options{}, false, &exchange{sent: true}, store.Ambiguous, store.ReasonInterrupted},
		{"half an answer", Options{}, false, &exchange{sent: true, status: 200, header: byWorkflow(200, "").header}, store.Ambiguous, store.ReasonInterrupted},
		{"a whole one as time ran out", Options{}, false, func() *exchange { ex := byWorkflow(200, "x"); ex.timedOut = true; return ex }(), store.Completed, store.ReasonResponse},

		{"a workflow's 200", Options{}, false, byWorkflow(200, `{}`), store.Completed, store.ReasonResponse},
		{"its redirect", Options{}, false, byWorkflow(307, ``), store.Completed, store.ReasonResponse},
		{"its 404", Options{}, false, byWorkflow(404, `{}`), store.Completed, store.ReasonResponse},
		{"its 408", Options{}, false, byWorkflow(408, ``), store.Ambiguous, store.ReasonErrorAnswer},
		{"its 409", Options{}, false, byWorkflow(409, ``), store.Ambiguous, store.ReasonErrorAnswer},
		{"its 423", Options{}, false, byWorkflow(423, ``), store.Ambiguous, store.ReasonErrorAnswer},
		{"its 425", Options{}, false, byWorkflow(425, ``), store.Ambiguous, store.ReasonErrorAnswer},
		{"its 429", Options{}, false, byWorkflow(429, ``), store.Ambiguous, store.ReasonErrorAnswer},
		{"its 500", Options{}, false, byWorkflow(500, ``), store.Ambiguous, store.ReasonErrorAnswer},
		{"anybody's 200", Options{}, true, answered(200, `{"a":1}`), store.Ambiguous, store.ReasonUnrecognised},
		{"nobody's 404", Options{}, true, answered(404, `{}`), store.Ambiguous, store.ReasonUnrecognised},

		{"not registered, of who marks", Options{}, true, answered(404, notRegistered), store.FailedRetryable, store.ReasonRefused},
		{"not registered, of who has shown nothing", Options{}, false, answered(404, notRegistered), store.Ambiguous, store.ReasonUnrecognised},
		{"not registered, assumed", Options{Sandbox: "assumed"}, false, answered(404, notRegistered), store.FailedRetryable, store.ReasonRefused},
		{"not registered, of who marks nothing", Options{Sandbox: "absent"}, true, answered(404, notRegistered), store.Ambiguous, store.ReasonUnrecognised},
		{"not registered, relayed by a workflow", Options{Sandbox: "assumed"}, true, byWorkflow(404, notRegistered), store.Completed, store.ReasonResponse},
		{"not registered, but its body was dropped", Options{Sandbox: "assumed"}, true, func() *exchange { ex := answered(404, notRegistered); ex.dropped = true; return ex }(), store.Ambiguous, store.ReasonUnrecognised},
		{"starting up", Options{Sandbox: "assumed"}, false, answered(200, "n8n is starting up. Please wait", form, "text/html; charset=utf-8"), store.FailedRetryable, store.ReasonRefused},
		{"filtered", Options{Sandbox: "assumed"}, false, answered(200, `{"message":"Webhook call received"}`), store.Completed, store.ReasonResponse},
		{"error in workflow", Options{Sandbox: "assumed"}, false, answered(500, `{"message":"Error in workflow"}`), store.Ambiguous, store.ReasonErrorAnswer},
		{"an address that may not", Options{Sandbox: "assumed"}, false, untyped(answered(403, "IP is not allowed to access the webhook!")), store.FailedRetryable, store.ReasonRejected},

		{"an answer of n8n 1.x", Options{Sandbox: "absent"}, false, answered(200, `{"a":1}`), store.Completed, store.ReasonResponse},
		{"its own doubt", Options{Sandbox: "absent"}, false, answered(200, `{"message":"Workflow executed successfully but no data was returned"}`), store.Ambiguous, store.ReasonUnrecognised},
		{"its empty one", Options{Sandbox: "absent"}, false, answered(200, ``), store.Ambiguous, store.ReasonUnrecognised},
		{"its 204", Options{Sandbox: "absent"}, false, answered(204, ``), store.Ambiguous, store.ReasonUnrecognised},
		{"its page", Options{Sandbox: "absent"}, false, answered(200, `<html>`, form, "text/html"), store.Ambiguous, store.ReasonUnrecognised},
		{"its error", Options{Sandbox: "absent"}, false, answered(500, `{"a":1}`), store.Ambiguous, store.ReasonUnrecognised},

		{"a rule: completed", Options{OnResponse: []ResponseRule{{Status: []int{500, 502}, Then: "completed"}}}, false, byWorkflow(502, ``), store.Completed, store.ReasonResponse},
		{"a rule: failed", Options{OnResponse: []ResponseRule{{Status: []int{422}, Then: "failed_retryable"}}}, false, byWorkflow(422, ``), store.FailedRetryable, store.ReasonReported},
		{"a rule: ambiguous", Options{OnResponse: []ResponseRule{{Status: []int{202}, Then: "ambiguous"}}}, false, byWorkflow(202, ``), store.Ambiguous, store.ReasonErrorAnswer},
		{"the first rule", Options{OnResponse: []ResponseRule{{Status: []int{409}, When: []Condition{{Place: Place{Header: "X-Done"}, Value: "yes"}}, Then: "completed"}, {Status: []int{409}, Then: "failed_retryable"}}}, false, byWorkflow(409, ``, "X-Done", "yes"), store.Completed, store.ReasonResponse},
		{"the second rule", Options{OnResponse: []ResponseRule{{Status: []int{409}, When: []Condition{{Place: Place{Header: "X-Done"}, Value: "yes"}}, Then: "completed"}, {Status: []int{409}, Then: "failed_retryable"}}}, false, byWorkflow(409, ``, "X-Done", "no"), store.FailedRetryable, store.ReasonReported},
		{"both conditions", Options{OnResponse: []ResponseRule{{Status: []int{200}, When: []Condition{{Place: Place{Header: "X-Done"}, Value: "no"}, {Place: Place{Path: "ok"}, Value: "false"}}, Then: "failed_retryable"}}}, false, byWorkflow(200, `{"ok":false}`, "X-Done", "no"), store.FailedRetryable, store.ReasonReported},
		{"one of both", Options{OnResponse: []ResponseRule{{Status: []int{200}, When: []Condition{{Place: Place{Header: "X-Done"}, Value: "no"}, {Place: Place{Path: "ok"}, Value: "false"}}, Then: "failed_retryable"}}}, false, byWorkflow(200, `{"ok":true}`, "X-Done", "no"), store.Completed, store.ReasonResponse},
		{"n8n's refusal comes before a rule", Options{Sandbox: "assumed", OnResponse: []ResponseRule{{Status: []int{404}, Then: "completed"}}}, false, answered(404, notRegistered), store.FailedRetryable, store.ReasonRefused},
		{"a rule comes before n8n's other words", Options{Sandbox: "assumed", OnResponse: []ResponseRule{{Status: []int{500}, Then: "failed_retryable"}}}, false, answered(500, `{"message":"Error in workflow"}`), store.FailedRetryable, store.ReasonReported},

		{"n8n's rejection comes before a rule", Options{Sandbox: "assumed", OnResponse: []ResponseRule{{Status: []int{403}, Then: "completed"}}}, false, untyped(answered(403, "IP is not allowed to access the webhook!")), store.FailedRetryable, store.ReasonRejected},
		{"a rule does not complete what n8n may have refused", Options{OnResponse: []ResponseRule{{Status: []int{404}, Then: "completed"}}}, false, answered(404, notRegistered), store.Ambiguous, store.ReasonUnrecognised},
		{"a rule about a body that was dropped", Options{OnResponse: []ResponseRule{{Status: []int{200}, When: []Condition{{Place: Place{Path: "ok"}, Value: "false"}}, Then: "failed_retryable"}}}, false, func() *exchange { ex := byWorkflow(200, ``); ex.dropped = true; return ex }(), store.Ambiguous, store.ReasonCondition},
		{"complete_when holds", Options{CompleteWhen: &Condition{Place: Place{Path: "done"}, Value: "true"}}, false, answered(200, `{"done":true}`), store.Completed, store.ReasonResponse},
		{"complete_when does not", Options{CompleteWhen: &Condition{Place: Place{Path: "done"}, Value: "true"}}, false, byWorkflow(200, `{"done":false}`), store.Ambiguous, store.ReasonCondition},
		{"complete_when, twice said", Options{CompleteWhen: &Condition{Place: Place{Path: "done"}, Value: "true"}}, false, byWorkflow(200, `{"done":true,"done":true}`), store.Ambiguous, store.ReasonCondition},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := test.options.merge(Options{}).defaults()
			j, err := options.judge(t.Name())
			if err != nil {
				t.Fatal(err)
			}
			if test.shown {
				j.marker(test.ex).shows()
			}
			if got := j.classify(test.ex); got.to != test.to || got.reason != test.reason {
				t.Errorf("got %s %s, want %s %s", got.to, got.reason, test.to, test.reason)
			}
		})
	}
}

// What n8n says of itself, with its stack trace, no sender sees, whatever it counts as.
func TestInternalsStayInside(t *testing.T) {
	options := Options{OnResponse: []ResponseRule{{Status: []int{500}, Then: "completed"}}}.merge(Options{}).defaults()
	j, err := options.judge(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	if v := j.classify(answered(500, `{"message":"Error in workflow"}`)); v.to != store.Completed || !v.internal {
		t.Errorf("n8n's own error: %+v", v)
	}
	if v := j.classify(answered(500, `{"code":0,"message":"SQLITE_BUSY","stacktrace":"at x"}`)); v.to != store.Completed || !v.internal {
		t.Errorf("n8n's own error, of no known text: %+v", v)
	}
	if v := j.classify(byWorkflow(500, `{"message":"Error in workflow"}`)); v.to != store.Completed || v.internal {
		t.Errorf("a workflow's: %+v", v)
	}
	hook := &webhook{receiptBody: maxReceiptDefault}
	ex := answered(500, `{"message":"Error in workflow"}`)
	receipt := hook.receipt(ex, verdict{to: store.Completed, internal: true})
	c := &claim{record: store.Record{Attempt: 1}, hash: store.Hash{1}}
	record := store.Record{State: store.Completed, TokenHash: c.hash, Receipt: receipt}
	a := fromAttempt(c, verdict{to: store.Completed, internal: true}, ex, record, nil)
	if a.status != 500 || len(a.body) > 0 || a.decision != decidedNew || a.header.Get("N8n-Gate-Body") != "dropped" || len(receipt.Body) > 0 {
		t.Errorf("answered %+v, kept %q", a, receipt.Body)
	}
}

// What n8n's own words prove depends on what the same upstream has shown before, in
// this process and over reloads: the same address, by the same configuration.
func TestProofIsTheUpstreams(t *testing.T) {
	options := Options{}.merge(Options{}).defaults()
	judgeOf := func(forward string) judge {
		j, err := options.judge(t.Name() + forward)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	by := func(upstream string, ex *exchange) *exchange { ex.upstream = upstream; return ex }
	first := judgeOf("a")
	first.classify(by("n8n:5678 10.0.0.1:5678", byWorkflow(200, `{}`)))
	for name, test := range map[string]struct {
		forward, upstream string
		to                store.State
	}{
		"the same":                      {"a", "n8n:5678 10.0.0.1:5678", store.FailedRetryable},
		"another address of the name":   {"a", "n8n:5678 10.0.0.2:5678", store.Ambiguous},
		"another name at the address":   {"a", "n8n-2:5678 10.0.0.1:5678", store.Ambiguous},
		"the same by another way there": {"b", "n8n:5678 10.0.0.1:5678", store.Ambiguous},
	} {
		t.Run(name, func(t *testing.T) {
			j := judgeOf(test.forward)
			v := j.classify(by(test.upstream, answered(404, notRegistered)))
			if v.to != test.to || (v.hint == "") != (test.to == store.FailedRetryable) {
				t.Errorf("got %+v, want %s", v, test.to)
			}
		})
	}
}

// A webhook's list, even an empty one, stands for the gate's; what is left out does not.
func TestOffIsNotInherited(t *testing.T) {
	wait := caddy.Duration(time.Hour)
	gate := Options{
		OnResponse: []ResponseRule{{Status: []int{500}, Then: "completed"}}, CompleteWhen: &Condition{Place: Place{Path: "done"}, Value: "true"},
		ActionID: &Place{Path: "id"}, ReceiptHeader: []string{"X-A"}, Origin: "keep", RepeatSafe: &wait,
	}
	none := caddy.Duration(0)
	for name, test := range map[string]struct {
		hook Options
		set  bool
	}{
		"left out": {Options{}, true},
		"off": {Options{
			OnResponse: []ResponseRule{}, CompleteWhen: new(Condition), ActionID: new(Place), ReceiptHeader: []string{}, Origin: off, RepeatSafe: &none,
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.hook.Auth, test.hook.Key = &Auth{Config: signature.Config{Kind: "none"}}, []keyextract.Source{{Kind: keyextract.KindJSON, Path: "id"}}
			hook, err := (&Webhook{Pattern: "demo", Options: test.hook}).compile(gate, "")
			if err != nil {
				t.Fatal(err)
			}
			for what, is := range map[string]bool{
				"on_response": len(hook.judge.rules) > 0, "complete_when": hook.judge.completeWhen != nil, "action_id": hook.actionID != nil,
				"receipt_header": len(hook.receiptHeader) > 0, "origin": hook.keepOrigin, "repeat_safe": hook.repeatSafe > 0,
			} {
				if is != test.set {
					t.Errorf("%s: set is %t, want %t", what, is, test.set)
				}
			}
		})
	}
}
