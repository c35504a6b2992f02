package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

// errQuarantine is not an error of the store: `store_down pass` does not speak of it.
var errQuarantine = errors.New("the store is a restored copy, which nobody has accepted yet")

// readQuarantine asks the store whether it is a restored copy.
func (s *openStore) readQuarantine(ctx context.Context) error {
	q, err := store.QuarantineOf(ctx, s.Ledger)
	if err == nil {
		s.setQuarantine(q.Active)
	}
	return err
}

func (s *openStore) setQuarantine(active bool) {
	s.quarantined.Store(active)
	gaugeQuarantine(active)
}

// enterQuarantine: once it has returned, no delivery decides by what it saw before.
func (s *openStore) enterQuarantine() {
	s.rules.Lock()
	defer s.rules.Unlock()
	s.setQuarantine(true)
}

// Apply implements store.Store. In quarantine nobody claims, whichever way they come;
// deliveries are turned away before that (claimRule), so this is the second lock. What
// an import stores does not come through here.
func (s *openStore) Apply(ctx context.Context, cs ...store.Change) ([]store.Record, error) {
	if s.quarantined.Load() {
		for _, c := range cs {
			last := c.Now.LastMove()
			if c.Now.State == store.Processing && (last.From == store.Gone || last.From == store.FailedRetryable) {
				return nil, errQuarantine
			}
		}
	}
	return s.Ledger.Apply(ctx, cs...)
}

// trusted is the record as it may be answered: in quarantine an event that was not
// carried out when the copy was made may have been since.
func (c *claim) trusted(r store.Record) store.Record {
	if r.State == store.FailedRetryable && c.ledger.quarantined.Load() {
		r.State, r.Reason = store.Ambiguous, store.ReasonRestored
	}
	return r
}

// swept is what the sweeper looks after. In quarantine nothing expires: an old copy
// must not lose what it was restored for before anybody has looked at it.
func (s *openStore) swept() store.Store {
	if s.quarantined.Load() {
		return keeper{s}
	}
	return s
}

type keeper struct{ store.Store }

func (keeper) Expire(context.Context, time.Time, int) (int, error) { return 0, nil }

// greet says, when a configuration starts, what a person must know of its store.
func (s *openStore) greet(ctx context.Context, identity string, logger *zap.Logger) {
	name := zap.String("store", identity)
	if s.created.CompareAndSwap(true, false) {
		logger.Warn("started with a new, empty store: every event is new to it", name)
	}
	if bolt, ok := s.Store.(*boltstore.Store); ok && s.unclean.CompareAndSwap(true, false) {
		if i := bolt.Inspected(); i != nil {
			logger.Warn("the store had not been closed; what was looked at is in order", name,
				zap.Bool("looked_at_all", i.Whole), zap.Duration("duration", i.Took))
		}
	}
	if !s.quarantined.Load() {
		return
	}
	q, err := store.QuarantineOf(ctx, s.Ledger)
	if err != nil {
		logger.Error("the quarantine of the store cannot be read", name, zap.Error(err))
	}
	logger.Warn("the store is a restored copy, in quarantine: events that it does not know are turned away, and none is tried again, "+
		"until `caddy n8n-gate accept --reason` is given", name, zap.String("reason", q.Reason), zap.Time("since", q.Since))
}

// placed complains when the store's file has lost its name.
func (s *openStore) placed(logger *zap.Logger) {
	if p, ok := s.Store.(interface{ Placed() error }); ok {
		if err := p.Placed(); err != nil {
			logger.Error("the store is not where it should be", zap.Error(err))
		}
	}
}

// acceptStore ends the quarantine: Accept in package store.
func (s *openStore) acceptStore(ctx context.Context, v store.Verdict) (store.Accepted, error) {
	out, err := store.Accept(ctx, s.Ledger, v)
	if err != nil {
		err = fmt.Errorf("accepting the restored store: %w", err)
	}
	return out, errors.Join(err, s.readQuarantine(context.WithoutCancel(ctx)))
}
