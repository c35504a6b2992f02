package provider

import "time"

var typeform = Preset{
	Name: "typeform", Title: "Typeform",
	About:   "Responses to forms, partial ones too.",
	Links:   []string{"https://www.typeform.com/developers/webhooks/"},
	Ways:    []Way{{Option: "secret", Proof: typeformProof}},
	Options: []Option{secret("the webhook's secret")},
	Shapes: []Shape{
		{
			Name: "response", When: []Condition{is(fromJSON("event_type"), "form_response")},
			Key: []keySource{fromJSON("event_type"), fromJSON("form_response.token")},
		}, {
			Name: "other", When: []Condition{isNot(fromJSON("event_type"), "form_response")},
			Key: []keySource{fromJSON("event_type"), fromJSON("event_id")},
		},
	},
	Fingerprint: Fingerprint{
		Members: []string{"form_response.form_id", "form_response.token", "form_response.answers"},
		Why:     "whether event_id and the rest stay the same from try to try is not confirmed",
	},
	Deadline:  30 * time.Second,
	Retries:   Retries{Window: 10 * time.Hour, Signed: SignedNoTime, Schedule: "after 408, 423, 429 and 503 every 2 to 3 minutes for 10 hours; after other failures some 5 times"},
	GivesUp:   "404 and 410 disable the webhook at once, and so does a day of nothing but failures.",
	Retention: 30 * day,
	Facts: []Fact{
		unconfirmed(Identity, "event_id is the same over retries. Because it is not confirmed, a response is named by form_response.token, which is the submission's.", "hookdeck/webhook-skills providers.yaml"),
		unconfirmed(Signature, "Typeform-Signature: sha256= and HMAC-SHA256 in base64 (not hex) of the raw body, without a time.", "hookdeck/webhook-skills providers.yaml; webhook-verify"),
		unconfirmed(Deadlines, "30 s.", "hookdeck.com/webhooks/platforms/guide-to-typeform-webhooks-features-and-best-practices"),
		unconfirmed(Retrying, "For 10 hours after 408, 423, 429 and 503.", "hookdeck.com, the same guide"),
		unconfirmed(GivingUp, "404 and 410 at once.", "hookdeck/webhook-skills providers.yaml"),
	},
}

var tally = Preset{
	Name: "tally", Title: "Tally",
	About:   "Submissions of forms. A webhook without a signing secret has nothing to check: give it one.",
	Links:   []string{"https://tally.so/help/webhooks"},
	Ways:    []Way{{Option: "secret", Proof: tallyProof}},
	Options: []Option{secret("the signing secret")},
	Shapes:  only(fromJSON("eventType"), fromJSON("data.responseId")),
	Fingerprint: Fingerprint{
		Members: []string{"data.formId", "data.responseId", "data.fields"},
		Why:     "whether eventId and createdAt stay the same from try to try is not confirmed",
	},
	Deadline:  10 * time.Second,
	Retries:   Retries{Window: 2 * day, Signed: SignedNoTime, Schedule: "after 5 minutes, 30 minutes, 1 hour, 6 hours and 1 day"},
	GivesUp:   "Not documented.",
	Retention: 30 * day,
	Facts: []Fact{
		unconfirmed(Identity, "eventId is the same over retries. Because it is not confirmed, a submission is named by data.responseId; if it comes again with other fields, a person is asked.", "no source"),
		unconfirmed(Signature, "Tally-Signature: HMAC-SHA256 in base64 of the raw body, without a time, if the webhook has a signing secret.", "tally.so/help/webhooks speaks of a SHA256 hash; base64 by hookdeck/webhook-skills providers.yaml and three receivers' code"),
		fact(Deadlines, "10 s.", "tally.so/help/webhooks"),
		unconfirmed(Retrying, "5 times within a day and a half.", "hookdeck/webhook-skills providers.yaml"),
	},
}
