package provider_test

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/provider"
	"github.com/n8n-gate/n8n-gate/provider/providertest"
	"github.com/n8n-gate/n8n-gate/signature"
)

// gate is what of a gate concerns a preset: who sent it, and which event it is.
type gate struct {
	preset      *provider.Preset
	sender      *provider.Sender
	key         *provider.Key
	fingerprint *keyextract.Fingerprint
}

func newGate(t *testing.T, preset string, settings provider.Settings) gate {
	t.Helper()
	p, err := provider.Lookup(preset)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := p.Configure(settings, signature.World{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := p.Key(0)
	if err != nil {
		t.Fatal(err)
	}
	fingerprint, err := keyextract.CompileFingerprint(p.Fingerprint.Members)
	if err != nil {
		t.Fatal(err)
	}
	return gate{p, sender, key, fingerprint}
}

func input(r providertest.Request) keyextract.Input {
	request := r.HTTP()
	return keyextract.Input{Header: request.Header, Body: r.Body, RawQuery: request.URL.RawQuery}
}

// receive is authenticate and extract.
func (g gate) receive(r providertest.Request) (keyextract.Key, error) {
	if err := g.sender.Verify(r.HTTP(), r.Body); err != nil {
		return keyextract.Key{}, err
	}
	return g.key.Extract(input(r))
}

func (g gate) sum(r providertest.Request) [sha256.Size]byte {
	request := r.HTTP()
	return g.fingerprint.Sum(keyextract.FingerprintInput{
		Method: r.Method, Path: request.URL.Path, RawQuery: request.URL.RawQuery, Header: request.Header, Body: r.Body,
	})
}

// retryAfter is how much later each sender's retry comes at least, and at most.
const retryAfter = 4 * time.Minute

// One event keeps its key over retries, another has its own, however alike.
func TestEveryPresetKnowsItsEvents(t *testing.T) {
	for _, p := range provider.All() {
		cases := providertest.Cases(p.Name)
		if len(cases) == 0 {
			t.Errorf("%s: no test data", p.Name)
		}
		for _, settings := range settingsOf(p.Name) {
			for _, c := range cases {
				t.Run(p.Name+"/"+c.Name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { knowsItsEvents(t, p.Name, settings, c) })
				})
			}
		}
	}
}

// settingsOf are the ways in which a user may set a preset up.
func settingsOf(preset string) []map[string][]string {
	all := []map[string][]string{providertest.Settings(preset)}
	switch preset {
	case "gitlab":
		all = append(all, map[string][]string{"token": {"test-token"}})
	case "hubspot":
		all = append(all, map[string][]string{"secret_v1": {"test-secret"}})
	}
	return all
}

func knowsItsEvents(t *testing.T, preset string, settings map[string][]string, c providertest.Case) {
	g := newGate(t, preset, settings)
	first := providertest.SignWith(c.Event, settings, time.Now())
	key, err := g.receive(first)
	if err != nil {
		t.Fatalf("the event is refused: %v", err)
	}
	time.Sleep(retryAfter)
	retry := providertest.SignWith(c.Retry, settings, time.Now())
	if g.preset.Retries.Signed == provider.SignedUnknown {
		// Both ways must do: signed anew and with the first time.
		if again, err := g.receive(first); err != nil || again.String() != key.String() {
			t.Errorf("a retry with the first signature: %v, %v", again, err)
		}
	}
	again, err := g.receive(retry)
	if err != nil {
		t.Fatalf("the retry is refused: %v", err)
	}
	if again.String() != key.String() {
		t.Errorf("the retry has the key %s, the event %s", again, key)
	}
	if !g.preset.Fingerprint.Off && g.sum(retry) != g.sum(first) {
		t.Error("the retry has another fingerprint")
	}
	keys := []string{key.String()}
	for _, r := range c.Alike {
		other, err := g.receive(providertest.SignWith(r, settings, time.Now()))
		if err != nil {
			t.Fatalf("%s is refused: %v", r.Name, err)
		}
		if slices.Contains(keys, other.String()) {
			t.Errorf("%s, another event, has the key %s", r.Name, other)
		}
		keys = append(keys, other.String())
	}
}

// Nothing that was changed on the way gets in: each byte of the body and of every
// header that authenticates.
func TestForgedDeliveriesAreRefused(t *testing.T) {
	for _, p := range provider.All() {
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, settings := range settingsOf(p.Name) {
					forged(t, newGate(t, p.Name, settings), settings)
				}
			})
		})
	}
}

func forged(t *testing.T, g gate, settings map[string][]string) {
	name := g.preset.Name
	event := providertest.Cases(name)[0].Event
	signed := providertest.SignWith(event, settings, time.Now())
	if _, err := g.receive(signed); err != nil {
		t.Fatal(err)
	}
	if _, err := g.receive(event); err == nil {
		t.Error("accepted without a signature")
	}
	other := make(map[string][]string)
	for option, values := range settings {
		other[option] = values
		if option == "secret" || option == "token" || option == "secret_v1" {
			other[option] = []string{values[0][:len(values[0])-4] + "AAAA"}
		}
	}
	if _, err := g.receive(providertest.SignWith(event, other, time.Now())); err == nil {
		t.Error("accepted with another secret")
	}
	for header := range signed.Header {
		if slices.Contains(event.Header.Values(header), signed.Header.Get(header)) {
			continue // not part of the proof
		}
		for i := range signed.Header.Get(header) {
			r := signed.Clone()
			value := []byte(r.Header.Get(header))
			if value[i] ^= 1; value[i] < ' ' {
				continue
			}
			r.Header.Set(header, string(value))
			if key, err := g.receive(r); err == nil && !harmless(name, header, signed.Header.Get(header)[i:]) {
				t.Errorf("accepted with byte %d of %s changed, as %s", i, header, key)
			}
		}
	}
	if !g.sender.NeedsBody() {
		return
	}
	for i := range signed.Body {
		r := signed.Clone()
		r.Body[i] ^= 1
		if _, err := g.receive(r); err == nil {
			t.Fatalf("accepted with byte %d of the body changed", i)
		}
	}
}

// harmless are the bytes of a header that prove nothing, with what stands behind them:
// Stripe's v0, and the version of HubSpot's signature.
func harmless(preset, header, rest string) bool {
	return preset == "stripe" && !strings.Contains(rest, ",v0=") ||
		preset == "hubspot" && header == "X-Hubspot-Signature-Version"
}

// What one sender sends means nothing to another's preset, not even with its secret:
// it is refused, or has no key.
func TestPresetsDoNotKnowEachOthersEvents(t *testing.T) {
	// What Svix calls white label and GitLab a signing token is Standard Webhooks.
	family := map[string]bool{"svix": true, "standard_webhooks": true, "gitlab": true}
	synctest.Test(t, func(t *testing.T) {
		for _, p := range provider.All() {
			for _, q := range provider.All() {
				if p == q {
					continue
				}
				settings := providertest.Settings(p.Name)
				g := newGate(t, p.Name, settings)
				sent := make(map[string][]string) // q's sender has p's secret
				for option := range providertest.Settings(q.Name) {
					for _, values := range []([]string){settings["secret"], settings["token"]} {
						if len(values) > 0 {
							sent[option] = values
						}
					}
				}
				if family[q.Name] && !family[p.Name] {
					continue // no such key can be decoded
				}
				for _, c := range providertest.Cases(q.Name) {
					r := providertest.SignWith(c.Event, sent, time.Now())
					key, err := g.receive(r)
					if err == nil && !(family[p.Name] && family[q.Name]) {
						t.Errorf("%s takes %s's %s for %s", p.Name, q.Name, c.Name, key)
					}
				}
			}
		}
	})
}

// A batch has no key of its own, and is never taken for its first event.
func TestBatchesAreRefused(t *testing.T) {
	tests := []struct{ preset, body string }{
		{"line", `{"destination":"U","events":[{"webhookEventId":"a"},{"webhookEventId":"b"}]}`},
		{"hubspot", `[{"eventId":1,"subscriptionId":1,"occurredAt":1,"portalId":1},{"eventId":2,"subscriptionId":1,"occurredAt":1,"portalId":1}]`},
		{"meta", `{"entry":[{"changes":[{"value":{"messages":[{"id":"a"}]}}]},{"changes":[{"value":{"messages":[{"id":"b"}]}}]}]}`},
		{"meta", `{"entry":[{"changes":[{"value":{"messages":[{"id":"a"}]}},{"value":{"messages":[{"id":"b"}]}}]}]}`},
		{"meta", `{"entry":[{"changes":[{"value":{"messages":[{"id":"a"},{"id":"b"}]}}]}]}`},
		{"meta", `{"entry":[{"changes":[{"value":{"statuses":[{"id":"a","status":"sent"},{"id":"b","status":"sent"}]}}]}]}`},
		{"meta", `{"entry":[{"changes":[{"value":{"messages":[{"id":"a"}],"statuses":[{"id":"b","status":"sent"}]}}]}]}`},
		{"meta", `{"entry":[{"messaging":[{"message":{"mid":"a"}},{"message":{"mid":"b"}}]}]}`},
	}
	for _, tt := range tests {
		g := newGate(t, tt.preset, providertest.Settings(tt.preset))
		key, err := g.key.Extract(keyextract.Input{Body: []byte(tt.body)})
		var bad *keyextract.Error
		if !errors.As(err, &bad) || bad.Missing {
			t.Errorf("%s, %s: %v, %v, want it malformed", tt.preset, tt.body, key, err)
		}
	}
}

// What a preset does not know is missing its key, and may pass as a ping only if
// nothing of an event is there.
func TestUnknownDeliveriesHaveNoKey(t *testing.T) {
	tests := []struct {
		preset, body string
		ping         bool
	}{
		{"meta", `{"object":"page","entry":[{"id":"1","changes":[{"field":"feed","value":{"item":"post"}}]}]}`, true},
		{"stripe", `{"object":"event"}`, true},
		{"cal_com", `{"triggerEvent":"OOO_CREATED","createdAt":"2026-09-30T10:00:00Z","payload":{"oooEntry":{}}}`, false},
		{"woocommerce", `{"action":"x"}`, true},
	}
	for _, tt := range tests {
		g := newGate(t, tt.preset, providertest.Settings(tt.preset))
		_, err := g.key.Extract(keyextract.Input{Body: []byte(tt.body)})
		var bad *keyextract.Error
		if !errors.As(err, &bad) || !bad.Missing || bad.All != tt.ping {
			t.Errorf("%s: %v, want it missing, ping %t", tt.preset, err, tt.ping)
		}
	}
}

// Who strips the signed name of an id does not get to choose another.
func TestTheSignedIDCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := providertest.Settings("svix")
		g := newGate(t, "svix", settings)
		white := providertest.Sign(providertest.Cases("svix")[1].Event, time.Now())
		white.Header.Set("Svix-Id", "msg_chosen")
		if key, err := g.receive(white); err == nil {
			t.Errorf("svix: an id that nobody signed made the key %s", key)
		}
		settings = providertest.Settings("gitlab")
		g = newGate(t, "gitlab", settings)
		push := providertest.Sign(providertest.Cases("gitlab")[0].Event, time.Now())
		want, err := g.receive(push)
		if err != nil {
			t.Fatal(err)
		}
		push.Header.Set("Idempotency-Key", "chosen")
		if key, err := g.receive(push); err != nil || key.String() != want.String() {
			t.Errorf("gitlab: key %s, %v, want %s", key, err, want)
		}
	})
}

// TestWildcards: the path's segments are parts of keys, and nothing of what tells the
// shapes of deliveries and challenges apart.
func TestWildcards(t *testing.T) {
	for _, name := range providertest.Presets() {
		g := newGate(t, name, providertest.Settings(name))
		key, err := g.preset.Key(1)
		if err != nil {
			t.Fatal(err)
		}
		at := func(r providertest.Request, segment string) keyextract.Input {
			in := input(r)
			in.Segments = []string{segment}
			return in
		}
		for _, c := range providertest.Cases(name) {
			plain, err := g.key.Extract(input(c.Event))
			if err != nil {
				t.Fatal(err)
			}
			one, err := key.Extract(at(c.Event, "one"))
			if err != nil || !slices.Equal(one.Parts(), append([]string{"one"}, plain.Parts()...)) {
				t.Errorf("%s %s: below a wildcard the key is %q (%v), want one in front of %q", name, c.Name, one.Parts(), err, plain.Parts())
			}
		}
		for challenge, r := range providertest.Handshakes(name) {
			_, unsigned := g.sender.Unsigned(r.Method, at(r, "one"))
			_, signed := g.sender.Authenticated(r.Method, at(r, "one"))
			if !unsigned && !signed {
				t.Errorf("%s: %s is not recognised below a wildcard", name, challenge)
			}
		}
	}
}
