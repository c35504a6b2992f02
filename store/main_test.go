package store

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the external tests need to see from inside.
const (
	HistoryLimit = historyLimit
	TokenLimit   = tokenLimit
	MaxTries     = maxTries
)

// LedgerEntries counts the records that l keeps an entry for.
func LedgerEntries(l *Ledger) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
