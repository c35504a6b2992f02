package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// gate is a Caddy process with the gate in it, in a directory of its own.
type gate struct {
	t        *testing.T
	bin      binary
	dir      string
	upstream string
	port     int // of the site
	admin    int // of the admin endpoint
	config   config
	env      []string
	log      *logBook
	client   *http.Client // the sender's
	desks    *http.Client // the operator's

	cmd    *exec.Cmd
	exited chan struct{}
}

// newGate prepares a gate before n without starting it.
func newGate(t *testing.T, n *fake.N8N, c config) *gate {
	t.Helper()
	g := &gate{
		t: t, bin: raced, dir: t.TempDir(), upstream: n.Addr, config: c,
		port: freePort(t), admin: freePort(t), log: newLogBook(), client: newClient(t), desks: newClient(t),
	}
	t.Cleanup(g.close)
	return g
}

// startGate starts a gate before n and waits until it serves.
func startGate(t *testing.T, n *fake.N8N, c config) *gate {
	t.Helper()
	g := newGate(t, n, c)
	g.start()
	return g
}

// in is the same gate, seen from a subtest.
func (g *gate) in(t *testing.T) *gate {
	seen := *g
	seen.t = t
	return &seen
}

func (g *gate) storePath() string { return filepath.Join(g.dir, "gate.db") }

func (g *gate) adminAddress() string { return fmt.Sprintf("127.0.0.1:%d", g.admin) }

func (g *gate) url(path string) string {
	if g.config.tls {
		return fmt.Sprintf("https://localhost:%d%s", g.port, path)
	}
	return fmt.Sprintf("http://127.0.0.1:%d%s", g.port, path)
}

// command is a Caddy command of this gate's binary, in its own little world.
func (g *gate) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.bin.path(g.t), args...)
	cmd.Dir = g.dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + g.dir,
		"XDG_DATA_HOME=" + filepath.Join(g.dir, "data"),
		"XDG_CONFIG_HOME=" + filepath.Join(g.dir, "config"),
		// Work after a race is work on sand.
		"GORACE=halt_on_error=1",
	}, g.env...)
	return cmd
}

// start runs the gate, with further environment for this start only, and
// returns when it serves.
func (g *gate) start(env ...string) {
	g.t.Helper()
	if err := g.tryStart(env...); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gate) tryStart(env ...string) error {
	g.t.Helper()
	writeFile(g.t, filepath.Join(g.dir, "Caddyfile"), g.config.caddyfile(g))
	cmd := g.command(context.Background(), "run", "--config", "Caddyfile")
	cmd.Env = append(cmd.Env, env...)
	dieWithParent(cmd)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.client.CloseIdleConnections()
	g.desks.CloseIdleConnections()
	exited, from := make(chan struct{}), g.log.len()
	g.cmd, g.exited = cmd, exited
	go func() {
		defer close(exited)
		g.log.read(stderr)
		_ = cmd.Wait()
	}()
	return g.log.await(from, exited, "the gate to serve", func(l logLine) bool {
		return l.text("msg") == "serving initial configuration"
	})
}

// kill ends the process as a power cut would.
func (g *gate) kill() {
	g.t.Helper()
	if err := g.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		g.t.Fatal(err)
	}
	g.awaitExit()
}

// askToStop sends SIGTERM and returns when the process has begun to stop.
func (g *gate) askToStop() {
	g.t.Helper()
	from := g.log.len()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	if err := g.log.await(from, g.exited, "the gate to begin to stop", func(l logLine) bool {
		return strings.HasPrefix(l.text("msg"), "shutting down apps")
	}); err != nil {
		g.t.Fatal(err)
	}
}

// stop sends SIGTERM and returns when the process is gone.
func (g *gate) stop() {
	g.t.Helper()
	g.askToStop()
	g.awaitExit()
	if code := g.cmd.ProcessState.ExitCode(); code != 0 {
		g.t.Errorf("the gate left with code %d", code)
	}
}

func (g *gate) awaitExit() {
	g.t.Helper()
	select {
	case <-g.exited:
	case <-time.After(fake.Patience):
		g.t.Fatal("the gate did not exit")
	}
}

// running says whether the process runs.
func (g *gate) running() bool {
	if g.exited == nil {
		return false
	}
	select {
	case <-g.exited:
		return false
	default:
		return true
	}
}

// close ends the gate when its test ends: a gate that does not stop when it is
// asked to, raced or panicked fails the test.
func (g *gate) close() {
	if g.running() {
		_ = g.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-g.exited:
		case <-time.After(fake.Patience / 2):
			g.t.Error("the gate did not stop when it was asked to")
			_ = g.cmd.Process.Kill()
			<-g.exited
		}
	}
	g.client.CloseIdleConnections()
	g.desks.CloseIdleConnections()
	if faults := g.log.faults(); faults != "" {
		g.t.Errorf("the gate's process failed:\n%s", faults)
	}
	if g.t.Failed() {
		g.t.Logf("the gate's log ends so:\n%s", g.log.tail(60))
	}
}

// load asks the running gate to take c, and says whether it did.
func (g *gate) load(c config) (message string, ok bool) {
	g.t.Helper()
	a := g.askAdmin(http.MethodPost, "/load", "text/caddyfile", c.caddyfile(g))
	return a.body, a.status == http.StatusOK
}

// askAdmin sends a request to Caddy's admin endpoint. Every change of the
// configuration gives that a new server, so a connection may break meanwhile;
// nothing that the tests ask for does harm twice.
func (g *gate) askAdmin(method, path, contentType, body string) answer {
	g.t.Helper()
	var a answer
	for range 5 {
		req, err := http.NewRequest(method, "http://"+g.adminAddress()+path, strings.NewReader(body))
		if err != nil {
			g.t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Cache-Control", "must-revalidate") // load a configuration even if it is the same
		res, err := g.desks.Do(req)
		if err == nil {
			return read(res)
		}
		a.err = err
		g.desks.CloseIdleConnections()
	}
	g.t.Fatalf("asking the admin endpoint for %s: %v", path, a.err)
	return a
}

// reload takes c over; the gate must accept it.
func (g *gate) reload(c config) {
	g.t.Helper()
	if message, ok := g.load(c); !ok {
		g.t.Fatalf("the gate refused a good configuration: %s", message)
	}
	g.config = c
}

// run runs a Caddy command to its end.
func (g *gate) run(args ...string) (stdout, stderr string, ok bool) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fake.Patience)
	defer cancel()
	cmd := g.command(ctx, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		g.t.Fatalf("caddy %s: %v", strings.Join(args, " "), err)
	}
	if strings.Contains(errOut.String(), "DATA RACE") {
		g.t.Errorf("caddy %s: %s", strings.Join(args, " "), errOut.String())
	}
	return out.String(), errOut.String(), err == nil
}

// metrics reads the admin endpoint's /metrics.
func (g *gate) metrics() string {
	g.t.Helper()
	return g.askAdmin(http.MethodGet, "/metrics", "", "").body
}
