package tests

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// To authenticate a Stripe event of 2 KiB and to extract its key costs less than a tenth
// of the processor time that a plain reverse_proxy takes to pass it on.
func TestPresetsCostLittle(t *testing.T) {
	t.Parallel()
	const rounds, proxied, verified = 3, 2_000, 50_000
	n := fake.Start(t)
	g := newGate(t, n, config{})
	g.bin = released
	g.start()
	bench := filepath.Join(t.TempDir(), "provider.test")
	if out, err := exec.Command("go", "test", "-c", "-o", bench, "../provider").CombinedOutput(); err != nil {
		t.Fatalf("building the benchmark: %v\n%s", err, out)
	}
	preset := func(times int) time.Duration {
		cmd := exec.Command(bench, "-test.run=^$", "-test.bench=^BenchmarkVerifyAndExtract$/^stripe$", fmt.Sprintf("-test.benchtime=%dx", times))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "/stripe") {
			t.Fatalf("running the benchmark: %v\n%s", err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	body := `{"id":"evt_1","note":"` + strings.Repeat("x", 2048) + `"}`
	var ratios []float64
	for range rounds {
		before := g.cpu()
		for range proxied {
			if a := g.post("/elsewhere", body); a.status != http.StatusOK {
				t.Fatalf("the proxy answered %v", a)
			}
		}
		proxy := (g.cpu() - before).Seconds() / proxied
		ratios = append(ratios, (preset(verified)-preset(1)).Seconds()/verified/proxy)
	}
	slices.Sort(ratios)
	t.Logf("verifying and extracting, in parts of the proxy's time: %.3f", ratios)
	if got := ratios[rounds/2]; got > 0.1 {
		t.Errorf("the preset costs %.3f of what the proxy costs, want at most a tenth", got)
	}
}

// cpu is the processor time that the gate's process has taken, in ticks of 1/100 s
// (proc(5), /proc/PID/stat: utime and stime; the name before them is in parentheses).
func (g *gate) cpu() time.Duration {
	g.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.cmd.Process.Pid))
	if err != nil {
		g.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			g.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
