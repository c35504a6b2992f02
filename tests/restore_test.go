package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// Backup, restore, export, import and the rest of the store's upkeep, through the real
// commands.

type statsAnswer struct {
	Store      string                      `json:"store"`
	Records    map[string]map[string]int64 `json:"records"`
	Bytes      int64                       `json:"bytes"`
	Quarantine *struct {
		Reason string `json:"reason"`
		By     string `json:"by"`
		Note   string `json:"note"`
	} `json:"quarantine"`
}

// mustDesk runs a command of the desk and decodes what it says.
func (g *gate) mustDesk(into any, args ...string) {
	g.t.Helper()
	out, errOut, ok := g.desk(args...)
	if !ok {
		g.t.Fatalf("%s: %s%s", strings.Join(args, " "), out, errOut)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		g.t.Fatalf("%s says %q: %v", strings.Join(args, " "), out, err)
	}
}

// refuses runs a command that must fail, and say why.
func (g *gate) refuses(says string, args ...string) {
	g.t.Helper()
	if out, errOut, ok := g.desk(args...); ok || !strings.Contains(errOut, says) {
		g.t.Errorf("%s: ok %t, %s%s; want an error with %q", strings.Join(args, " "), ok, out, errOut, says)
	}
}

func (g *gate) wantQuarantine(active bool) {
	g.t.Helper()
	var s statsAnswer
	g.mustDesk(&s, "stats")
	value := map[bool]int{true: 1}[active]
	if (s.Quarantine != nil) != active || !strings.Contains(g.metrics(), fmt.Sprintf("caddy_n8n_gate_quarantine %d\n", value)) {
		g.t.Errorf("in quarantine: %+v, want %t", s.Quarantine, active)
	}
}

// startBusy starts a gate whose store has one event done, and one that failed.
func startBusy(t *testing.T) (*gate, *fake.N8N, answer) {
	t.Helper()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	done := g.deliver("evt_done")
	want(t, done, http.StatusOK, "new")
	n.Close()
	wantTransient(t, g.deliver("evt_late"), "new")
	n.Open()
	return g, n, done
}

func onlyOwner(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%s: %v, %v; want mode 0600", path, info, err)
	}
}

// A store that is restored from a backup answers what it knows, lets nothing through
// that may have been carried out since, and goes on once a person has accepted that.
func TestRestoredBackupWaitsForAPerson(t *testing.T) {
	t.Parallel()
	g, n, done := startBusy(t)
	path := filepath.Join(g.dir, "copy.db")
	var made struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
	}
	g.mustDesk(&made, "backup", "copy.db", "--reason", "nightly", "--by", "ann")
	if made.Path != path || made.Bytes == 0 {
		t.Errorf("backup says %+v", made)
	}
	onlyOwner(t, path)
	g.refuses("not overwritten", "backup", path)
	g.wantQuarantine(false)
	want(t, g.deliver("evt_late"), http.StatusOK, "retry") // the copy does not know
	want(t, g.deliver("evt_after"), http.StatusOK, "new")

	r := newGate(t, n, config{store: path, webhook: "store_down pass"})
	r.start()
	if !r.warned("in quarantine") {
		t.Error("the log does not say that the store is in quarantine")
	}
	r.wantQuarantine(true)
	wantReplay(t, r.deliver("evt_done"), done)
	for range 2 {
		wantTransient(t, r.deliver("evt_late"), "manual_review")
		wantTransient(t, r.deliver("evt_after"), "store_unavailable")
		wantTransient(t, r.deliver("evt_new"), "store_unavailable")
	}
	r.wantNoRecord("evt_after")
	r.wantNoRecord("evt_new")
	r.wantState("evt_late", "failed_retryable", "not_sent")
	wantActions(t, n, "evt_late", 1)
	wantActions(t, n, "evt_after", 1)
	wantActions(t, n, "evt_new", 0)

	r.stop() // it is no matter of one process, or of one configuration
	r.start()
	r.reload(config{store: path, webhook: "in_flight reject"})
	wantTransient(t, r.deliver("evt_new"), "store_unavailable")
	r.wantQuarantine(true)
	r.refuses("reason", "accept")
	r.refuses("reason", "accept", "--reason", "")
	r.wantQuarantine(true)

	var accepted struct{ Ambiguous int }
	r.mustDesk(&accepted, "accept", "--reason", "compared with the ledger", "--by", "ann")
	if accepted.Ambiguous != 1 {
		t.Errorf("accept says %+v", accepted)
	}
	r.wantQuarantine(false)
	late := r.wantState("evt_late", "ambiguous", "restored")
	if last := late.History[len(late.History)-1]; last.By != "ann" || last.Note != "compared with the ledger" {
		t.Errorf("its history ends with %+v", last)
	}
	wantTransient(t, r.deliver("evt_late"), "manual_review")
	want(t, r.deliver("evt_new"), http.StatusOK, "new")
	wantReplay(t, r.deliver("evt_done"), done)
	r.refuses("not in quarantine", "accept", "--reason", "again")
	wantActions(t, n, "evt_late", 1)
	wantActions(t, n, "evt_new", 1)
	r.stop()
	r.start()
	r.wantQuarantine(false)
}

// The records move to another machine as a file of lines, before its server starts.
func TestExportIsImportedBeforeTheServerStarts(t *testing.T) {
	t.Parallel()
	g, n, done := startBusy(t)
	file := filepath.Join(g.dir, "records.jsonl")
	var out struct{ Records int }
	g.mustDesk(&out, "export", "records.jsonl")
	if out.Records != 3 { // with the key rule
		t.Errorf("export says %+v", out)
	}
	onlyOwner(t, file)
	g.refuses("not overwritten", "export", file)
	content, err := os.ReadFile(file)
	if err != nil || strings.Count(string(content), "\n") != 5 || !strings.Contains(string(content), `"event_key":"evt_late"`) {
		t.Errorf("the export is %s, %v", content, err)
	}

	r := newGate(t, n, config{})
	r.refuses("reason", "import", file, "--store", r.storePath())
	writeFile(t, file+".short", string(content[:len(content)-10]))
	r.refuses("line 5: the export is cut short", "import", file+".short", "--store", r.storePath(), "--reason", "moving")
	r.refuses("stop Caddy first", "import", file, "--store", g.storePath(), "--reason", "moving")
	var in struct{ Records, Skipped int }
	r.mustDesk(&in, "import", file, "--store", r.storePath(), "--reason", "moving")
	if in.Records != 3 {
		t.Errorf("import says %+v", in)
	}
	r.mustDesk(&struct{}{}, "export", filepath.Join(r.dir, "again.jsonl"), "--store", r.storePath())
	again, err := os.ReadFile(filepath.Join(r.dir, "again.jsonl"))
	_, a, _ := strings.Cut(string(content), "\n")
	if _, b, _ := strings.Cut(string(again), "\n"); err != nil || a != b {
		t.Errorf("exported again: %v\n%s\nwant\n%s", err, b, a)
	}
	r.start()
	r.wantQuarantine(true)
	wantReplay(t, r.deliver("evt_done"), done)
	wantTransient(t, r.deliver("evt_new"), "store_unavailable")
	r.mustDesk(&struct{}{}, "accept", "--reason", "the old machine is off")
	want(t, r.deliver("evt_new"), http.StatusOK, "new")
	r.wantState("evt_late", "ambiguous", "restored")
}

// A running server can take records in, too: from the first one on it is in quarantine.
func TestImportIntoARunningServer(t *testing.T) {
	t.Parallel()
	g, n, done := startBusy(t)
	file := filepath.Join(g.dir, "records.jsonl")
	g.mustDesk(&struct{}{}, "export", file)

	r := startGate(t, n, config{})
	other := r.deliver("evt_other")
	want(t, other, http.StatusOK, "new")
	r.refuses("no such file", "import", file+".missing", "--reason", "merging")
	r.wantQuarantine(false)
	var in struct{ Records, Skipped int }
	r.mustDesk(&in, "import", file, "--reason", "merging")
	if in.Records != 2 || in.Skipped != 1 { // the key rule is the same
		t.Errorf("import says %+v", in)
	}
	r.wantQuarantine(true)
	wantReplay(t, r.deliver("evt_done"), done)
	wantReplay(t, r.deliver("evt_other"), other)
	wantTransient(t, r.deliver("evt_new"), "store_unavailable")
	wantActions(t, n, "evt_new", 0)

	// Another outcome of a known event is nobody's to overwrite.
	c := startGate(t, n, config{})
	n.Next(fake.ResetAfterReading)
	want(t, c.deliver("evt_done"), http.StatusBadGateway, "new")
	c.refuses("another record there already", "import", file, "--reason", "merging")
	c.wantQuarantine(false)
	c.mustDesk(&in, "import", file, "--reason", "merging", "--skip-existing")
	c.wantState("evt_done", "ambiguous", "interrupted")
}

func TestStatsAndSweep(t *testing.T) {
	t.Parallel()
	g, _, _ := startBusy(t)
	var s statsAnswer
	g.mustDesk(&s, "stats")
	if s.Store != g.storePath() || s.Bytes == 0 || fmt.Sprint(s.Records) != "map[create_order:map[completed:1 failed_retryable:1]]" {
		t.Errorf("stats says %+v", s)
	}
	if out, errOut, ok := g.run("n8n-gate", "stats", "--address", g.adminAddress()); !ok || !strings.Contains(out, "failed_retryable") {
		t.Errorf("stats for people: %s%s", out, errOut)
	}
	var swept struct{ Lapsed, Expired int }
	g.mustDesk(&swept, "sweep")
	if swept.Lapsed != 0 || swept.Expired != 0 {
		t.Errorf("sweep says %+v", swept)
	}
}

// compact and check are for a store that nobody has open.
func TestCompactAndCheck(t *testing.T) {
	t.Parallel()
	g, _, done := startBusy(t)
	g.refuses("stop Caddy first", "compact", g.storePath())
	g.refuses("stop Caddy first", "check", "--store", g.storePath())
	g.stop()
	var c struct {
		Records int
		Clean   bool
		Before  int64 `json:"bytes_before"`
		After   int64 `json:"bytes_after"`
	}
	g.mustDesk(&c, "compact", g.storePath())
	if c.After == 0 || c.After > c.Before {
		t.Errorf("compact says %+v", c)
	}
	onlyOwner(t, g.storePath())
	for _, path := range []string{g.storePath(), g.storePath() + ".old"} {
		g.mustDesk(&c, "check", "--store", path)
		if c.Records != 2 || !c.Clean {
			t.Errorf("check says %+v", c)
		}
	}
	g.refuses("no store", "check", "--store", g.storePath()+".missing")
	g.refuses("no store", "compact", g.storePath()+".missing")
	g.start()
	wantReplay(t, g.deliver("evt_done"), done)

	g.kill()
	g.mustDesk(&c, "check", "--store", g.storePath()+".old") // it is a store like any other
	if g.warned("had not been closed") {
		t.Error("a store that was closed counts as one that was not")
	}
	g.start()
	if !g.warned("had not been closed") {
		t.Error("the log does not say that the store had not been closed")
	}
	wantReplay(t, g.deliver("evt_done"), done)
}

// warned reports whether the log has a line with these words.
func (g *gate) warned(words string) bool {
	for _, l := range g.log.since(0) {
		if strings.Contains(l.raw, words) {
			return true
		}
	}
	return false
}
