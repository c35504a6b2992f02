package tests

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// A full disk, played by the limit on the size of files: what the process may
// not write fails as it does on a disk without space.

// fillDisk lets the gate write no file beyond size bytes.
func (g *gate) fillDisk(size uint64) {
	g.t.Helper()
	g.limitFiles(unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY})
}

// freeDisk ends that.
func (g *gate) freeDisk() {
	g.t.Helper()
	g.limitFiles(unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
}

func (g *gate) limitFiles(limit unix.Rlimit) {
	g.t.Helper()
	if err := unix.Prlimit(g.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		g.t.Fatal(err)
	}
}

func TestFullDiskRefusesBeforeAForward(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{})
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")

	g.fillDisk(1)
	for range 3 {
		wantTransient(t, g.deliver("evt_2"), "store_unavailable")
	}
	if n.Connections() != 1 {
		t.Errorf("%d connections: a delivery was sent without a durable claim", n.Connections())
	}
	// Replays only read.
	wantReplay(t, g.deliver("evt_1"), first)

	g.freeDisk()
	want(t, g.deliver("evt_2"), http.StatusOK, "new")
	wantActions(t, n, "evt_2", 1)
}

// The store may be overwritten but not grow: some deliveries pass, others do
// not, and every one is told the truth.
func TestStoreThatCannotGrow(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	// Receipts of some size fill the file soon.
	n.Usually(func(x *fake.Exchange) {
		if number := x.Act(); number > 0 {
			fake.Answer(http.StatusOK, fake.Done(x.Request.Key, number)+fmt.Sprintf("%20000d", number))(x)
		}
	})
	g := startGate(t, n, config{})
	file, err := os.Stat(g.storePath())
	if err != nil {
		t.Fatal(err)
	}
	g.fillDisk(uint64(file.Size()))

	answers := map[string]answer{}
	full := 0
	for i := 0; full < 3; i++ {
		if i == 2000 {
			t.Fatal("the store never filled up")
		}
		key := fmt.Sprintf("evt_%d", i)
		a := g.deliver(key)
		answers[key] = a
		switch a.status {
		case http.StatusOK:
			want(t, a, http.StatusOK, "new")
			wantActions(t, n, key, 1)
		case http.StatusBadGateway: // claimed and sent, but not settled
			want(t, a, http.StatusBadGateway, "new")
			wantActions(t, n, key, 1)
			full++
		default:
			wantTransient(t, a, "store_unavailable")
			wantActions(t, n, key, 0)
			full++
		}
	}
	g.freeDisk()
	for key, a := range answers {
		switch a.status {
		case http.StatusOK:
			wantReplay(t, g.deliver(key), a)
		case http.StatusBadGateway: // its holder did not give up
			g.awaitState(key, "completed")
			want(t, g.deliver(key), http.StatusOK, "replayed")
		default:
			want(t, g.deliver(key), http.StatusOK, "new")
		}
		wantActions(t, n, key, 1)
	}
}

func TestDiskFillsUpBetweenClaimAndSettlement(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Usually(hold.Behave)
	g := startGate(t, n, config{webhook: "in_flight reject"})

	first := g.later("evt_1")
	hold.Await()
	g.fillDisk(1)
	hold.Release()
	// n8n's answer is not durable, so nobody may hear of it.
	a := got(t, first)
	want(t, a, http.StatusBadGateway, "new")
	wantProblem(t, a)
	if d := g.deliver("evt_1").decision(); d != "in_flight" && d != "store_unavailable" {
		t.Errorf("a duplicate of an attempt that cannot settle: decision %q", d)
	}
	wantActions(t, n, "evt_1", 1)

	// The disk recovers in time: the holder has kept the receipt.
	g.freeDisk()
	g.awaitState("evt_1", "completed")
	replay := g.deliver("evt_1")
	want(t, replay, http.StatusOK, "replayed")
	if body := fake.Done("evt_1", 1); replay.body != body {
		t.Errorf("the retry got %q, n8n had answered %q", replay.body, body)
	}
	wantActions(t, n, "evt_1", 1)
}

func TestDiskStaysFullPastTheDeadline(t *testing.T) {
	t.Parallel()
	long(t)
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Usually(hold.Behave)
	g := startGate(t, n, config{webhook: "in_flight reject\ntimeout 1s"})

	first := g.later("evt_1")
	hold.Await()
	g.fillDisk(1)
	hold.Release()
	want(t, got(t, first), http.StatusBadGateway, "new")
	deadline := g.wantState("evt_1", "processing", "").Deadline
	if deadline.IsZero() || time.Until(deadline) > time.Minute {
		t.Fatalf("the deadline is %v", deadline)
	}
	// This is the wait for the deadline itself, and a little for the holder to see it.
	<-time.After(time.Until(deadline) + 2*time.Second)
	if a := g.deliver("evt_1"); a.status != http.StatusServiceUnavailable {
		t.Errorf("past the deadline, on a full disk, a duplicate got %v", a)
	}
	g.freeDisk()
	g.awaitState("evt_1", "ambiguous")
	wantTransient(t, g.deliver("evt_1"), "manual_review")
	wantActions(t, n, "evt_1", 1)
	// And the gate works on.
	want(t, g.deliver("evt_2"), http.StatusOK, "new")
}

// A process that dies on a full disk finds its record and asks.
func TestKilledOnAFullDisk(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	hold := fake.NewHold(t, fake.Work)
	n.Usually(hold.Behave)
	g := startGate(t, n, config{})
	first := g.later("evt_1")
	hold.Await()
	g.fillDisk(1)
	hold.Release()
	want(t, got(t, first), http.StatusBadGateway, "new")
	g.kill()
	g.start()
	g.wantState("evt_1", "ambiguous", "holder_lost")
	wantTransient(t, g.deliver("evt_1"), "manual_review")
	wantActions(t, n, "evt_1", 1)
}
