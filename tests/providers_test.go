package tests

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/provider"
	"github.com/n8n-gate/n8n-gate/provider/providertest"
	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// providerBlock is what a user writes for a preset, and the environment with its
// secrets.
func providerBlock(p *provider.Preset) (block string, env []string) {
	settings := providertest.Settings(p.Name)
	block = "provider " + p.Name + " {\n"
	for _, option := range slices.Sorted(maps.Keys(settings)) {
		value := settings[option][0]
		if slices.ContainsFunc(p.Options, func(o provider.Option) bool { return o.Name == option && o.Secret }) {
			name := strings.ToUpper(p.Name + "_" + option)
			env, value = append(env, name+"="+value), "{env."+name+"}"
		}
		block += option + " " + value + "\n"
	}
	return block + "}\n", env
}

// startSender starts a gate that a preset's requests go to, under the host that their
// sender signs.
func startSender(t *testing.T, n *fake.N8N, preset, more string) *gate {
	t.Helper()
	p, err := provider.Lookup(preset)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, n, config{host: strings.TrimPrefix(providertest.PublicURL, "https://")})
	block, env := providerBlock(p)
	g.env = append(g.env, env...)
	for _, path := range paths(preset) {
		g.config.webhooks += fmt.Sprintf("webhook %s {\noperation %s\n%s%s}\n", path, preset, block, more)
	}
	g.start()
	return g
}

// paths are those to which a preset's requests go, below the prefix.
func paths(preset string) []string {
	var all []string
	add := func(r providertest.Request) {
		path, _, _ := strings.Cut(strings.TrimPrefix(r.Target, "/webhook/"), "?")
		if !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	for _, c := range providertest.Cases(preset) {
		add(c.Event)
		add(c.Retry)
		for _, r := range c.Alike {
			add(r)
		}
	}
	for _, r := range providertest.Handshakes(preset) {
		add(r)
	}
	return all
}

// sends is a request of a sender, as it comes in through the gate's own address.
func (g *gate) sends(r providertest.Request) answer {
	g.t.Helper()
	request, err := r.Client(context.Background(), fmt.Sprintf("http://127.0.0.1:%d", g.port))
	if err != nil {
		return answer{err: err}
	}
	response, err := g.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	return read(response)
}

// With nothing but `provider NAME { secret … }`, one event is one action however it
// is delivered, others are others, and what is forged leaves no trace.
func TestProviders(t *testing.T) {
	t.Parallel()
	for _, p := range provider.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			n := fake.Start(t)
			g := startSender(t, n, p.Name, "")
			for _, c := range providertest.Cases(p.Name) {
				t.Run(c.Name, func(t *testing.T) { g.in(t).provesItself(n, c) })
			}
		})
	}
}

func (g *gate) provesItself(n *fake.N8N, c providertest.Case) {
	forged := providertest.Sign(c.Event, time.Now())
	spoil(forged.Header)
	operation := map[string]string{"operation": c.Event.Preset}
	records, acted := len(g.list(operation)), n.AllActions()
	a := g.sends(forged)
	if a.status/100 == 2 || a.decision() != "unauthenticated" {
		g.t.Errorf("a forged delivery got %v", a)
	}
	if len(g.list(operation)) != records || n.AllActions() != acted {
		g.t.Errorf("a forged delivery left a trace")
	}

	first := g.sends(providertest.Sign(c.Event, time.Now()))
	want(g.t, first, http.StatusOK, "new")
	wantReplay(g.t, g.sends(providertest.Sign(c.Retry, time.Now().Add(time.Second))), first)
	for _, alike := range c.Alike {
		want(g.t, g.sends(providertest.Sign(alike, time.Now())), http.StatusOK, "new")
	}
	if got := n.AllActions() - acted; got != 1+len(c.Alike) {
		g.t.Errorf("%d actions for %d events", got, 1+len(c.Alike))
	}
}

// Where a signature leaves the key out, what was caught could be sent again under
// another: one body under two keys waits for a person.
func TestProvidersReusedBody(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startSender(t, n, "github", "")
	event := providertest.Cases("github")[0].Event
	want(t, g.sends(providertest.Sign(event, time.Now())), http.StatusOK, "new")
	event.Header.Set("X-GitHub-Delivery", "0a1b2c3d-0000-4000-8000-000000000000")
	want(t, g.sends(providertest.Sign(event, time.Now())), http.StatusConflict, "conflict")
	if got := n.AllActions(); got != 1 {
		t.Errorf("%d actions", got)
	}
}

// spoil changes one letter of every header that proves something: the first of the
// signature that counts where there are several, or the last.
func spoil(h http.Header) {
	for name, values := range h {
		lower := strings.ToLower(name)
		if !strings.Contains(lower, "signature") && !strings.Contains(lower, "token") && !strings.Contains(lower, "hmac") {
			continue
		}
		at := len(strings.TrimRight(values[0], "=")) - 1
		if i := strings.Index(values[0], "v1="); i >= 0 {
			at = i + len("v1=")
		}
		other := "1"
		if values[0][at] == '1' {
			other = "0"
		}
		h[name] = []string{values[0][:at] + other + values[0][at+1:]}
	}
}

// Challenges are answered without a claim or an action; before the sender's trigger
// node n8n answers them itself.
func TestProvidersChallenges(t *testing.T) {
	t.Parallel()
	for _, p := range provider.All() {
		handshakes := providertest.Handshakes(p.Name)
		if len(handshakes) == 0 {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			n := fake.Start(t)
			answers, passes := startSender(t, n, p.Name, ""), startSender(t, n, p.Name, "handshake pass\n")
			for name, r := range handshakes {
				t.Run(name, func(t *testing.T) {
					if p.Handshakes[slices.IndexFunc(p.Handshakes, func(h provider.Handshake) bool { return h.Name == name })].Signed {
						r = providertest.Sign(r, time.Now())
					}
					want(t, answers.in(t).sends(r), http.StatusOK, "handshake")
					if n.AllActions() != 0 {
						t.Error("n8n was asked")
					}
					if a := passes.in(t).sends(r); a.decision() != "passed" {
						t.Errorf("handshake pass: got %v", a)
					}
				})
			}
			for _, g := range []*gate{answers, passes} {
				if found := g.in(t).list(map[string]string{"operation": p.Name}); len(found) != 0 {
					t.Errorf("%d records", len(found))
				}
			}
		})
	}
}
