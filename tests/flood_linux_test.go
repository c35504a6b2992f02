package tests

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/provider/providertest"
	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// A hundred thousand forgeries change no byte of the store's file, while a true event
// goes through.
func TestForgeriesNeverReachTheStore(t *testing.T) {
	t.Parallel()
	forgeries := 100_000
	if testing.Short() {
		forgeries = 5_000
	}
	n := fake.Start(t)
	g := startSender(t, n, "stripe", "")
	stripe := providertest.Cases("stripe")[0]
	want(t, g.sends(providertest.Sign(stripe.Event, time.Now())), http.StatusOK, "new")
	forged := providertest.Sign(stripe.Alike[0], time.Now())
	spoil(forged.Header)
	before, err := os.ReadFile(g.storePath())
	if err != nil {
		t.Fatal(err)
	}
	written := g.written()
	g.flood(forged, forgeries)
	after, err := os.ReadFile(g.storePath())
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the store's file has changed")
	}
	if got := g.written(); got != written {
		t.Errorf("%d bytes were written", got-written)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.flood(forged, forgeries/10)
	}()
	want(t, g.sends(providertest.Sign(stripe.Alike[0], time.Now())), http.StatusOK, "new")
	<-done
}

// written is how many bytes the gate's process has had written to disk (proc(5),
// /proc/PID/io): its log goes into a pipe, so that they are the store's.
func (g *gate) written() int {
	g.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", g.cmd.Process.Pid))
	if err != nil {
		g.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil {
				g.t.Fatal(err)
			}
			return n
		}
	}
	g.t.Fatal("no write_bytes")
	return 0
}

// flood sends a request as often as it is told, as fast as it goes, and wants every
// one refused.
func (g *gate) flood(r providertest.Request, times int) {
	const senders = 16
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for range times / senders {
				if a := g.sends(r); a.decision() != "unauthenticated" {
					g.t.Errorf("a forgery got %v", a)
					return
				}
			}
		})
	}
	all.Wait()
}
