package provider

import "time"

var (
	calUID   = fromJSON("payload.uid")
	calShown = fromJSON("payload.bookingUid")
	calFlat  = fromJSON("uid")
)

var calCom = Preset{
	Name: "cal_com", Title: "Cal.com",
	About:   "Bookings, meetings and no-shows, with Cal.com's own payload. Out-of-office, form and other events have no identity and are refused. With a payload template of your own, write the `key` out.",
	Links:   []string{"https://cal.com/docs/developing/guides/automation/webhooks"},
	Ways:    []Way{{Option: "secret", Proof: calComProof}},
	Options: []Option{secret("the webhook's secret")},
	Shapes: []Shape{
		{
			Name: "booking", When: []Condition{there(calUID)},
			Key: []keySource{fromJSON("triggerEvent"), fromJSON("createdAt"), calUID},
		}, {
			Name: "no-show", When: []Condition{absent(calUID), there(calShown)},
			Key: []keySource{literal("no_show"), fromJSON("triggerEvent"), fromJSON("createdAt"), calShown},
		}, {
			Name: "meeting", When: []Condition{absent(calUID), absent(calShown), there(calFlat)},
			Key: []keySource{literal("meeting"), fromJSON("triggerEvent"), calFlat},
		},
	},
	Fingerprint: Fingerprint{Off: true, Why: "Cal.com reads the booking anew for each try, so that everything but the key may have changed"},
	Handshakes: []Handshake{{
		Name: "ping", Signed: true, Method: "POST",
		When: []Condition{is(fromJSON("triggerEvent"), "PING"), absent(calUID), absent(calShown)},
	}},
	Retries:   Retries{Window: time.Hour, Signed: SignedNoTime, Schedule: "cal.com: 3 tries in all, from 10 seconds apart; an installation of your own may not try again at all"},
	GivesUp:   "Never.",
	Retention: 30 * day,
	Advice: []string{
		"Without a secret Cal.com sends the words no-secret-provided instead of a signature: those are refused.",
		"One webhook's failure repeats the event to all webhooks of the booking.",
	},
	Facts: []Fact{
		fact(Identity, "There is no id. createdAt is the time at which the event was queued, and stays over the tries; BOOKING_NO_SHOW_UPDATED has payload.bookingUid instead of payload.uid.", "calcom/cal.com, packages/features/webhooks/lib/service/WebhookTaskConsumer.ts, factory/versioned/v2021-10-20"),
		unconfirmed(Identity, "MEETING_STARTED and MEETING_ENDED have the booking's members at the top, and no createdAt; each comes once for a booking.", "Cal.com's documentation, by a third party"),
		fact(Signature, "X-Cal-Signature-256: HMAC-SHA256 in hex of the raw body, without a time.", "calcom/cal.com, packages/features/webhooks/lib/sendPayload.ts"),
		unconfirmed(Handshook, "\"Ping test\" sends triggerEvent PING, signed.", "a third party's test"),
		unconfirmed(Deadlines, "Not documented: the gate's own wait holds.", "no source"),
		fact(Retrying, "3 tries where webhooks are delivered by tasks (cal.com), none where they are sent directly.", "calcom/cal.com, packages/features/webhooks/lib/tasker/trigger/config.ts"),
		fact(Bodies, "The body is built from the database for each try.", "calcom/cal.com, WebhookTaskConsumer.ts"),
	},
}

var calendly = Preset{
	Name: "calendly", Title: "Calendly",
	About:   "Invitees, no-shows and routing forms.",
	Links:   []string{"https://developer.calendly.com/api-docs/overview/webhooks/webhook-errors", "https://developer.calendly.com/api-docs/overview/webhooks/webhook-timeouts"},
	Ways:    []Way{{Option: "secret", Proof: calendlyProof}},
	Options: []Option{secret("the signing_key that was given when the subscription was made")},
	Shapes:  only(fromJSON("event"), fromJSON("payload.uri")),
	Fingerprint: Fingerprint{
		Members: []string{"event", "payload.uri", "payload.created_at", "payload.no_show.uri"},
		Why:     "created_at is the time of sending, and whether the rest is read anew for each try is not documented",
	},
	Deadline:  15 * time.Second,
	Retries:   Retries{Window: day, Signed: SignedUnknown, Schedule: "for 24 hours, ever more slowly"},
	GivesUp:   "After 24 hours in which nothing got through the webhook is disabled and must be made anew.",
	Retention: 30 * day,
	Advice:    []string{"A second no-show of the same invitee, after the first was taken back, has the key of the first: a person is asked."},
	Facts: []Fact{
		unconfirmed(Identity, "There is no id. An invitee (payload.uri) is created and cancelled once each; a new date makes a new invitee.", "api-evangelist/calendly, asyncapi"),
		unconfirmed(Signature, "Calendly-Webhook-Signature: t=…,v1=…, HMAC-SHA256 in hex of t, a dot and the raw body.", "webhook-verify; docs.opennous.cloud"),
		unconfirmed(Signature, "Whether retries are signed anew is not documented. 25 hours are allowed instead of Calendly's 3 minutes; an older delivery meets its record.", "no source"),
		fact(Deadlines, "10 s to connect, 15 s to read.", "developer.calendly.com, webhook-timeouts"),
		fact(Retrying, "24 hours, ever more slowly.", "developer.calendly.com, webhook-errors"),
		fact(GivingUp, "Disabled after 24 hours of failures.", "developer.calendly.com, webhook-errors"),
	},
}
