package tests

import (
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// A webhook that n8n does not know yet was not carried out: it is tried again. That is
// believed of an n8n that marks what workflows say, and nobody else.
func TestN8NRefusesBeforeAnyExecution(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})

	n.Next(fake.NotRegistered)
	want(t, g.deliver("evt_0"), http.StatusBadGateway, "new") // it has shown nothing yet
	g.wantState("evt_0", "ambiguous", "unrecognised")

	want(t, g.deliver("evt_1"), http.StatusOK, "new") // marked
	n.Next(fake.NotRegistered)
	wantTransient(t, g.deliver("evt_2"), "new")
	g.wantState("evt_2", "failed_retryable", "refused")
	want(t, g.deliver("evt_2"), http.StatusOK, "retry")
	wantActions(t, n, "evt_2", 1)

	g.reload(config{webhook: "timeout 8s"}) // the proof outlives a reload
	n.Next(fake.NotRegistered)
	wantTransient(t, g.insist("evt_3"), "new")
}

// The same words from a workflow, which acted before it said them, are its answer.
func TestWorkflowRelaysN8NsWords(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "n8n_sandbox assumed"})
	n.Next(fake.Relays)
	first := g.deliver("evt_1")
	want(t, first, http.StatusNotFound, "new")
	wantReplay(t, g.deliver("evt_1"), first)
	wantActions(t, n, "evt_1", 1)
}

// What a workflow's status means, its author says.
func TestAuthorSaysWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "max_attempts 2\non_response 409 json acted false failed_retryable\non_response 500 completed"})

	n.Next(fake.Answer(http.StatusConflict, `{"acted":false}`))
	wantTransient(t, g.deliver("evt_1"), "new")
	g.wantState("evt_1", "failed_retryable", "reported")
	n.Next(fake.Answer(http.StatusConflict, `{"acted":false}`))
	want(t, g.deliver("evt_1"), http.StatusBadGateway, "retry") // the attempts are used up
	g.wantState("evt_1", "ambiguous", "attempts_exhausted")
	wantTransient(t, g.deliver("evt_1"), "manual_review")

	n.Next(fake.Answer(http.StatusConflict, `{"acted":true}`))
	want(t, g.deliver("evt_2"), http.StatusBadGateway, "new")
	g.wantState("evt_2", "ambiguous", "error_answer")

	n.Next(fake.Answer(http.StatusInternalServerError, `{"acted":true}`))
	want(t, g.deliver("evt_3"), http.StatusInternalServerError, "new")
	want(t, g.deliver("evt_3"), http.StatusInternalServerError, "replayed")
}
