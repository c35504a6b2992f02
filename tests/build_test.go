package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// A binary is built when the first test asks for it, once per run.
type binary func() (path string, err error)

var (
	// raced is the server that nearly every test runs.
	raced = build("caddy-race", "-race")
	// failing also has the failpoints (caddymodule/failpoint_on.go).
	failing = build("caddy-failpoints", "-race", "-tags", "failpoints")
	// released is what users get.
	released = build("caddy-release")
)

var binaries struct {
	sync.Mutex
	dir string
}

func build(name string, flags ...string) binary {
	return sync.OnceValues(func() (string, error) {
		dir, err := binaryDir()
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, name)
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		args := append([]string{"build", "-o", path}, flags...)
		out, err := exec.Command("go", append(args, "./internal/caddy")...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
		return path, nil
	})
}

func (b binary) path(t *testing.T) string {
	t.Helper()
	path, err := b()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func binaryDir() (string, error) {
	binaries.Lock()
	defer binaries.Unlock()
	if binaries.dir == "" {
		dir, err := os.MkdirTemp("", "n8n-gate-tests-")
		if err != nil {
			return "", err
		}
		binaries.dir = dir
	}
	return binaries.dir, nil
}

func removeBinaries() {
	binaries.Lock()
	defer binaries.Unlock()
	if binaries.dir != "" {
		os.RemoveAll(binaries.dir)
	}
}
