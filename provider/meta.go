package provider

import (
	"github.com/n8n-gate/n8n-gate/keyextract"
)

// Meta's products share the app's secret, the envelope and the challenge, and one
// URL may serve several of them: one preset, whose shapes tell them apart.
var (
	metaValue    = "entry.0.changes.0.value."
	metaField    = fromJSON("entry.0.changes.0.field")
	metaThread   = "entry.0.messaging.0."
	metaMID      = fromJSON(metaThread + "message.mid")
	metaDeleted  = fromJSON(metaThread + "message.is_deleted")
	metaMessage  = fromJSON(metaValue + "messages.0.id")
	metaStatus   = fromJSON(metaValue + "statuses.0.id")
	metaPostback = fromJSON(metaThread + "postback.mid")
	metaReaction = fromJSON(metaThread + "reaction.mid")
)

var meta = Preset{
	Name: "meta", Title: "Meta: WhatsApp, Messenger, Instagram, lead ads",
	About: "Messages and message statuses of the WhatsApp Cloud API; messages, postbacks and reactions of Messenger and Instagram; comments of Instagram; leads. " +
		"What else an app can subscribe to (reads, feeds, account updates) has no identity and is refused.",
	Links: []string{"https://developers.facebook.com/docs/graph-api/webhooks/getting-started", "https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks"},
	Ways:  []Way{{Option: "secret", Proof: githubProof}}, // the same header and bytes
	Options: []Option{
		secret("the app secret"),
		{Name: "verify_token", Secret: true, Many: true, About: "the word that was typed beside the callback URL; without it the challenge is not answered"},
	},
	Shapes: []Shape{
		{Name: "message", When: []Condition{there(metaMessage)}, Key: []keySource{literal("message"), metaMessage}},
		{
			Name: "status", When: []Condition{there(metaStatus)},
			Key: []keySource{literal("status"), metaStatus, fromJSON(metaValue + "statuses.0.status")},
		},
		{Name: "chat message", When: []Condition{there(metaMID), isNotOrAbsent(metaDeleted, "true")}, Key: []keySource{literal("chat"), metaMID}},
		{Name: "deleted chat message", When: []Condition{there(metaMID), is(metaDeleted, "true")}, Key: []keySource{literal("deleted"), metaMID}},
		{Name: "postback", When: []Condition{there(metaPostback)}, Key: []keySource{literal("postback"), metaPostback}},
		{
			Name: "reaction", When: []Condition{there(metaReaction)},
			Key: []keySource{literal("reaction"), metaReaction, fromJSON(metaThread + "reaction.action"), fromJSON(metaThread + "sender.id"), fromJSON(metaThread + "timestamp")},
		},
		{Name: "comment", When: []Condition{is(metaField, "comments", "live_comments")}, Key: []keySource{literal("comment"), fromJSON(metaValue + "id")}},
		{Name: "lead", When: []Condition{is(metaField, "leadgen")}, Key: []keySource{literal("lead"), fromJSON(metaValue + "leadgen_id")}},
	},
	Fingerprint: Fingerprint{
		Members: []string{"object", "entry.0.id", "entry.0.changes", "entry.0.messaging"},
		Why:     "whether entry.time stays the same from try to try is not documented",
	},
	Handshakes: []Handshake{{
		Name: "subscription", Method: "GET", NoBody: true,
		When:      []Condition{is(fromQuery("hub.mode"), "subscribe"), there(fromQuery("hub.challenge"))},
		Proof:     &Proof{Source: fromQuery("hub.verify_token"), Option: "verify_token"},
		Challenge: source(fromQuery("hub.challenge")), Reply: Reply{Text: true},
	}},
	Batch: &Batch{
		Path: "entry.changes", Key: []keySource{fromJSON("value.messages.0.id")},
		Refused: "Meta sends it again for days (WhatsApp 7, the others 1½) and then drops it.",
	},
	Retries:   Retries{Window: 7 * day, Signed: SignedNoTime, Schedule: "at once, then ever more slowly: WhatsApp for up to 7 days, the others for 36 hours"},
	GivesUp:   "After the last try the event is dropped; apps that fail for long are unsubscribed.",
	Retention: 30 * day,
	Advice: []string{
		"Subscribe only to the fields above: everything else is refused, and Meta counts that as failures. `missing_key pass` lets it through, ungated.",
		"Under load Meta puts several entries, changes or messages into one delivery: until batches are built those are refused, and the gate keeps a note of each.",
		"n8n's WhatsApp, Facebook and Instagram triggers answer the challenge themselves: `handshake pass`.",
	},
	Facts: []Fact{
		fact(Identity, "There is no id of the delivery. WhatsApp messages and statuses share wamid ids: a message, and each status of a sent one.", "simstudioai/sim, whatsapp.ts; hookdeck/webhook-skills providers.yaml"),
		unconfirmed(Identity, "A status is reported once for a message. If it comes again with another content, a person is asked.", "no source"),
		unconfirmed(Identity, "Instagram reports a deleted message under the mid of the message, with is_deleted; reactions repeat with another timestamp.", "no source"),
		unconfirmed(Identity, "Comments of Instagram are named by value.id, leads by value.leadgen_id.", "hookdeck/webhook-skills providers.yaml, for leads"),
		unconfirmed(Signature, "X-Hub-Signature-256: sha256= and HMAC-SHA256 in hex of the raw body, without a time; the key is the app secret.", "hookdeck/webhook-skills providers.yaml"),
		unconfirmed(Handshook, "GET with hub.mode=subscribe, hub.verify_token and hub.challenge, which is sent back as text.", "hookdeck/webhook-skills providers.yaml"),
		unconfirmed(Deadlines, "Not published: the gate's own wait holds.", "no source"),
		unconfirmed(Retrying, "WhatsApp up to 7 days, the others 36 hours.", "docs.360dialog.com; hookdeck/webhook-skills providers.yaml"),
		unconfirmed(Bodies, "Up to 1,000 changes in one delivery, of both kinds; Meta signs its own \\u-escaped bytes.", "hookdeck/webhook-skills providers.yaml"),
	},
}

// isNotOrAbsent is for a place that may be absent.
func isNotOrAbsent(s keyextract.Source, texts ...string) Condition {
	return Condition{Source: s, Not: texts, OrAbsent: true}
}
