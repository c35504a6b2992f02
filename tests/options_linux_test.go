package tests

import (
	"net/http"
	"testing"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

func TestAnswerWithoutAStoreAsTheUserSetsIt(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "respond store_unavailable 502 `<later/>` text/xml"})
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")
	g.fillDisk(1)
	wantSet(t, g.deliver("evt_2"), setAnswer{"store_unavailable", 502, "<later/>", "text/xml", "Retry-After"})
	wantReplay(t, g.deliver("evt_1"), first)
	g.freeDisk()
	want(t, g.deliver("evt_2"), http.StatusOK, "new")
	wantActions(t, n, "evt_2", 1)
}

// store_down pass: while nothing can be stored, deliveries reach n8n ungated, loudly.
func TestStoreDownPass(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "store_down pass"})
	first := g.deliver("evt_1")
	want(t, first, http.StatusOK, "new")
	n.Next(fake.ResetAfterReading)
	want(t, g.deliver("evt_doubt"), http.StatusBadGateway, "new")

	g.fillDisk(1)
	from := g.log.len()
	for range 2 { // without a record, twice is twice
		want(t, g.deliver("evt_2"), http.StatusOK, "passed")
	}
	for _, r := range n.Requests()[2:] {
		for name := range r.Header {
			if len(name) > 9 && name[:9] == "N8n-Gate-" {
				t.Errorf("an ungated delivery carries %s", name)
			}
		}
		if string(r.Body) != event("evt_2") {
			t.Errorf("n8n got the body %q", r.Body)
		}
	}
	// What can be read goes on being heeded.
	wantReplay(t, g.deliver("evt_1"), first)
	wantTransient(t, g.deliver("evt_doubt"), "manual_review")
	// So do n8n's failures, and n8n's words stay n8n's.
	n.Next(fake.ResetAfterReading)
	a := g.deliver("evt_2")
	want(t, a, http.StatusBadGateway, "passed")
	wantNothingOfN8N(t, a)
	if err := g.log.await(from, g.exited, "a warning", func(l logLine) bool {
		return l.text("decision") == "passed" && l.text("level") == "warn" && l.text("suspicion") != ""
	}); err != nil {
		t.Error(err)
	}

	g.freeDisk()
	g.wantNoRecord("evt_2")
	want(t, g.deliver("evt_2"), http.StatusOK, "new")
	want(t, g.deliver("evt_2"), http.StatusOK, "replayed")
	if n.AllActions() != 6 {
		t.Errorf("n8n acted %d times, want 6", n.AllActions())
	}
}

// Left out, it is reject.
func TestStoreDownReject(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"", "store_down reject"} {
		t.Run(or(option, "by default"), func(t *testing.T) {
			n := fake.Start(t)
			g := startGate(t, n, config{webhook: option})
			g.fillDisk(1)
			wantTransient(t, g.deliver("evt_1"), "store_unavailable")
			if n.Connections() != 0 {
				t.Error("it was forwarded")
			}
			g.freeDisk()
		})
	}
}

// The bound of what is forwarded at once holds without a store, too.
func TestStoreDownPassStaysWithinMaxInFlight(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startGate(t, n, config{webhook: "store_down pass\nmax_in_flight 1"})
	g.fillDisk(1)
	hold := fake.NewHold(t, fake.Work)
	n.Next(hold.Behave)
	first := g.later("evt_1")
	hold.Await()
	second := g.deliver("evt_2")
	hold.Release()
	want(t, got(t, first), http.StatusOK, "passed")
	g.freeDisk()
	wantTransient(t, second, "overloaded")
}
