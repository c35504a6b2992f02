package caddymodule

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

func openQuarantined(t *testing.T) *openStore {
	t.Helper()
	s, err := boltstore.Open(filepath.Join(t.TempDir(), "gate.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	open := &openStore{Ledger: store.NewLedger(s, nil)}
	if err := store.MarkRestored(t.Context(), open, store.ReasonBackup, "ann", ""); err != nil {
		t.Fatal(err)
	}
	if err := open.readQuarantine(t.Context()); err != nil || !open.quarantined.Load() {
		t.Fatalf("not in quarantine: %v", err)
	}
	t.Cleanup(func() { gaugeQuarantine(false) })
	return open
}

// Whoever claims, and by whatever way: in quarantine nobody gets a claim. What an
// attempt of before has to say is stored.
func TestNobodyClaimsInQuarantine(t *testing.T) {
	s := openQuarantined(t)
	id := store.ID{Operation: "op", EventKey: "evt_1"}
	now := time.Now()
	_, token := store.NewToken()
	claimed, err := store.Claim(store.Record{ID: id}, store.Claimed{Token: token, Holder: store.HolderReceipt, Lasts: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), store.Change{Now: claimed}); !errors.Is(err, errQuarantine) || errors.Is(err, store.ErrNotStored) {
		t.Errorf("a first claim: %v", err)
	}
	stored, err := s.Ledger.Apply(t.Context(), store.Change{Now: claimed}) // as if it were in the copy
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(store.Record) (store.Record, error){
		func(r store.Record) (store.Record, error) {
			return store.Await(r, token, &store.Receipt{Status: 200}, time.Hour, now)
		},
		func(r store.Record) (store.Record, error) {
			return store.Settle(r, store.Settlement{Token: token, To: store.FailedRetryable, Evidence: store.ByReceipt, Reason: store.ReasonReported}, now)
		},
	} {
		next, err := step(stored[0])
		if err != nil {
			t.Fatal(err)
		}
		if stored, err = s.Apply(t.Context(), store.Change{Was: stored[0].Version, Now: next}); err != nil {
			t.Fatalf("what an attempt says: %v", err)
		}
	}
	again, err := store.Claim(stored[0], store.Claimed{Token: token, Holder: store.HolderReceipt, Lasts: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), store.Change{Was: stored[0].Version, Now: again}); !errors.Is(err, errQuarantine) {
		t.Errorf("another attempt: %v", err)
	}
	if _, err := s.acceptStore(t.Context(), store.Verdict{By: "ann", Note: "seen"}); err != nil || s.quarantined.Load() {
		t.Fatalf("accepted: %v", err)
	}
	have, err := s.Get(t.Context(), id)
	if err != nil || have[0].State != store.Ambiguous {
		t.Errorf("the failed event is %v after it was accepted, %v", have[0].State, err)
	}
	claimed.EventKey = "evt_2"
	claimed.Aliases = nil
	if _, err := s.Apply(t.Context(), store.Change{Now: claimed}); err != nil {
		t.Errorf("after it was accepted: %v", err)
	}
}

// What an old copy knows must not expire before a person has looked at it.
func TestNothingExpiresInQuarantine(t *testing.T) {
	s := openQuarantined(t)
	long := time.Now().Add(-72 * time.Hour)
	_, err := s.Apply(t.Context(), store.Change{Now: store.Record{
		ID: store.ID{Operation: "op", EventKey: "evt_1"}, State: store.Completed, SettledAt: long, ExpiresAt: long,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{0, 1} {
		swept, err := store.Sweep(t.Context(), s.swept(), true)
		if err != nil || swept.Expired != want {
			t.Errorf("%d expired, %v; want %d", swept.Expired, err, want)
		}
		_, _ = s.acceptStore(t.Context(), store.Verdict{By: "ann", Note: "seen"})
	}
}

// Paths are the server's: a relative one would lie where nobody looks.
func TestFilesAreNamedAbsolutely(t *testing.T) {
	l := &lease{openStore: openQuarantined(t)}
	dir := t.TempDir()
	t.Chdir(dir)
	ctx := context.Background()
	in := FileRequest{Path: "file", By: "ann", Reason: "test"}
	for name, do := range map[string]func() error{
		"backup": func() error { _, err := backup(ctx, l, in); return err },
		"export": func() error { _, err := export(ctx, l, in); return err },
		"import": func() error { _, err := imports(ctx, l, ImportRequest{FileRequest: in}); return err },
	} {
		if err := do(); err == nil {
			t.Errorf("%s takes a relative path", name)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("written: %v, %v", names, err)
	}
	in.Path = filepath.Join(dir, "taken")
	if err := os.WriteFile(in.Path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exportTo(ctx, l, in.Path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("export over a file: %v", err)
	}
	if b, err := os.ReadFile(in.Path); err != nil || string(b) != "x" {
		t.Errorf("what was there is %q, %v", b, err)
	}
}
