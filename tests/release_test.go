package tests

import (
	"bytes"
	"net/http"
	"os"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// What users get has no failpoints: neither their names nor what they do.
func TestReleaseHasNoFailpoints(t *testing.T) {
	t.Parallel()
	mention := []byte("N8N_GATE_FAILPOINT")
	for _, b := range []struct {
		binary binary
		has    bool
	}{{released, false}, {raced, false}, {failing, true}} {
		path := b.binary.path(t)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, mention) != b.has {
			t.Errorf("%s has failpoints: %v, want %v", path, !b.has, b.has)
		}
	}

	n := fake.Start(t)
	g := newGate(t, n, config{})
	g.bin = released
	g.env = []string{"N8N_GATE_FAILPOINT=before_claim"}
	g.start()
	want(t, g.deliver("evt_1"), http.StatusOK, "new")
	want(t, g.deliver("evt_1"), http.StatusOK, "replayed")
	wantActions(t, n, "evt_1", 1)
}
