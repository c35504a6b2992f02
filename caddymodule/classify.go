package caddymodule

import (
	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/store"
)

// verdict is what an exchange proves: where the record goes, and why.
type verdict struct {
	to     store.State
	reason string
}

// classify judges an exchange; the first match wins. Only what proves that the
// action did not begin may be tried again; doubt stops for a person.
func classify(ex *exchange) verdict {
	switch {
	case !ex.sent:
		return verdict{store.FailedRetryable, store.ReasonNotSent}
	case !ex.complete && ex.timedOut:
		return verdict{store.Ambiguous, store.ReasonTimeout}
	case !ex.complete:
		return verdict{store.Ambiguous, store.ReasonInterrupted}
	case !n8n.FromWorkflow(ex.header):
		return verdict{store.Ambiguous, store.ReasonUnrecognised}
	case !n8n.Settled(ex.status):
		return verdict{store.Ambiguous, store.ReasonErrorAnswer}
	default:
		return verdict{store.Completed, store.ReasonResponse}
	}
}
