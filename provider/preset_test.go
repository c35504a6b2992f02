package provider_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/provider"
	"github.com/n8n-gate/n8n-gate/provider/providertest"
	"github.com/n8n-gate/n8n-gate/signature"
)

// keys pins what names each preset's events. It never changes: the events that a
// store knows would look new. Another identity needs another name.
var keys = map[string][]string{
	"cal_com": {
		"json triggerEvent, json createdAt, json payload.uid",
		"literal no_show, json triggerEvent, json createdAt, json payload.bookingUid",
		"literal meeting, json triggerEvent, json uid",
	},
	"calendly": {"json event, json payload.uri"},
	"github":   {"header X-Github-Delivery"},
	"gitlab":   {"header Webhook-Id", "header Idempotency-Key"},
	"hubspot":  {"json 0.eventId, json 0.subscriptionId, json 0.occurredAt, json 0.portalId"},
	"jira":     {"header X-Atlassian-Webhook-Identifier"},
	"line":     {"json events.0.webhookEventId"},
	"meta": {
		"literal message, json entry.0.changes.0.value.messages.0.id",
		"literal status, json entry.0.changes.0.value.statuses.0.id, json entry.0.changes.0.value.statuses.0.status",
		"literal chat, json entry.0.messaging.0.message.mid",
		"literal deleted, json entry.0.messaging.0.message.mid",
		"literal postback, json entry.0.messaging.0.postback.mid",
		"literal reaction, json entry.0.messaging.0.reaction.mid, json entry.0.messaging.0.reaction.action, json entry.0.messaging.0.sender.id, json entry.0.messaging.0.timestamp",
		"literal comment, json entry.0.changes.0.value.id",
		"literal lead, json entry.0.changes.0.value.leadgen_id",
	},
	"shopify":             {"header X-Shopify-Event-Id, header X-Shopify-Topic"},
	"slack":               {"json event_id"},
	"slack_command":       {"form trigger_id"},
	"slack_interactivity": {"form_json payload trigger_id", "literal view_closed, form_json payload view.id"},
	"standard_webhooks":   {"header Webhook-Id"},
	"stripe":              {"json id"},
	"svix":                {"header Svix-Id", "header Webhook-Id"},
	"tally":               {"json eventType, json data.responseId"},
	"telegram":            {"json update_id"},
	"twilio": {
		"literal token, header I-Twilio-Idempotency-Token",
		"literal message, form MessageSid, form MessageStatus",
		"literal message, form MessageSid, form SmsStatus",
		"literal recording, form RecordingSid, form RecordingStatus",
		"literal call, form CallSid, form CallStatus, form SequenceNumber",
		"literal call, form CallSid, form CallStatus",
	},
	"typeform": {"json event_type, json form_response.token", "json event_type, json event_id"},
	"woocommerce": {
		"header X-Wc-Webhook-Topic, json id, json date_modified_gmt",
		"header X-Wc-Webhook-Topic, json id, literal unmodified, json date_created_gmt",
		"header X-Wc-Webhook-Topic, json id",
	},
}

func TestKeysOfPresetsNeverChange(t *testing.T) {
	for _, p := range provider.All() {
		var have []string
		for _, shape := range p.Shapes {
			rule, err := keyextract.Compile(shape.Key)
			if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			have = append(have, rule.String())
		}
		if want := keys[p.Name]; !slices.Equal(have, want) {
			t.Errorf("%s: the key is now %q, it was %q", p.Name, have, want)
		}
	}
	if len(keys) != len(provider.All()) {
		t.Errorf("%d presets are pinned of %d", len(keys), len(provider.All()))
	}
}

// A key line written out and a preset with the same parts are the same rule.
func TestKeyPrintsAsItsLines(t *testing.T) {
	tests := map[string]string{"stripe": "json id", "github": "header X-Github-Delivery", "meta": "provider meta", "typeform": "provider typeform"}
	for name, want := range tests {
		p, err := provider.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		key, err := p.Key(1)
		if err != nil {
			t.Fatal(err)
		}
		if key.String() != want {
			t.Errorf("%s prints %q, want %q", name, key, want)
		}
	}
}

func TestPresetsAreComplete(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	for _, p := range provider.All() {
		t.Run(p.Name, func(t *testing.T) {
			if !snake.MatchString(p.Name) || p.Title == "" || p.About == "" || len(p.Links) == 0 || p.GivesUp == "" || p.Retries.Schedule == "" {
				t.Error("something of its description is missing")
			}
			for _, topic := range []provider.Topic{provider.Identity, provider.Signature, provider.Deadlines, provider.Retrying} {
				if !slices.ContainsFunc(p.Facts, func(f provider.Fact) bool { return f.About == topic }) {
					t.Errorf("no fact about %s", topic)
				}
			}
			for _, f := range p.Facts {
				if f.Text == "" || f.Source == "" || !slices.Contains(provider.Topics, f.About) {
					t.Errorf("fact without text, source or topic: %+v", f)
				}
				if f.Source == "no source" && !f.Unconfirmed {
					t.Errorf("confirmed by nothing: %s", f.Text)
				}
			}
			if len(p.Handshakes) > 0 && !slices.ContainsFunc(p.Facts, func(f provider.Fact) bool { return f.About == provider.Handshook }) {
				t.Error("no fact about the handshake")
			}
			if p.Retention < p.Retries.Window {
				t.Errorf("events are remembered for %s, and tried for %s", p.Retention, p.Retries.Window)
			}
			if p.Retries.None && p.Retries.Window != 0 || !p.Retries.None && p.Retries.Window == 0 {
				t.Error("either it never tries again, or there is a last time")
			}
			if p.Deadline > 0 && (p.Wait() <= 0 || p.Wait() >= p.Deadline) {
				t.Errorf("waits %s of %s", p.Wait(), p.Deadline)
			}
			for word, answer := range p.Answers {
				if answer.Status < 300 {
					t.Errorf("%s is answered %d, which would lie", word, answer.Status)
				}
				// These make some sender drop the webhook.
				if slices.Contains([]int{403, 404, 406, 410}, answer.Status) {
					t.Errorf("%s is answered %d", word, answer.Status)
				}
			}
			if p.Fingerprint.Why == "" && (p.Fingerprint.Off || len(p.Fingerprint.Members) > 0) {
				t.Error("the fingerprint is not of the whole body: why?")
			}
			shapesDiffer(t, p)
		})
	}
}

// shapesDiffer: two shapes that are different events never make one key.
func shapesDiffer(t *testing.T, p *provider.Preset) {
	kinds := make(map[string]string)
	for _, shape := range p.Shapes {
		// What the key begins with and how many parts it has tells keys apart, or the
		// first part is the type of the event, which the condition is about.
		sign := fmt.Sprint(len(shape.Key))
		if first := shape.Key[0]; first.Kind == keyextract.KindLiteral {
			sign += " " + first.Text
		}
		if other, taken := kinds[sign]; taken && !oneValue(p.Name, other, shape.Name) {
			t.Errorf("%s and %s may make one key", other, shape.Name)
		}
		kinds[sign] = shape.Name
	}
}

// oneValue are shapes whose keys may be alike, and why that is right.
func oneValue(preset, one, other string) bool {
	return map[string]bool{
		"svix svix webhook":                      true, // one id by two names
		"gitlab signed unsigned":                 true, // the same
		"twilio message status incoming message": true, // a message is either sent or received
		"typeform response other":                true, // event_type is the first part, and differs
	}[preset+" "+one+" "+other]
}

func TestConfigureErrors(t *testing.T) {
	tests := []struct {
		name, preset string
		settings     provider.Settings
		want         string
	}{
		{"nothing", "stripe", nil, "provider stripe: secret is required"},
		{"unknown", "stripe", provider.Settings{"secret": {"whsec_x"}, "token": {"x"}}, "provider stripe: token: unknown; there are secret"},
		{"empty", "stripe", provider.Settings{"secret": {""}}, "provider stripe: secret: needs a value"},
		{"none", "stripe", provider.Settings{"secret": {}}, "provider stripe: secret: needs a value"},
		{"both", "gitlab", provider.Settings{"secret": {"whsec_x"}, "token": {"x"}}, "provider gitlab: secret and token exclude each other"},
		{"neither", "gitlab", provider.Settings{}, "provider gitlab: secret or token is required"},
		{"url with a path", "twilio", provider.Settings{"secret": {"x"}, "public_url": {"https://hooks.example.com/x"}}, "provider twilio: public_url: must be scheme and host, as https://hooks.example.com"},
		{"url without a scheme", "twilio", provider.Settings{"secret": {"x"}, "public_url": {"hooks.example.com"}}, "provider twilio: public_url: must be scheme and host, as https://hooks.example.com"},
		{"two urls", "twilio", provider.Settings{"secret": {"x"}, "public_url": {"https://a.example.com", "https://b.example.com"}}, "provider twilio: public_url: takes one value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := provider.Lookup(tt.preset)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Configure(tt.settings, signature.World{}); err == nil || err.Error() != tt.want {
				t.Errorf("Configure = %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := provider.Lookup("strype"); err == nil || !strings.Contains(err.Error(), "stripe") {
		t.Errorf("Lookup = %v", err)
	}
}

func TestSendersHideTheirSecrets(t *testing.T) {
	for _, p := range provider.All() {
		for _, settings := range settingsOf(p.Name) {
			sender, err := p.Configure(settings, signature.World{})
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%v %+v", sender, sender)
			for option, values := range settings {
				if option != "public_url" && strings.Contains(text, values[0]) {
					t.Errorf("%s: %s is printed", p.Name, option)
				}
			}
		}
	}
}

// Where a signature covers all of the key, a body under another key proves nothing.
func TestReusedBody(t *testing.T) {
	want := map[string]bool{"shopify": true, "github": true, "jira": true, "twilio": true, "woocommerce": true}
	for _, p := range provider.All() {
		for _, settings := range settingsOf(p.Name) {
			sender, err := p.Configure(settings, signature.World{})
			if err != nil {
				t.Fatal(err)
			}
			if sender.ReusedBody() != want[p.Name] {
				t.Errorf("%s: %t", p.Name, sender.ReusedBody())
			}
		}
	}
}

func TestWait(t *testing.T) {
	tests := map[string]time.Duration{"slack": 2 * time.Second, "github": 6666666666, "woocommerce": 10 * time.Second, "telegram": 0}
	for name, want := range tests {
		p, err := provider.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if p.Wait() != want {
			t.Errorf("%s waits %s, want %s", name, p.Wait(), want)
		}
	}
}

func TestTestDataBelongsToPresets(t *testing.T) {
	if have, want := providertest.Presets(), provider.Names(); !slices.Equal(have, want) {
		t.Errorf("test data of %v, presets %v", have, want)
	}
}
