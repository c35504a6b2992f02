//go:build linux

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReport(t *testing.T) {
	many, few, loud := work.Measured{Deliveries: 80, Seconds: 1}, work.Measured{Deliveries: 10, Seconds: 1}, 2*tooBusy
	r := report{
		facts: []string{"a machine"},
		rows: []row{
			compare("rates", goal{least: 7, aim: 12}, []turn{{Measured: many}, {Measured: many}}, []turn{{Measured: few}, {Measured: few, others: loud}}, "with | in it"),
			{what: "delay", unit: "ms", goal: goal{least: 10, aim: 5, atMost: true}, values: []float64{3, 12, 4}, worst: true},
			{what: "quick", unit: "ms", goal: goal{least: 10, aim: 5, atMost: true}, values: []float64{3, 12, 4}},
			{what: "only said", unit: "ratio", values: []float64{0.25}},
		},
		faults: []string{"redis: not installed"},
	}
	var b strings.Builder
	if err := r.write(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"- a machine",
		"- **not measured**: redis: not installed",
		`| rates | ratio | ≥ 7.00 | ≥ 12.0 | 8.00 | reached | 2 | 8.00 – 8.00 | with \| in it; 1 of 2 rounds disturbed: the machine never got quiet |`,
		"| delay | ms | ≤ 10.0 | ≤ 5.00 | 12.0 | **MISSED** | 3 | 3.00 – 12.0 |  |",
		"| quick | ms | ≤ 10.0 | ≤ 5.00 | 4.00 | **aim** | 3 | 3.00 – 12.0 |  |",
		"| only said | ratio |  |  | 0.25 |  | 1 | 0.25 – 0.25 |  |",
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("%q is not in the report:\n%s", line, b.String())
		}
	}
}

// What go test -benchmem prints, on a machine with several CPUs and with one.
func TestAllocations(t *testing.T) {
	got := allocations("goos: linux\n" +
		"BenchmarkDelivery/proxy-2         \t   10000\t     47673 ns/op\t   11371 B/op\t     142 allocs/op\n" +
		"BenchmarkDelivery/new             \t   10000\t    546868 ns/op\t   47200 B/op\t     419 allocs/op\nPASS\n")
	if len(got) != 2 || got["proxy"] != 142 || got["new"] != 419 {
		t.Errorf("got %v", got)
	}
}

// What comes of this process is ours, whatever it does; what does not is others'.
func TestMachineKnowsItsOwn(t *testing.T) {
	cmd := exec.Command("cat") // it waits for input
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := processes()
	child := all[cmd.Process.Pid]
	switch {
	case child == nil || !child.comesOf(os.Getpid()):
		t.Error("a child is not ours")
	case all[os.Getppid()].comesOf(os.Getpid()):
		t.Error("our parent is ours")
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
