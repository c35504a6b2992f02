package provider_test

import (
	"errors"
	"maps"
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

// recognise is what a gate does with a request until it knows whether it is a
// handshake.
func (g gate) recognise(r providertest.Request) (*provider.Challenge, bool) {
	if c, ok := g.sender.Unsigned(r.Method, input(r)); ok {
		return c, true
	}
	if g.sender.Verify(r.HTTP(), r.Body) != nil {
		return nil, false
	}
	return g.sender.Authenticated(r.Method, input(r))
}

func TestEveryHandshakeIsAnswered(t *testing.T) {
	want := map[string]provider.Answer{
		"slack url_verification":  {Status: 200, ContentType: "text/plain; charset=utf-8", Body: "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", Header: map[string]string{"X-Content-Type-Options": "nosniff"}},
		"slack_command ssl_check": {Status: 200},
		"meta subscription":       {Status: 200, ContentType: "text/plain; charset=utf-8", Body: "1158201444", Header: map[string]string{"X-Content-Type-Options": "nosniff"}},
		"line verify":             {Status: 200},
		"woocommerce ping":        {Status: 200},
		"cal_com ping":            {Status: 200},
	}
	for _, p := range provider.All() {
		sent := providertest.Handshakes(p.Name)
		if len(sent) != len(p.Handshakes) {
			t.Errorf("%s: test data for %d handshakes of %d", p.Name, len(sent), len(p.Handshakes))
		}
		for name, r := range sent {
			t.Run(p.Name+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGate(t, p.Name, providertest.Settings(p.Name))
					i := slices.IndexFunc(p.Handshakes, func(h provider.Handshake) bool { return h.Name == name })
					if i < 0 {
						t.Fatal("no such handshake")
					}
					if _, ok := g.recognise(r); ok == p.Handshakes[i].Signed {
						t.Errorf("recognised without a signature: %t", ok)
					}
					if p.Handshakes[i].Signed {
						r = providertest.Sign(r, time.Now())
					}
					c, ok := g.recognise(r)
					if !ok || c.Name() != name {
						t.Fatalf("recognised: %t", ok)
					}
					have, err := c.Answer()
					if err != nil {
						t.Fatal(err)
					}
					if w := want[p.Name+" "+name]; have.Status != w.Status || have.Body != w.Body || have.ContentType != w.ContentType || !maps.Equal(have.Header, w.Header) {
						t.Errorf("answered %+v, want %+v", have, w)
					}
					if key, err := g.key.Extract(input(r)); err == nil {
						t.Errorf("it has the key %s, so it could be an event", key)
					}
				})
			})
		}
	}
}

// No event of any sender is taken for a handshake of any.
func TestEventsAreNoHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, p := range provider.All() {
			g := newGate(t, p.Name, providertest.Settings(p.Name))
			for _, q := range provider.Names() {
				for _, c := range providertest.Cases(q) {
					for _, r := range append([]providertest.Request{c.Event, c.Retry}, c.Alike...) {
						if challenge, ok := g.sender.Unsigned(r.Method, input(providertest.Sign(r, time.Now()))); ok {
							t.Errorf("%s takes %s of %s for its %s", p.Name, r.Name, q, challenge.Name())
						}
						if challenge, ok := g.sender.Authenticated(r.Method, input(r)); ok {
							t.Errorf("%s takes %s of %s for its %s", p.Name, r.Name, q, challenge.Name())
						}
					}
				}
			}
		}
	})
}

func TestShapesOfHandshakesAreExact(t *testing.T) {
	post := func(preset, kind, body string) providertest.Request {
		r := providertest.Request{Preset: preset, Method: "POST", Target: "/webhook/x", Header: map[string][]string{"Content-Type": {kind}}, Body: []byte(body)}
		return r
	}
	get := func(query string) providertest.Request {
		return providertest.Request{Preset: "meta", Method: "GET", Target: "/webhook/x?" + query, Header: map[string][]string{}}
	}
	const form, text = "application/x-www-form-urlencoded", "application/json"
	tests := []struct {
		name string
		r    providertest.Request
	}{
		{"woocommerce, another field", post("woocommerce", form, "webhook_id=7&a=b")},
		{"woocommerce, no number", post("woocommerce", form, "webhook_id=x")},
		{"woocommerce, too long", post("woocommerce", form, "webhook_id="+strings.Repeat("1", 21))},
		{"woocommerce, a line more", post("woocommerce", form, "webhook_id=7\n")},
		{"meta, another mode", get("hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=meatyhamhock")},
		{"meta, no challenge", get("hub.mode=subscribe&hub.verify_token=meatyhamhock")},
		{"meta, mode twice", get("hub.mode=subscribe&hub.mode=x&hub.challenge=1&hub.verify_token=meatyhamhock")},
		{"slack_command, with a command", post("slack_command", form, "ssl_check=1&command=%2Fdeploy")},
		{"slack, with an event", post("slack", text, `{"type":"url_verification","challenge":"x","event_id":"Ev1"}`)},
		{"slack, type twice", post("slack", text, `{"type":"url_verification","challenge":"x","type":"event_callback"}`)},
		{"line, an event", post("line", text, `{"events":[{}]}`)},
		{"line, no list", post("line", text, `{"events":{}}`)},
		{"line, null", post("line", text, `{"events":null}`)},
		{"line, absent", post("line", text, `{}`)},
		{"line, twice", post("line", text, `{"events":[{"webhookEventId":"a"}],"events":[]}`)},
		{"line, twice the other way", post("line", text, `{"events":[],"events":[{"webhookEventId":"a"}]}`)},
		{"line, escaped", post("line", text, `{"events":[],"\u0065vents":[{"webhookEventId":"a"}]}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, tt.r.Preset, providertest.Settings(tt.r.Preset))
			if c, ok := g.sender.Unsigned(tt.r.Method, input(tt.r)); ok {
				t.Errorf("taken for %s", c.Name())
			}
			if c, ok := g.sender.Authenticated(tt.r.Method, input(tt.r)); ok {
				t.Errorf("taken for %s", c.Name())
			}
		})
	}
}

// A wrong word is refused, a challenge that could be markup is not echoed, and
// without a word of the user's nothing is answered.
func TestChallengesThatAreNotAnswered(t *testing.T) {
	tests := []struct {
		name, query string
		want        error
	}{
		{"wrong word", "hub.verify_token=meatyhamhoc&hub.challenge=1", provider.ErrProof},
		{"no word", "hub.challenge=1", provider.ErrProof},
		{"word twice", "hub.verify_token=meatyhamhock&hub.verify_token=x&hub.challenge=1", provider.ErrProof},
		{"markup", "hub.verify_token=meatyhamhock&hub.challenge=%3Cscript%3E", provider.ErrChallenge},
		{"quote", "hub.verify_token=meatyhamhock&hub.challenge=%22", provider.ErrChallenge},
		{"line feed", "hub.verify_token=meatyhamhock&hub.challenge=1%0A2", provider.ErrChallenge},
		{"not ASCII", "hub.verify_token=meatyhamhock&hub.challenge=%C3%BC", provider.ErrChallenge},
		{"long", "hub.verify_token=meatyhamhock&hub.challenge=" + strings.Repeat("1", 513), provider.ErrChallenge},
	}
	g := newGate(t, "meta", providertest.Settings("meta"))
	silent := newGate(t, "meta", provider.Settings{"secret": {"x"}})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := keyextract.Input{RawQuery: "hub.mode=subscribe&" + tt.query}
			c, ok := g.sender.Unsigned("GET", in)
			if !ok {
				t.Fatal("not recognised")
			}
			if a, err := c.Answer(); !errors.Is(err, tt.want) || a.Body != "" {
				t.Errorf("answered %+v, %v, want %v", a, err, tt.want)
			}
			if _, ok := silent.sender.Unsigned("GET", in); ok {
				t.Error("recognised without a word to compare")
			}
		})
	}
	if silent.sender.HasUnsigned("GET") || !g.sender.HasUnsigned("GET") || g.sender.HasUnsigned("HEAD") {
		t.Error("HasUnsigned")
	}
}

// The types hold the challenges of senders that are not there yet.
func TestOtherSendersHandshakes(t *testing.T) {
	header := func(name string) keyextract.Source {
		return keyextract.Source{Kind: keyextract.KindHeader, Name: name}
	}
	json := func(path string) keyextract.Source {
		return keyextract.Source{Kind: keyextract.KindJSON, Path: path}
	}
	query := func(name string) keyextract.Source {
		return keyextract.Source{Kind: keyextract.KindQuery, Name: name}
	}
	at := func(s keyextract.Source) *keyextract.Source { return &s }
	tests := []struct {
		name      string
		handshake provider.Handshake
		method    string
		in        keyextract.Input
		want      provider.Answer
		err       error
	}{
		{
			// The MACs here were computed by OpenSSL.
			"Zoom", provider.Handshake{
				Signed: true, Method: "POST", When: []provider.Condition{{Source: json("event"), Is: []string{"endpoint.url_validation"}}},
				Challenge: at(json("payload.plainToken")), Reply: provider.Reply{Members: []provider.Member{{Name: "plainToken"}, {Name: "encryptedToken", MAC: "secret"}}},
			}, "POST", keyextract.Input{Body: []byte(`{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}`)},
			provider.Answer{Status: 200, ContentType: "application/json", Body: `{"encryptedToken":"f54f2d5fee8f181aab8371bada7fed9bb675eae464f18ed4fb91715244b58ef4","plainToken":"qgg8vlvZRS6UYooatFL8Aw"}`}, nil,
		}, {
			"X", xHandshake(), "GET", keyextract.Input{RawQuery: "crc_token=abc"},
			provider.Answer{Status: 200, ContentType: "application/json", Body: `{"response_token":"sha256=Ty8wqvSle9YKtHPI6cLN/vwYZyPUcn7W8x8ENTyROJo="}`}, nil,
		}, {
			"X as a signing oracle", xHandshake(), "GET", keyextract.Input{RawQuery: "crc_token=%7B%22a%22:1%7D"}, provider.Answer{}, provider.ErrChallenge,
		}, {
			"X, a message with a time", xHandshake(), "GET", keyextract.Input{RawQuery: "crc_token=1790000000.x"}, provider.Answer{}, provider.ErrChallenge,
		}, {
			"Asana", provider.Handshake{Method: "POST", NoBody: true, Challenge: at(header("X-Hook-Secret")), Reply: provider.Reply{Header: "X-Hook-Secret"}},
			"POST", keyextract.Input{Header: map[string][]string{"X-Hook-Secret": {"b537207f"}}},
			provider.Answer{Status: 200, Header: map[string]string{"X-Hook-Secret": "b537207f"}}, nil,
		}, {
			"Discord", provider.Handshake{
				Signed: true, Method: "POST", When: []provider.Condition{{Source: json("type"), Is: []string{"1"}}},
				Reply: provider.Reply{Fixed: provider.Answer{Status: 200, ContentType: "application/json", Body: `{"type":1}`}},
			}, "POST", keyextract.Input{Body: []byte(`{"type":1}`)},
			provider.Answer{Status: 200, ContentType: "application/json", Body: `{"type":1}`}, nil,
		}, {
			"Microsoft Graph", provider.Handshake{Method: "POST", NoBody: true, Challenge: at(query("validationToken")), Reply: provider.Reply{Text: true}},
			"POST", keyextract.Input{RawQuery: "validationToken=Validation%3A+Testing+client"},
			provider.Answer{Status: 200, ContentType: "text/plain; charset=utf-8", Body: "Validation: Testing client"}, nil,
		}, {
			"Trello", provider.Handshake{Method: "HEAD", NoBody: true}, "HEAD", keyextract.Input{}, provider.Answer{Status: 200}, nil,
		}, {
			"HubSpot's empty batch", provider.Handshake{Signed: true, Method: "POST", EmptyList: "@this"}, "POST", keyextract.Input{Body: []byte(" [ ]")}, provider.Answer{Status: 200}, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := *mustLookup(t, "github")
			p.Handshakes = []provider.Handshake{tt.handshake}
			sender, err := p.Configure(provider.Settings{"secret": {"s3cret"}}, signature.World{})
			if err != nil {
				t.Fatal(err)
			}
			recognise := sender.Unsigned
			if tt.handshake.Signed {
				recognise = sender.Authenticated
			}
			c, ok := recognise(tt.method, tt.in)
			if !ok {
				t.Fatal("not recognised")
			}
			have, err := c.Answer()
			if !errors.Is(err, tt.err) || have.Status != tt.want.Status || have.Body != tt.want.Body || have.ContentType != tt.want.ContentType ||
				tt.want.Header != nil && !maps.Equal(have.Header, tt.want.Header) {
				t.Errorf("answered %+v, %v, want %+v, %v", have, err, tt.want, tt.err)
			}
		})
	}
}

func xHandshake() provider.Handshake {
	token := keyextract.Source{Kind: keyextract.KindQuery, Name: "crc_token"}
	return provider.Handshake{
		Method: "GET", NoBody: true, Challenge: &token,
		Reply: provider.Reply{Members: []provider.Member{{Name: "response_token", MAC: "secret", Base64: true, Prefix: "sha256="}}},
	}
}

func mustLookup(t *testing.T, name string) *provider.Preset {
	t.Helper()
	p, err := provider.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
