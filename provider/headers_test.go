package provider_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/n8n-gate/n8n-gate/provider"
	"github.com/n8n-gate/n8n-gate/provider/providertest"
	"github.com/n8n-gate/n8n-gate/signature"
)

// proofs are the headers that a sender's signature adds to an event.
func proofs(event, signed providertest.Request) []string {
	var names []string
	for name := range signed.Header {
		if _, had := event.Header[name]; !had {
			names = append(names, name)
		}
	}
	return names
}

// Headers that no sender sends are refused, and soon.
func TestOddHeadersAreRefused(t *testing.T) {
	odd := []string{
		"", " ", ",", "=", "t=", "v1=", "t=,v1=", "sha256=", "v0=", "v1,", "whsec_", "no-secret-provided", "\x00", "ü",
		strings.Repeat("9", 400), "-1", "1e9", "99999999999999999999", "9223372036854775807",
		strings.Repeat("v1=00,", 5000), strings.Repeat("v1,AAAA ", 5000), strings.Repeat("t=1,", 5000), strings.Repeat("=", 100000),
	}
	for _, p := range provider.All() {
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, settings := range settingsOf(p.Name) {
					g := newGate(t, p.Name, settings)
					event := providertest.Cases(p.Name)[0].Event
					signed := providertest.SignWith(event, settings, time.Now())
					for _, name := range proofs(event, signed) {
						if name == "X-Hubspot-Signature-Version" || name == "Webhook-Id" {
							continue // proves nothing, or may be anything that is signed
						}
						for _, value := range odd {
							r := signed.Clone()
							r.Header.Set(name, value)
							if g.sender.Verify(r.HTTP(), r.Body) == nil {
								t.Errorf("accepted with %s: %.40q", name, value)
							}
						}
						twice := signed.Clone()
						twice.Header.Add(name, signed.Header.Get(name))
						if g.sender.Verify(twice.HTTP(), twice.Body) == nil {
							t.Errorf("accepted with %s twice", name)
						}
					}
				}
			})
		})
	}
}

// A signature is good for as long as the sender may take, both ways.
func TestSignaturesGrowStale(t *testing.T) {
	tests := map[string]time.Duration{
		"stripe": 5 * time.Minute, "slack": 15 * time.Minute, "slack_command": 5 * time.Minute, "slack_interactivity": 5 * time.Minute,
		"calendly": 25 * time.Hour, "hubspot": 25 * time.Hour, "standard_webhooks": 5 * time.Minute, "svix": 5 * time.Minute, "gitlab": 5 * time.Minute,
	}
	for name, allowed := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, name, providertest.Settings(name))
				event := providertest.Cases(name)[0].Event
				for _, at := range []time.Duration{-allowed, allowed} {
					r := providertest.Sign(event, time.Now().Add(at))
					if err := g.sender.Verify(r.HTTP(), r.Body); err != nil {
						t.Errorf("%s from now: %v", at, err)
					}
					r = providertest.Sign(event, time.Now().Add(at+at/at.Abs()*time.Second))
					if err := g.sender.Verify(r.HTTP(), r.Body); !errors.Is(err, signature.ErrStale) {
						t.Errorf("a second beyond %s: %v", at, err)
					}
				}
			})
		})
	}
}

// While a secret is rotated both are good, and neither is when it is gone.
func TestSecretsRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := providertest.Settings("stripe")
		both := provider.Settings{"secret": {"whsec_new", old["secret"][0]}}
		event := providertest.Cases("stripe")[0].Event
		for _, secret := range both["secret"] {
			r := providertest.SignWith(event, map[string][]string{"secret": {secret}}, time.Now())
			if err := newGate(t, "stripe", both).sender.Verify(r.HTTP(), r.Body); err != nil {
				t.Errorf("one of two secrets: %v", err)
			}
		}
		r := providertest.Sign(event, time.Now())
		if newGate(t, "stripe", provider.Settings{"secret": {"whsec_new"}}).sender.Verify(r.HTTP(), r.Body) == nil {
			t.Error("the secret that is gone is still good")
		}
	})
}

// Twilio signs the URL as the sender has it.
func TestTwilioURLs(t *testing.T) {
	const secret = "s3cret"
	event := providertest.Cases("twilio")[0].Event
	signed := providertest.SignWith(event, map[string][]string{"secret": {secret}}, time.Now())
	tests := []struct {
		publicURL string
		want      bool
	}{
		{"", true}, // the Host of the request
		{"https://hooks.example.com", true},
		{"https://hooks.example.com:443", true},
		{"https://hooks.example.com:8443", false},
		{"http://hooks.example.com", false},
		{"https://other.example.com", false},
	}
	for _, tt := range tests {
		settings := provider.Settings{"secret": {secret}}
		if tt.publicURL != "" {
			settings["public_url"] = []string{tt.publicURL}
		}
		if err := newGate(t, "twilio", settings).sender.Verify(signed.HTTP(), signed.Body); (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.publicURL, err)
		}
	}
	json := signed.Clone() // a body that the signature does not cover
	json.Header.Set("Content-Type", "application/json")
	if newGate(t, "twilio", provider.Settings{"secret": {secret}}).sender.Verify(json.HTTP(), json.Body) == nil {
		t.Error("a body that nothing proves is accepted")
	}
}

// No header, query and body bring a preset down or past its check.
func FuzzVerify(f *testing.F) {
	for _, name := range provider.Names() {
		event := providertest.Cases(name)[0].Event
		signed := providertest.Sign(event, time.Unix(1790000000, 0))
		for _, header := range proofs(event, signed) {
			f.Add(name, signed.Header.Get(header), signed.Header.Get(header), "", signed.Body)
		}
	}
	f.Fuzz(func(t *testing.T, name, value, stamp, query string, body []byte) {
		p, err := provider.Lookup(name)
		if err != nil {
			return
		}
		// A secret that no input was signed with.
		settings := make(provider.Settings)
		for option, values := range providertest.Settings(name) {
			settings[option] = values
			if option == "secret" || option == "token" {
				settings[option] = []string{"whsec_bm9ib2R5IGtub3dzIHRoaXMgb25lIGF0IGFsbCE="}
			}
		}
		sender, err := p.Configure(settings, signature.World{})
		if err != nil {
			t.Fatal(err)
		}
		event := providertest.Cases(name)[0].Event
		signed := providertest.Sign(event, time.Unix(1790000000, 0))
		for _, header := range proofs(event, signed) {
			signed.Header.Set(header, value)
			if strings.Contains(header, "Timestamp") {
				signed.Header.Set(header, stamp)
			}
		}
		signed.Body = body
		r := signed.HTTP()
		r.URL.RawQuery = query
		if sender.Verify(r, body) == nil {
			t.Errorf("%s accepts %q", name, value)
		}
	})
}
