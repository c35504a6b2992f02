package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// Export, import and accept, on a real store.

// varied fills s with records of every kind, more than one batch, and returns their number.
func varied(t *testing.T, s *Store) int {
	t.Helper()
	n := 0
	for _, state := range store.States() {
		var cs []store.Change
		for i := range 70 {
			r := recordOf(fmt.Sprintf("%v_%05d", state, i), state)
			if i%3 == 0 {
				r.Aliases = append(r.Aliases, store.Alias{Kind: store.AliasFingerprint, Value: fmt.Sprintf("op\x00\xff%v%d", state, i)})
			}
			c := store.Change{Now: r}
			if i%5 == 0 {
				c.Payload = []byte("held\x00\xff")
			}
			cs = append(cs, c)
		}
		n += len(mustApply(t, s, cs...))
	}
	// A second attempt, with what its claim would be undone to.
	first := mustApply(t, s, store.Change{Now: recordOf("retried", store.FailedRetryable)})[0]
	_, token := store.NewToken()
	again, err := store.Claim(first, store.Claimed{Token: token, Holder: store.HolderReceipt, Lasts: 100 * 365 * 24 * time.Hour}, time.Unix(1_800_000_100, 0).UTC())
	check(t, err)
	mustApply(t, s, store.Change{Was: first.Version, Now: again})
	mustApply(t, s, store.Change{Now: store.Record{ // a key rule
		ID: store.ID{Operation: ".rule", EventKey: "op"}, State: store.Completed, Receipt: &store.Receipt{Result: []byte("json id")},
	}})
	return n + 2
}

func exported(t *testing.T, s *Store) string {
	t.Helper()
	var b bytes.Buffer
	_, err := store.Export(t.Context(), s, &b, "test", ".rule")
	check(t, err)
	return b.String()
}

// body is an export without its header, which tells when it was made.
func body(export string) string {
	_, rest, _ := strings.Cut(export, "\n")
	return rest
}

func reads(export string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(export)), nil }
}

var asked = store.ImportOptions{By: "ann", Note: "moved"}

func TestExportAndImport(t *testing.T) {
	s, to := opened(t), opened(t)
	n := varied(t, s)
	export := exported(t, s)
	for run, want := range []store.Imported{{Records: n}, {Skipped: n}} {
		got, err := store.Import(t.Context(), to, reads(export), asked)
		if err != nil || got != want {
			t.Fatalf("import %d: %+v, %v; want %+v", run, got, err, want)
		}
		if back := exported(t, to); body(back) != body(export) {
			t.Errorf("import %d: what comes out is not what went in:\n%.2000s\n%.2000s", run, back, export)
		}
	}
	q, err := store.QuarantineOf(t.Context(), to)
	if err != nil || !q.Active || q.Reason != store.ReasonImport || q.History[0].By != "ann" || q.History[0].Note != "moved" {
		t.Errorf("the quarantine is %+v, %v", q, err)
	}
	if quarantined(t, s) {
		t.Error("the store that was exported is in quarantine")
	}
	for _, i := range []int{0, 5, 6, 65} {
		id := store.ID{Operation: "op", EventKey: fmt.Sprintf("completed_%05d", i)}
		payload, err := to.Payload(t.Context(), id)
		if (i%5 == 0) != (string(payload) == "held\x00\xff") {
			t.Errorf("payload of %d: %q, %v", i, payload, err)
		}
		have, err := to.Get(t.Context(), id)
		check(t, err)
		for _, a := range have[0].Aliases {
			if found, err := to.Find(t.Context(), a); err != nil || found != id {
				t.Errorf("alias of %d: %v, %v", i, found, err)
			}
		}
	}
}

// A file that was cut short or changed is refused, with the line, and changes nothing.
func TestSpoiltExports(t *testing.T) {
	s := opened(t)
	varied(t, s)
	export := exported(t, s)
	lines := strings.SplitAfter(strings.TrimSuffix(export, "\n"), "\n")
	last := len(lines) - 1
	join := func(ls ...[]string) string {
		var all []string
		for _, l := range ls {
			all = append(all, l...)
		}
		return strings.Join(all, "")
	}
	swap := func(from, to string) string { return strings.Replace(export, from, to, 1) }
	for name, c := range map[string]struct {
		export string
		want   string
	}{
		"empty":                {"", "line 1: the export is cut short"},
		"only a header":        {lines[0], "line 2: the export is cut short"},
		"without its trailer":  {join(lines[:last]), fmt.Sprintf("line %d: the export is cut short", last+1)},
		"cut in a line":        {export[:len(export)/2], "the export is cut short"},
		"cut in its trailer":   {strings.TrimSuffix(export, "\n"), fmt.Sprintf("line %d: the export is cut short", last+1)},
		"without a line":       {join(lines[:7], lines[8:]) + "\n", fmt.Sprintf("line %d: the trailer speaks of", last)},
		"with a line twice":    {join(lines[:7], lines[6:]) + "\n", "line 8: the same record or alias stands in line 7"},
		"in another order":     {join(lines[:7], lines[8:9], lines[7:8], lines[9:]) + "\n", "the file was changed"},
		"with a changed byte":  {swap(`"attempt":1`, `"attempt":2`), "the file was changed"},
		"with another state":   {swap(`"state":"ambiguous"`, `"state":"completed"`), "a completed record has an expires_at"},
		"with no JSON":         {swap(lines[4], "{\n"), "line 5: "},
		"with an empty line":   {swap(lines[4], "\n"+lines[4]), "line 5: "},
		"with more behind":     {export + "{}\n", "something follows the trailer"},
		"of a later format":    {swap(`"format":1`, `"format":2`), "line 1: an export of format 2"},
		"of something else":    {"{}\n" + body(export), "line 1: "},
		"of a later version":   {swap(`"state":`, `"unheard_of":1,"state":`), `unknown field "unheard_of"`},
		"with a mark":          {swap(`"operation":".rule"`, `"operation":".meta"`), "cannot be imported"},
		"with an alias twice":  {strings.Replace(export, lines[9], strings.ReplaceAll(lines[8], "00007", "77777"), 1), "line 10: the same record or alias stands in line 9"},
		"with an endless line": {lines[0] + `{"operation":"` + strings.Repeat("x", 65<<20), "line 2: longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			to := opened(t)
			got, err := store.Import(t.Context(), to, reads(c.export), asked)
			var line *store.LineError
			if err == nil || !errors.As(err, &line) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "nothing was imported") {
				t.Errorf("got %+v, %.300v; want %q", got, err, c.want)
			}
			if stats, err := to.Stats(t.Context()); err != nil || len(stats.Records) != 0 || !stats.LastWrite.IsZero() {
				t.Errorf("it was changed: %+v, %v", stats, err)
			}
		})
	}
	if _, err := store.Import(t.Context(), opened(t), reads(export), store.ImportOptions{By: "ann"}); !errors.Is(err, store.ErrIllegalMove) {
		t.Errorf("without a reason: %v", err)
	}
}

func TestImportConflicts(t *testing.T) {
	s := opened(t)
	n := varied(t, s)
	export := exported(t, s)
	for name, c := range map[string]struct {
		there store.Record
		skip  bool // is enough
	}{
		"a record": {recordOf("completed_00069", store.Ambiguous), true},
		"an alias": {func() store.Record {
			r := recordOf("another", store.Ambiguous)
			r.Aliases = append(r.Aliases, store.Alias{Kind: store.AliasFingerprint, Value: "op\x00\xffcompleted0"})
			return r
		}(), false},
		"a key rule": {store.Record{
			ID: store.ID{Operation: ".rule", EventKey: "op"}, State: store.Completed, Receipt: &store.Receipt{Result: []byte("json uid")},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			to := opened(t)
			mustApply(t, to, store.Change{Now: c.there})
			before := exported(t, to)
			if _, err := store.Import(t.Context(), to, reads(export), asked); !errors.Is(err, store.ErrImportConflict) || !strings.HasPrefix(err.Error(), "nothing was imported: line ") {
				t.Errorf("got %v", err)
			}
			if quarantined(t, to) || body(exported(t, to)) != body(before) {
				t.Error("it was changed")
			}
			skipping := asked
			skipping.SkipExisting = true
			got, err := store.Import(t.Context(), to, reads(export), skipping)
			if want := (store.Imported{Records: n - 1, Skipped: 1}); c.skip && (err != nil || got != want) {
				t.Errorf("skipping: %+v, %v; want %+v", got, err, want)
			}
			if !c.skip && !errors.Is(err, store.ErrImportConflict) {
				t.Errorf("skipping: %v", err)
			}
			have, err := to.Get(t.Context(), c.there.ID)
			if err != nil || have[0].State != c.there.State || !bytes.Equal(result(have[0]), result(c.there)) {
				t.Errorf("what was there is %+v now, %v", have, err)
			}
		})
	}
}

func result(r store.Record) []byte {
	if r.Receipt == nil {
		return nil
	}
	return r.Receipt.Result
}

// An import that breaks off half-way says so, and goes on when it is run again.
func TestImportIsResumed(t *testing.T) {
	s, to := opened(t), opened(t)
	n := varied(t, s)
	export := exported(t, s)
	passes := 0
	broken := errors.New("the disk is gone")
	_, err := store.Import(t.Context(), to, func() (io.ReadCloser, error) {
		if passes++; passes == 1 {
			return reads(export)()
		}
		return io.NopCloser(io.MultiReader(strings.NewReader(export[:len(export)*2/3]), failing{broken})), nil
	}, asked)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "in quarantine") {
		t.Errorf("got %v", err)
	}
	if !quarantined(t, to) {
		t.Error("half an import is not in quarantine")
	}
	got, err := store.Import(t.Context(), to, reads(export), asked)
	if err != nil || got.Records == 0 || got.Skipped == 0 || got.Records+got.Skipped != n {
		t.Errorf("run again: %+v of %d, %v", got, n, err)
	}
	if body(exported(t, to)) == "" || len(exported(t, to)) != len(export) {
		t.Error("the second run did not complete the first")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// faint is a store whose n-th Apply is the last.
type faint struct {
	store.Store
	n int
}

func (f *faint) Apply(ctx context.Context, cs ...store.Change) ([]store.Record, error) {
	if f.n--; f.n < 0 {
		return nil, fmt.Errorf("%w: fainted", store.ErrNotStored)
	}
	return f.Store.Apply(ctx, cs...)
}

// The quarantine ends when a person accepts it, with a reason, and not before every
// record that could act again is set right; interrupted anywhere, it goes on.
func TestAccept(t *testing.T) {
	verdict := store.Verdict{By: "ann", Note: "compared with the ledger"}
	s := opened(t)
	varied(t, s)
	mustApply(t, s, store.Change{Now: func() store.Record { // its process is gone
		r := recordOf("orphan", store.Processing)
		r.Holder = store.HolderForward
		return r
	}()})
	if _, err := store.Accept(t.Context(), s, verdict); !errors.Is(err, store.ErrNotQuarantined) {
		t.Errorf("where there is nothing to accept: %v", err)
	}
	for steps := range 10 {
		path := filepath.Join(t.TempDir(), "copy.db")
		_, err := s.Backup(t.Context(), path, "ann", "")
		check(t, err)
		c := open(t, path)
		if _, err := store.Accept(t.Context(), c, store.Verdict{By: "ann"}); !errors.Is(err, store.ErrIllegalMove) {
			t.Errorf("without a reason: %v", err)
		}
		f := &faint{c, steps}
		_, err = store.Accept(t.Context(), f, verdict)
		done := f.n >= 0
		if done != (err == nil) || done == quarantined(t, c) {
			t.Fatalf("after %d steps: %v, in quarantine: %t", steps, err, quarantined(t, c))
		}
		if !done {
			_, err := store.Accept(t.Context(), c, verdict)
			check(t, err)
		}
		checkAccepted(t, c)
		check(t, c.Close())
		if done {
			if steps < 2 {
				t.Errorf("done in %d steps: nothing was interrupted", steps)
			}
			return
		}
	}
	t.Error("10 commits are not enough")
}

func checkAccepted(t *testing.T, c *Store) {
	t.Helper()
	q, err := store.QuarantineOf(t.Context(), c)
	if err != nil || q.Active || len(q.History) != 2 || q.History[1].By != "ann" || q.History[1].Note == "" {
		t.Errorf("the mark: %+v, %v", q, err)
	}
	stats, err := c.Stats(t.Context())
	check(t, err)
	if got, want := fmt.Sprint(stats.Records["op"]), "map[processing:71 completed:70 ambiguous:141]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for key, want := range map[string]store.Record{
		"failed_retryable_00003": {State: store.Ambiguous, Reason: store.ReasonRestored, Doubt: true},
		"processing_00003":       {State: store.Processing, Reason: store.ReasonRestored, Doubt: true},
		"retried":                {State: store.Processing, Reason: store.ReasonRestored, Doubt: true},
		"orphan":                 {State: store.Ambiguous, Reason: store.ReasonHolderLost},
		"completed_00003":        {State: store.Completed, Reason: "receipt"},
		"ambiguous_00003":        {State: store.Ambiguous, Reason: "receipt"},
	} {
		have, err := c.Get(t.Context(), store.ID{Operation: "op", EventKey: key})
		check(t, err)
		r := have[0]
		if r.State != want.State || r.Reason != want.Reason || r.Doubt != want.Doubt {
			t.Errorf("%s is %v (%s), in doubt: %t", key, r.State, r.Reason, r.Doubt)
		}
		if moved := r.LastMove(); want.Doubt && (moved.By != "ann" || moved.Note == "") {
			t.Errorf("%s: its history ends with %+v", key, moved)
		}
	}
}
