package caddymodule

import (
	"context"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// stranded is how the desk names a record that is failed_retryable, but whose sender
// will not come back: the event waits for a person.
const stranded = "stranded"

// strandedAfter: few senders go on trying for longer after a failed delivery (facts
// on single senders come with their presets).
const strandedAfter = 72 * time.Hour

// patience is how long after its last delivery the operation's sender may still try
// again.
func (a *App) patience(operation string) time.Duration {
	if a != nil {
		if o := a.operations[operation]; o != nil {
			return o.comesBack
		}
	}
	return strandedAfter
}

// isStranded reports whether nobody will try the event again.
func isStranded(r store.Record, patience time.Duration, now time.Time) bool {
	return r.State == store.FailedRetryable && now.Sub(r.SettledAt) > patience
}

// countStranded looks through all records that were not carried out, page by page.
func countStranded(ctx context.Context, s store.Store, patience func(operation string) time.Duration) (map[string]int, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]int)
	query := store.Query{States: []store.State{store.FailedRetryable}, Limit: 1000}
	for more := true; more; more = query.After != "" {
		page, err := s.Scan(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Records {
			if isStranded(r, patience(r.Operation), now) {
				found[r.Operation]++
			}
		}
		query.After = page.Next
	}
	return found, nil
}
