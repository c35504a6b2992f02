package store

import (
	"errors"
	"fmt"
	"strings"
)

// Validate says what r contradicts: no sequence of moves leads to such a record, so
// it is damaged, or was written by hand. It is asked of records that come from
// outside (import) and by a check of the store, never on the way of a delivery. The
// gate's own records (operations that begin with a dot) need only be named.
func (r Record) Validate() error {
	switch {
	case r.Operation == "" || r.EventKey == "":
		return errors.New("an operation and an event key are required")
	case strings.ContainsRune(r.Operation, 0) || strings.ContainsRune(r.EventKey, 0):
		return errors.New("operation and event key must not contain a zero byte")
	case r.State < Processing || r.State > Ambiguous:
		return fmt.Errorf("no state: %d", r.State)
	}
	if err := r.validateAliases(); err != nil || r.Operation[0] == '.' {
		return err
	}
	switch {
	case r.Generation < 1 || r.Attempt < 0 || r.Refused < 0 || r.Reported < 0 || r.MaxAttempts < 0 || r.Retention < 0:
		return errors.New("generation, attempt, refused, reported, max_attempts or retention is out of range")
	case r.FirstSeenAt.IsZero():
		return errors.New("first_seen_at is required")
	case r.State == Processing && (r.Holder < HolderForward || r.Holder > HolderExecution):
		return errors.New("a processing record needs a holder")
	case (r.State == Processing) == r.Deadline.IsZero():
		return errors.New("a processing record has a deadline, and no other")
	case (r.State == Completed) == r.ExpiresAt.IsZero():
		return errors.New("a completed record has an expires_at, and no other")
	case r.Evidence > ByPerson:
		return fmt.Errorf("no evidence: %d", r.Evidence)
	case r.TokenHash != Hash{} && !r.Knows(r.TokenHash):
		return errors.New("the token of its attempt is not among its aliases")
	}
	for _, m := range r.History {
		if m.From > Ambiguous || m.To > Ambiguous {
			return errors.New("its history has a state that is none")
		}
	}
	return r.validatePrior()
}

func (r Record) validateAliases() error {
	seen := make(map[Alias]bool, len(r.Aliases))
	for _, a := range r.Aliases {
		if a.Kind == 0 || a.Value == "" || seen[a] {
			return errors.New("an alias is empty or stands twice")
		}
		seen[a] = true
	}
	return nil
}

func (r Record) validatePrior() error {
	if r.Prior == nil {
		return nil
	}
	if r.State != Processing || r.Prior.State != FailedRetryable || r.Prior.ID != r.ID || r.Prior.Prior != nil {
		return errors.New("a prior is the same event, failed_retryable, before a processing attempt")
	}
	if err := r.Prior.Validate(); err != nil {
		return fmt.Errorf("prior: %w", err)
	}
	return nil
}
