package caddymodule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

// Paths of the admin API. Everything travels in POST bodies: the admin endpoint
// logs URLs, and event keys do not belong in logs.
const (
	adminList    = "/n8n_gate/list"
	adminShow    = "/n8n_gate/show"
	adminResolve = "/n8n_gate/resolve"
)

// The structs of the API, shared by its server and by the command.
type (
	// ListRequest selects records; empty members do not filter.
	ListRequest struct {
		Operation string `json:"operation,omitempty"`
		State     string `json:"state,omitempty"`
		Reason    string `json:"reason,omitempty"`
		OlderThan string `json:"older_than,omitempty"` // a duration: in its state for longer than that
		After     string `json:"after,omitempty"`      // the Next of the page before
	}
	// ListAnswer is one page. It may be empty and still have a next one.
	ListAnswer struct {
		Records []RecordView `json:"records"`
		Next    string       `json:"next,omitempty"`
	}
	// RecordName names one record.
	RecordName struct {
		Operation string `json:"operation"`
		EventKey  string `json:"event_key"`
	}
	// ResolveRequest settles an ambiguous record on a person's word.
	ResolveRequest struct {
		RecordName
		Version  uint64 `json:"version,omitempty"` // refuse if the record has changed since; 0 does not ask
		Status   string `json:"status"`            // completed or failed_retryable
		ActionID string `json:"action_id,omitempty"`
		Reason   string `json:"reason"`
		By       string `json:"by"`
	}
	// RecordView is a record as operators see it: no bodies, no tokens.
	RecordView struct {
		RecordName
		State        string     `json:"state"`
		Reason       string     `json:"reason"`
		Version      uint64     `json:"version"`
		Attempt      int        `json:"attempt"`
		Refused      int        `json:"refused,omitempty"`
		Reported     int        `json:"reported,omitempty"`
		Generation   int        `json:"generation"`
		ActionID     string     `json:"action_id,omitempty"`
		OtherKey     string     `json:"other_key,omitempty"` // of a conflict: under which the content came before
		FirstSeenAt  time.Time  `json:"first_seen_at,omitzero"`
		ClaimedAt    time.Time  `json:"claimed_at,omitzero"`
		SettledAt    time.Time  `json:"settled_at,omitzero"`
		Deadline     time.Time  `json:"deadline,omitzero"`
		ExpiresAt    time.Time  `json:"expires_at,omitzero"`
		Unproven     bool       `json:"unproven,omitempty"`    // auth upstream: n8n has not shown that the delivery was its sender's
		Doubt        bool       `json:"doubt,omitempty"`       // an attempt may have acted, whatever a later one proved
		RepeatUntil  time.Time  `json:"repeat_until,omitzero"` // of what is failed_retryable in doubt: afterwards it is ambiguous
		Status       int        `json:"receipt_status,omitempty"`
		ReceiptBytes int        `json:"receipt_bytes,omitempty"`
		History      []MoveView `json:"history,omitempty"`
	}
	// MoveView is one line of a record's history.
	MoveView struct {
		At      time.Time `json:"at"`
		From    string    `json:"from"`
		To      string    `json:"to"`
		Attempt int       `json:"attempt"`
		Reason  string    `json:"reason"`
		By      string    `json:"by,omitempty"`
		Note    string    `json:"note,omitempty"`
	}
)

// maxAdminBody bounds what the admin API reads.
const maxAdminBody = 64 << 10

// Admin serves the gate's part of Caddy's admin API. It holds no state: after a
// failed reload Caddy keeps the admin routes of the rejected configuration, so
// every request asks for the app that is live.
type Admin struct{}

// CaddyModule returns the Caddy module information.
func (Admin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.n8n_gate", New: func() caddy.Module { return new(Admin) }}
}

// Routes returns the routes of the admin API.
func (Admin) Routes() []caddy.AdminRoute {
	return append(storeRoutes(), []caddy.AdminRoute{
		{Pattern: adminList, Handler: adminCall(list)},
		{Pattern: adminShow, Handler: adminCall(show)},
		{Pattern: adminResolve, Handler: adminCall(resolve)},
	}...)
}

// adminCall is the way of a call that is about records.
func adminCall[In, Out any](do func(context.Context, store.Store, In) (Out, error)) caddy.AdminHandlerFunc {
	return leaseCall(func(ctx context.Context, l *lease, in In) (Out, error) { return do(ctx, l, in) })
}

// leaseCall is the way of every call: decode, take a hold on the live store, do it,
// encode.
func leaseCall[In, Out any](do func(context.Context, *lease, In) (Out, error)) caddy.AdminHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodPost {
			return apiError(http.StatusMethodNotAllowed, errors.New("only POST is answered here"))
		}
		var in In
		dec := json.NewDecoder(io.LimitReader(r.Body, maxAdminBody))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return apiError(http.StatusBadRequest, fmt.Errorf("reading the request: %w", err))
		}
		app := liveApp()
		if app == nil {
			return apiError(http.StatusServiceUnavailable, errors.New("no n8n_gate is running here"))
		}
		ledger, err := app.lease()
		if err != nil {
			return apiError(http.StatusServiceUnavailable, err)
		}
		defer func() { _ = ledger.release() }()
		out, err := do(r.Context(), ledger, in)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(out)
	}
}

func apiError(status int, err error) error {
	return caddy.APIError{HTTPStatus: status, Err: err, Message: err.Error()}
}

func list(ctx context.Context, s store.Store, in ListRequest) (ListAnswer, error) {
	query := store.Query{Operation: in.Operation, Reason: in.Reason, After: in.After}
	if noted[decision(in.State)] {
		return listNotes(ctx, s, in)
	}
	now, err := s.Now(ctx)
	if err != nil {
		return ListAnswer{}, err
	}
	if in.State == stranded {
		query.States = []store.State{store.FailedRetryable}
	} else if in.State != "" {
		state, ok := store.ParseState(in.State)
		if !ok {
			return ListAnswer{}, apiError(http.StatusBadRequest, fmt.Errorf("state %q: must be processing, completed, failed_retryable or ambiguous; stranded; or conflict, missing_key, malformed or too_large", in.State))
		}
		query.States = []store.State{state}
	}
	if in.OlderThan != "" {
		age, err := caddy.ParseDuration(in.OlderThan)
		if err != nil || age < 0 {
			return ListAnswer{}, apiError(http.StatusBadRequest, fmt.Errorf("older_than %q: must be a duration", in.OlderThan))
		}
		query.OlderThan = now.Add(-age)
	}
	page, err := s.Scan(ctx, query)
	if errors.Is(err, boltstore.ErrBadCursor) {
		return ListAnswer{}, apiError(http.StatusBadRequest, err)
	}
	if err != nil {
		return ListAnswer{}, err
	}
	out := ListAnswer{Records: make([]RecordView, 0, len(page.Records)), Next: page.Next}
	app := liveApp()
	for _, r := range page.Records {
		if in.State == stranded && !isStranded(r, app.patience(r.Operation), now) {
			continue // of a page there may be fewer, even none, and still a next one
		}
		v := view(r)
		v.History = nil
		out.Records = append(out.Records, v)
	}
	return out, nil
}

// listNotes lists the refused deliveries of one decision as if it were a state.
func listNotes(ctx context.Context, s store.Store, in ListRequest) (ListAnswer, error) {
	if in.Reason != "" || in.OlderThan != "" {
		return ListAnswer{}, apiError(http.StatusBadRequest, fmt.Errorf("a list of %s takes neither reason nor older_than", in.State))
	}
	page, err := s.Scan(ctx, store.Query{Operation: noteOperation, Reason: in.State, After: in.After})
	if err != nil {
		return ListAnswer{}, err
	}
	out := ListAnswer{Records: []RecordView{}, Next: page.Next}
	for _, r := range page.Records {
		if n, ok := readNote(r); ok && (in.Operation == "" || in.Operation == n.Operation) {
			out.Records = append(out.Records, RecordView{
				RecordName: RecordName{n.Operation, n.EventKey}, State: n.Decision, Reason: n.Detail,
				OtherKey: n.OtherKey, Attempt: n.Times, SettledAt: n.At,
			})
		}
	}
	return out, nil
}

func show(ctx context.Context, s store.Store, in RecordName) (RecordView, error) {
	r, err := find(ctx, s, in)
	if err != nil {
		return RecordView{}, err
	}
	return view(r), nil
}

func resolve(ctx context.Context, s store.Store, in ResolveRequest) (RecordView, error) {
	to, _ := store.ParseState(in.Status)
	switch {
	case to != store.Completed && to != store.FailedRetryable:
		return RecordView{}, apiError(http.StatusBadRequest, errors.New("status must be completed or failed_retryable"))
	case in.Reason == "" || in.By == "":
		return RecordView{}, apiError(http.StatusBadRequest, errors.New("a reason, and who gives it, are required"))
	case in.ActionID != "" && to != store.Completed:
		return RecordView{}, apiError(http.StatusBadRequest, errors.New("an action id goes with completed"))
	}
	r, err := find(ctx, s, in.RecordName)
	if err != nil {
		return RecordView{}, err
	}
	have, err := store.UpdateProof(ctx, s, []store.Record{r}, func(now time.Time, have []store.Record) ([]store.Change, error) {
		r := have[0]
		if in.Version != 0 && r.Version != in.Version {
			return nil, apiError(http.StatusConflict, fmt.Errorf("the record has changed: it has version %d now", r.Version))
		}
		next, err := store.Resolve(r, store.Verdict{To: to, ActionID: in.ActionID, By: in.By, Note: in.Reason}, now)
		if err != nil {
			return nil, apiError(http.StatusConflict, fmt.Errorf("only an ambiguous record can be resolved: this one is %s", r.State))
		}
		return []store.Change{{Was: r.Version, Now: next}}, nil
	})
	if err != nil {
		return RecordView{}, err
	}
	return view(have[0]), nil
}

// find reads a record by its name; what nobody will settle any more it shows, and
// stores, as ambiguous.
func find(ctx context.Context, s store.Store, name RecordName) (store.Record, error) {
	key, err := keyextract.Parse(name.EventKey)
	if err != nil {
		return store.Record{}, apiError(http.StatusBadRequest, fmt.Errorf("event key: %w", err))
	}
	have, err := s.Get(ctx, store.ID{Operation: name.Operation, EventKey: key.String()})
	if err == nil {
		have, err = store.Update(ctx, s, have, func(now time.Time, have []store.Record) ([]store.Change, error) {
			return store.LapseRule(ctx, s, now, have[0])
		})
	}
	if err != nil {
		return store.Record{}, err
	}
	if have[0].Version == 0 {
		return store.Record{}, apiError(http.StatusNotFound, errors.New("no record has this operation and event key"))
	}
	return have[0], nil
}

func view(r store.Record) RecordView {
	v := RecordView{
		RecordName: RecordName{r.Operation, r.EventKey},
		State:      r.State.String(), Reason: r.Reason, Version: r.Version,
		Attempt: r.Attempt, Refused: r.Refused, Reported: r.Reported, Generation: r.Generation, ActionID: r.ActionID,
		FirstSeenAt: r.FirstSeenAt, ClaimedAt: r.ClaimedAt, SettledAt: r.SettledAt,
		Deadline: r.Deadline, ExpiresAt: r.ExpiresAt, Doubt: r.Doubt, Unproven: r.Unproven != "",
	}
	if r.State == store.FailedRetryable {
		v.RepeatUntil = r.DueAt()
	}
	if r.Receipt != nil {
		v.Status, v.ReceiptBytes = r.Receipt.Status, len(r.Receipt.Body)
	}
	for _, m := range r.History {
		v.History = append(v.History, MoveView{m.At, m.From.String(), m.To.String(), m.Attempt, m.Reason, m.By, m.Note})
	}
	return v
}

// Interface guards.
var _ caddy.AdminRouter = (*Admin)(nil)
