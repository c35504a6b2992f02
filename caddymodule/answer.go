package caddymodule

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/n8n-gate/n8n-gate/store"
)

// retryAfter is when a sender should come again, in seconds. Senders that heed it
// at all take up to 55 s; short outages and long runs are over sooner.
const retryAfter = "10"

// answer is what a sender gets.
type answer struct {
	decision decision
	status   int
	header   http.Header
	body     []byte
	detail   string // of a refusal

	notCarriedOut bool  // the attempt ended failed_retryable
	err           error // for the log alone
}

// refused is the error of a stage that ends a delivery. Its text is for the sender;
// cause is for the log.
type refused struct{ answer }

func refuse(what decision, status int, detail string) *refused {
	return &refused{answer{decision: what, status: status, header: make(http.Header), detail: detail}}
}

func (r *refused) Error() string { return r.detail }

func (r *refused) with(name, value string) *refused {
	r.header.Set(name, value)
	return r
}

func (r *refused) because(cause error) *refused {
	r.err = cause
	return r
}

// refusal turns the error of a stage into its answer, a problem of RFC 9457.
func refusal(err error) answer {
	var r *refused
	if !errors.As(err, &r) {
		r = refuse(decidedUnavailable, http.StatusServiceUnavailable, "the gate cannot take this delivery now").because(err)
	}
	a := r.answer
	a.header.Set("Content-Type", "application/problem+json")
	a.body, _ = json.Marshal(problem{ // strings and numbers: it cannot fail
		Title: http.StatusText(a.status), Status: a.status, Detail: a.detail, Decision: a.decision,
	})
	return a
}

// problem is an error for senders, RFC 9457. Its type is about:blank, left out.
type problem struct {
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Decision decision `json:"decision"`
}

// fromRecord answers a delivery that did not act itself, by the record's state.
func fromRecord(r store.Record) answer {
	switch r.State {
	case store.Completed:
		return replay(r)
	case store.Ambiguous:
		return refusal(transient(decidedManualReview, "it is not known whether this event was carried out; a person decides"))
	case store.FailedRetryable, store.Gone:
		return refusal(transient(decidedInFlight, "another delivery of this event was not carried out"))
	default:
		return refusal(transient(decidedInFlight, "another delivery of this event is being carried out"))
	}
}

// replay answers with the stored receipt.
func replay(r store.Record) answer {
	a := answer{decision: decidedReplayed, status: http.StatusOK}
	if r.Receipt == nil || r.Receipt.Status == 0 { // settled by a person or the API
		a.header = http.Header{"Idempotent-Replayed": {"true"}, "N8n-Gate-Receipt": {"none"}}
		return a
	}
	a.status, a.body = r.Receipt.Status, r.Receipt.Body
	a.header = headerOf(r.Receipt.Header, store.Field{Name: "Idempotent-Replayed", Value: "true"})
	if r.Receipt.BodyDropped {
		a.header.Del("Content-Encoding")
		a.header.Set("N8n-Gate-Body", "dropped")
	}
	return a
}

// headerOf makes a header of lines whose names are canonical. Its values stand in one
// piece of memory, as net/textproto reads them.
func headerOf(lines []store.Field, more ...store.Field) http.Header {
	h := make(http.Header, len(lines)+len(more))
	values := make([]string, 0, len(lines)+len(more))
	for _, list := range [...][]store.Field{more, lines} {
		for _, line := range list {
			if h[line.Name] != nil {
				h.Add(line.Name, line.Value)
				continue
			}
			values = append(values, line.Value)
			h[line.Name] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	return h
}

// afford accounts for a receipt until it is sent, or tells the sender to come again.
func (d *delivery) afford(a answer) answer {
	if !d.memory.take(int64(len(a.body))) {
		return refusal(overMemory())
	}
	return a
}

// as is the same answer to the delivery that acted.
func (a answer) as(what decision) answer {
	a.decision = what
	a.header.Del("Idempotent-Replayed")
	return a
}

// fromAttempt answers the delivery whose attempt it was, by what is stored of it.
func fromAttempt(c *claim, v verdict, ex *exchange, r store.Record, settleErr error) answer {
	what := decidedNew
	if c.record.Attempt > 1 {
		what = decidedRetry
	}
	unknown := http.StatusBadGateway
	if v.reason == store.ReasonTimeout {
		unknown = http.StatusGatewayTimeout
	}
	switch {
	case settleErr != nil:
		return refusal(refuse(what, http.StatusBadGateway, "the outcome could not be stored").because(settleErr))
	case v.to == store.Gone && !r.Owned(c.hash):
		return fromUndone(what, v, ex)
	case r.Owned(c.hash) && r.State == store.FailedRetryable && v.onTheWay:
		a := refusal(transient(what, "it is not known whether the event was carried out; delivering it again is safe").because(ex.err))
		a.notCarriedOut = true
		return a
	case !r.Owned(c.hash) || r.State != v.to && r.State != store.Ambiguous: // it lost its record: the record's word counts
		return fromRecord(r)
	case r.State == store.Completed && v.internal:
		return replay(r).as(what)
	case r.State == store.Completed:
		return asItCame(what, ex)
	case r.State == store.FailedRetryable:
		a := refusal(transient(what, "the event was not carried out").because(ex.err))
		a.notCarriedOut = true
		return a
	default:
		return refusal(refuse(what, unknown, "it is not known whether the event was carried out; a person decides").because(ex.err))
	}
}

// asItCame is n8n's own response.
func asItCame(what decision, ex *exchange) answer {
	a := answer{decision: what, status: ex.status, header: ex.header, body: ex.body}
	dropOwnHeaders(a.header)
	a.header.Del("Idempotent-Replayed")
	if ex.dropped {
		a.header.Del("Content-Length")
		a.header.Del("Content-Encoding")
		a.header.Set("N8n-Gate-Body", "dropped")
	}
	return a
}

// write sends the answer. It replaces what middlewares before the gate have set
// under the same names. A sender that is gone is no error: Caddy would log the whole
// request with it, its secrets and all, and the outcome is stored.
//
// To HEAD an answer says how long the body would be, and has none. What n8n said of
// that is the only thing known; where it said nothing, nothing is said.
func (a answer) write(w http.ResponseWriter, method string) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	own := []string{string(a.decision), ""}
	header["N8n-Gate-Decision"] = own[:1:1]
	if header.Get("Content-Type") == "" {
		header["Content-Type"] = nil // or net/http would guess one from the body
	}
	bodyless := a.status == http.StatusNoContent || a.status == http.StatusNotModified
	switch {
	case bodyless:
		header.Del("Content-Length")
	case method == http.MethodHead && len(a.body) == 0:
		if len(a.header.Values("Content-Length")) == 0 {
			header.Del("Content-Length") // a middleware's
		}
	default:
		own[1] = strconv.Itoa(len(a.body))
		header["Content-Length"] = own[1:]
	}
	w.WriteHeader(a.status)
	if !bodyless && len(a.body) > 0 {
		_, _ = w.Write(a.body)
	}
}
