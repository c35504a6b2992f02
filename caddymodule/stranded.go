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

// countStranded looks through all records, page by page.
func countStranded(ctx context.Context, s store.Store) (map[string]int, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]int)
	query := store.Query{States: []store.State{store.FailedRetryable}, OlderThan: now.Add(-strandedAfter), Limit: 1000}
	for more := true; more; more = query.After != "" {
		page, err := s.Scan(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Records {
			found[r.Operation]++
		}
		query.After = page.Next
	}
	return found, nil
}
