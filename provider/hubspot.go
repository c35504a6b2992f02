package provider

import "time"

var hubspot = Preset{
	Name: "hubspot", Title: "HubSpot",
	About: "Webhooks of apps, one event in a request. Not the webhook actions of HubSpot's workflows.",
	Links: []string{"https://developers.hubspot.com/docs/api/webhooks", "https://developers.hubspot.com/docs/api/webhooks/validating-requests"},
	Ways: []Way{
		{Option: "secret", Proof: hubspotProof},
		{Option: "secret_v1", Proof: hubspotProofV1}, // who has a delivery can append to it, which is no JSON then
	},
	Options: []Option{
		secret("the app's client secret"),
		{Name: "secret_v1", Secret: true, Many: true, About: "the same, for private apps, whose webhooks carry only the first version of the signature: a plain hash, without a time. Not beside secret"},
		publicURL,
	},
	Shapes: only(fromJSON("0.eventId"), fromJSON("0.subscriptionId"), fromJSON("0.occurredAt"), fromJSON("0.portalId")),
	Fingerprint: Fingerprint{
		Members: []string{"0.subscriptionType", "0.portalId", "0.appId", "0.objectId", "0.propertyName", "0.propertyValue"},
		Why:     "attemptNumber counts the tries",
	},
	Batch: &Batch{
		Path: "@this", Key: []keySource{fromJSON("eventId"), fromJSON("subscriptionId"), fromJSON("occurredAt"), fromJSON("portalId")},
		Refused: "HubSpot sends it again up to 10 times within a day, perhaps grouped otherwise, and then drops it.",
	},
	Deadline:  5 * time.Second,
	Answers:   retriedInstead,
	Retries:   Retries{Window: day, Signed: SignedUnknown, Schedule: "up to 10 times within 24 hours"},
	GivesUp:   "Not documented.",
	Retention: 30 * day,
	Advice: []string{
		"HubSpot puts up to 100 events into one delivery when many come at once: until batches are built those are refused, and the gate keeps a note of each.",
		"Older documentation says that 400, 401, 403, 404 and 405 are not tried again, so what the gate refuses is answered 503 here.",
	},
	Facts: []Fact{
		unconfirmed(Identity, "eventId is not guaranteed to be unique; with subscriptionId, occurredAt and portalId it is taken to be.", "HubSpot's documentation, quoted twice by third parties"),
		fact(Signature, "X-HubSpot-Signature-v3: HMAC-SHA256 in base64 of method, URI, body and X-HubSpot-Request-Timestamp (milliseconds). Private apps: X-HubSpot-Signature, SHA-256 in hex of secret and body.", "developers.hubspot.com, request-validation; hubspot-api-ruby, hubspot-api-php; published vectors"),
		unconfirmed(Signature, "Whether retries are signed anew is not documented. 25 hours are allowed instead of HubSpot's 5 minutes; an older delivery meets its record.", "no source"),
		fact(Deadlines, "5 s.", "developers.hubspot.com/docs/api/webhooks, in a mirror of January 2025"),
		fact(Retrying, "Up to 10 times within 24 hours, after timeouts, failed connections, 4xx and 5xx.", "developers.hubspot.com/docs/api/webhooks, in a mirror of January 2025"),
		unconfirmed(Retrying, "A retry may group the events otherwise.", "no source"),
		fact(Bodies, "A list of up to 100 events; attemptNumber grows.", "developers.hubspot.com/docs/api/webhooks"),
	},
}
