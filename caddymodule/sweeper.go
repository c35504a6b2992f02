package caddymodule

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/n8n-gate/n8n-gate/store"
)

// strandedEvery is rare: counting what is stranded reads every record.
const strandedEvery = 10 * time.Minute

// sweep runs until ctx ends: at once, for the orphans of a former process, and
// then every interval for deadlines that have passed and records that expired.
func sweep(ctx context.Context, s *openStore, interval time.Duration, patience func(string) time.Duration, logger *zap.Logger) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var counted time.Time
	held := false
	for {
		s.placed(logger)
		swept, err := store.Sweep(ctx, s.swept(), s.orphaned.Load())
		switch {
		case errors.Is(err, context.Canceled):
			return
		case err != nil:
			logger.Error("sweeping the store failed; it is tried again", zap.Error(err))
		default:
			s.orphaned.Store(false)
		}
		if swept.Lapsed > 0 {
			logger.Warn("records became ambiguous: nobody settled their attempts, or they were in doubt for longer than repeat_safe", zap.Int("records", swept.Lapsed))
		}
		if swept.Held && !held {
			logger.Warn("nothing expires for two days: the clock is far ahead of the store's last write; check it")
		}
		held = swept.Held
		if swept.Expired > 0 {
			logger.Info("expired records deleted", zap.Int("records", swept.Expired))
		}
		if now := time.Now(); now.Sub(counted) >= strandedEvery {
			if found, err := countStranded(ctx, s, patience); err == nil {
				counted = now
				metrics().stranded.set(found)
			} else if !errors.Is(err, context.Canceled) {
				logger.Error("counting stranded records failed; it is tried again", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
