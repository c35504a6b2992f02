package tests

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// One file, one process: a second one does not start, and harms nothing.
func TestStoreBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")

	second := newGate(t, n, config{store: g.storePath()})
	if err := second.tryStart(); err == nil || !strings.Contains(err.Error(), g.storePath()) {
		t.Errorf("a second process on the same store: %v; want an error that names the file", err)
	}
	wantReplay(t, g.deliver("evt_1"), first)
	want(t, g.deliver("evt_2"), http.StatusOK, "new")
}

// What is no store is not made one.
func TestFileThatIsNoStore(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := newGate(t, n, config{})
	content := strings.Repeat("somebody else's data\n", 10_000)
	writeFile(t, g.storePath(), content)
	if err := g.tryStart(); err == nil || !strings.Contains(err.Error(), g.storePath()) {
		t.Errorf("starting on a file that is no store: %v; want an error that names the file", err)
	}
	if after, err := os.ReadFile(g.storePath()); err != nil || string(after) != content {
		t.Errorf("the file was changed: %d bytes, %v", len(after), err)
	}
}

// A new store means that every event is new, which nobody wants by accident: it
// is said once, with the path.
func TestNewStoreIsWarnedAboutOnce(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	warnings := func() int {
		count := 0
		for _, l := range g.log.since(0) {
			if l.text("level") == "warn" && strings.Contains(l.raw, g.storePath()) {
				count++
			}
		}
		return count
	}
	if warnings() != 1 {
		t.Errorf("a new store was warned about %d times", warnings())
	}
	want(t, g.deliver("evt_1"), http.StatusOK, "new")
	g.reload(config{webhook: "in_flight reject"})
	g.stop()
	g.start()
	if warnings() != 1 {
		t.Errorf("after a reload and a restart, a new store was warned about %d times", warnings())
	}
}

// The directory is made, for nobody else to read.
func TestStoreInADirectoryThatIsNotThere(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := newGate(t, n, config{})
	path := filepath.Join(g.dir, "a", "b", "gate.db")
	g.config.store = path
	g.start()
	want(t, g.deliver("evt_1"), http.StatusOK, "new")
	for path, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %v", path, info, err, mode)
		}
	}
}
