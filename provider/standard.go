package provider

import "time"

var standardWebhooks = Preset{
	Name: "standard_webhooks", Title: "Standard Webhooks",
	About:     "Senders that follow the specification with the headers webhook-id, webhook-timestamp and webhook-signature: OpenAI, Replicate, Gemini, ShipBob and others. For headers that begin with svix-, use svix.",
	Links:     []string{"https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md"},
	Ways:      []Way{{Option: "secret", Proof: standardProof("webhook")}},
	Options:   []Option{secret("whsec_ and base64, or for signatures with a public key whpk_ and base64; while it is rotated, both. Polar's secret has to be encoded in base64 first")},
	Shapes:    only(fromHeader("Webhook-Id")),
	Deadline:  15 * time.Second,
	Retries:   Retries{Window: 3 * day, Signed: SignedAnew, Schedule: "the sender's own; the specification advises several over days"},
	GivesUp:   "410 asks the sender to disable the endpoint: the gate never answers it.",
	Retention: 30 * day,
	Facts: []Fact{
		fact(Identity, "webhook-id stays the same however often the event is sent.", "standard-webhooks@b2fa7b87, spec"),
		fact(Signature, "webhook-signature: v1, and HMAC-SHA256 in base64, or v1a, and ed25519, of id, time and body joined by dots; several of them; 5 minutes.", "standard-webhooks@b2fa7b87, spec and libraries; published vectors"),
		fact(Deadlines, "The specification advises senders to wait 15 to 30 s.", "standard-webhooks@b2fa7b87, spec"),
		fact(Retrying, "Only 2xx is success; 429, 502 and 504 ask the sender to slow down.", "standard-webhooks@b2fa7b87, spec"),
		unconfirmed(Retrying, "For how long a sender goes on is its own affair; 3 days are assumed.", "no source"),
		fact(GivingUp, "410.", "standard-webhooks@b2fa7b87, spec"),
	},
}

var svix = Preset{
	Name: "svix", Title: "Svix",
	About: "Senders that deliver by Svix: Clerk, Resend, Lithic and others, with the headers svix-id, svix-timestamp and svix-signature or, if the sender chose so, webhook-….",
	Links: []string{"https://docs.svix.com/receiving/verifying-payloads/how-manual", "https://docs.svix.com/retries"},
	Ways: []Way{
		{Option: "secret", Header: "Svix-Id", Proof: standardProof("svix")},
		{Option: "secret", Header: "Webhook-Id", Proof: standardProof("webhook")},
	},
	Options: []Option{secret("the endpoint's signing secret (whsec_…); while it is rotated, both")},
	// As the ways: where there is a svix-id, it is the one that was signed.
	Shapes: []Shape{
		{Name: "svix", When: []Condition{there(fromHeader("Svix-Id"))}, Key: []keySource{fromHeader("Svix-Id")}},
		{Name: "webhook", When: []Condition{absent(fromHeader("Svix-Id"))}, Key: []keySource{fromHeader("Webhook-Id")}},
	},
	Deadline:  15 * time.Second,
	Retries:   Retries{Window: 2 * day, Signed: SignedAnew, Schedule: "after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h"},
	GivesUp:   "An endpoint of which nothing but failures came for 5 days is disabled.",
	Retention: 30 * day,
	Facts: []Fact{
		fact(Identity, "svix-id stays over retries.", "standard-webhooks@b2fa7b87, spec; svix-webhooks@4fc0cfb8, go/webhook.go"),
		unconfirmed(Identity, "It stays over resends and replays by a person.", "no source"),
		fact(Signature, "As Standard Webhooks. A sender's headers begin either with svix- or with webhook-, never with both.", "svix-webhooks@4fc0cfb8, go/webhook.go, server's whitelabel_headers"),
		unconfirmed(Deadlines, "15 s (hosted); 30 s in the open source server's configuration.", "svix-webhooks@4fc0cfb8, config.default.toml, for the latter"),
		fact(Retrying, "After 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h.", "svix-webhooks@4fc0cfb8, config.default.toml; resend.com/docs/webhooks/retries-and-replays"),
		fact(GivingUp, "After 120 hours of failures only.", "svix-webhooks@4fc0cfb8, config.default.toml"),
	},
}
