package tests

import (
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// record is what the desk says about one event.
type record struct {
	Operation  string    `json:"operation"`
	EventKey   string    `json:"event_key"`
	State      string    `json:"state"`
	Reason     string    `json:"reason"`
	Version    uint64    `json:"version"`
	Attempt    int       `json:"attempt"`
	Refused    int       `json:"refused"`
	Generation int       `json:"generation"`
	ActionID   string    `json:"action_id"`
	Unproven   bool      `json:"unproven"`
	Deadline   time.Time `json:"deadline"`
	History    []struct {
		From   string `json:"from"`
		To     string `json:"to"`
		Reason string `json:"reason"`
		By     string `json:"by"`
		Note   string `json:"note"`
	} `json:"history"`
}

const operation = "create_order"

// show returns the record of an event of operation create_order; found is false
// if there is none. It asks the admin API itself, because it asks often; the
// command that does the same has tests of its own (desk_test.go).
func (g *gate) show(key string) (r record, found bool) {
	g.t.Helper()
	a := g.ask("/n8n_gate/show", map[string]string{"operation": operation, "event_key": key})
	if a.status == http.StatusNotFound {
		return record{}, false
	}
	g.decode(a, &r)
	return r, true
}

// list returns all records that the filters select.
func (g *gate) list(filters map[string]string) []record {
	g.t.Helper()
	var all []record
	for query := maps.Clone(filters); ; {
		var page struct {
			Records []record `json:"records"`
			Next    string   `json:"next"`
		}
		g.decode(g.ask("/n8n_gate/list", query), &page)
		all = append(all, page.Records...)
		if page.Next == "" {
			return all
		}
		if query == nil {
			query = map[string]string{}
		}
		query["after"] = page.Next
	}
}

func (g *gate) ask(path string, query map[string]string) answer {
	g.t.Helper()
	body, err := json.Marshal(query)
	if err != nil {
		g.t.Fatal(err)
	}
	if query == nil {
		body = []byte("{}")
	}
	return g.askAdmin(http.MethodPost, path, "application/json", string(body))
}

func (g *gate) decode(a answer, into any) {
	g.t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil || a.status != http.StatusOK {
		g.t.Fatalf("the desk says %v (%v)", a, err)
	}
}

// desk runs a command of the desk with --json.
func (g *gate) desk(args ...string) (stdout, stderr string, ok bool) {
	g.t.Helper()
	return g.run(append(append([]string{"n8n-gate"}, args...), "--address", g.adminAddress(), "--json")...)
}

// resolve is a person's decision about an ambiguous event.
func (g *gate) resolve(key string, args ...string) {
	g.t.Helper()
	out, errOut, ok := g.desk(append([]string{"resolve", operation, key, "--reason", "looked it up in the shop"}, args...)...)
	if !ok {
		g.t.Fatalf("resolve failed: %s%s", out, errOut)
	}
}

// wantState checks where an event stands, and why.
func (g *gate) wantState(key, state, reason string) record {
	g.t.Helper()
	r, found := g.show(key)
	if !found || r.State != state || (reason != "" && r.Reason != reason) {
		g.t.Fatalf("event %q is %q, reason %q (found: %v), want %q, %q", key, r.State, r.Reason, found, state, reason)
	}
	return r
}

// wantNoRecord checks that nothing is known of an event.
func (g *gate) wantNoRecord(key string) {
	g.t.Helper()
	if r, found := g.show(key); found {
		g.t.Fatalf("event %q is %q, want no record", key, r.State)
	}
}

// awaitState waits until an event stands where it should: a process beside us
// tells nobody, so this asks again and again.
func (g *gate) awaitState(key, state string) record {
	g.t.Helper()
	var r record
	for deadline := time.Now().Add(fake.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if r, _ = g.show(key); r.State == state {
			return r
		}
	}
	g.t.Fatalf("event %q stays %q, reason %q; want %q", key, r.State, r.Reason, state)
	return r
}
