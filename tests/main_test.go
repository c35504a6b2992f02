// Package tests holds the whole-server tests: a real Caddy process with the
// gate in it, a real store file, and a scripted fake n8n (internal/fake) that
// counts the actions on its own side. Nothing here reads the gate's own word
// for how often something was done.
package tests

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removeBinaries()
		os.Exit(code)
	}))
}

// long marks a test that -short leaves out.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short")
	}
}
