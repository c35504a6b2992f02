package caddymodule

import (
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

func TestClassify(t *testing.T) {
	workflow := http.Header{"Content-Security-Policy": {n8n.SandboxCSP}}
	express := http.Header{"Content-Security-Policy": {"default-src 'none'"}}
	for _, test := range []struct {
		name   string
		ex     exchange
		to     store.State
		reason string
	}{
		{"no connection", exchange{}, store.FailedRetryable, store.ReasonNotSent},
		{"no connection in time", exchange{timedOut: true}, store.FailedRetryable, store.ReasonNotSent},
		{"no answer in time", exchange{sent: true, timedOut: true}, store.Ambiguous, store.ReasonTimeout},
		{"half an answer in time", exchange{sent: true, timedOut: true, status: 200, header: workflow}, store.Ambiguous, store.ReasonTimeout},
		{"a broken connection", exchange{sent: true}, store.Ambiguous, store.ReasonInterrupted},
		{"half an answer", exchange{sent: true, status: 200, header: workflow}, store.Ambiguous, store.ReasonInterrupted},
		{"a whole one as time ran out", exchange{sent: true, complete: true, timedOut: true, status: 200, header: workflow}, store.Completed, store.ReasonResponse},
		{"a workflow's 200", exchange{sent: true, complete: true, status: 200, header: workflow}, store.Completed, store.ReasonResponse},
		{"its redirect", exchange{sent: true, complete: true, status: 307, header: workflow}, store.Completed, store.ReasonResponse},
		{"its 404", exchange{sent: true, complete: true, status: 404, header: workflow}, store.Completed, store.ReasonResponse},
		{"its 408", exchange{sent: true, complete: true, status: 408, header: workflow}, store.Ambiguous, store.ReasonErrorAnswer},
		{"its 409", exchange{sent: true, complete: true, status: 409, header: workflow}, store.Ambiguous, store.ReasonErrorAnswer},
		{"its 423", exchange{sent: true, complete: true, status: 423, header: workflow}, store.Ambiguous, store.ReasonErrorAnswer},
		{"its 425", exchange{sent: true, complete: true, status: 425, header: workflow}, store.Ambiguous, store.ReasonErrorAnswer},
		{"its 429", exchange{sent: true, complete: true, status: 429, header: workflow}, store.Ambiguous, store.ReasonErrorAnswer},
		{"its 500", exchange{sent: true, complete: true, status: 500, header: workflow}, store.Ambiguous, store.ReasonErrorAnswer},
		{"anybody's 200", exchange{sent: true, complete: true, status: 200}, store.Ambiguous, store.ReasonUnrecognised},
		{"Express' 404", exchange{sent: true, complete: true, status: 404, header: express}, store.Ambiguous, store.ReasonUnrecognised},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := classify(&test.ex); got != (verdict{test.to, test.reason}) {
				t.Errorf("got %s %s, want %s %s", got.to, got.reason, test.to, test.reason)
			}
		})
	}
}
