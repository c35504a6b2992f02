package provider

import "time"

const day = 24 * time.Hour

var stripe = Preset{
	Name: "stripe", Title: "Stripe",
	About:   "Events of an account or of connected accounts, thin (v2) events too.",
	Links:   []string{"https://docs.stripe.com/webhooks", "https://docs.stripe.com/webhooks/process-undelivered-events"},
	Ways:    []Way{{Option: "secret", Proof: stripeProof}},
	Options: []Option{secret("the endpoint's signing secret, whole, with its whsec_; while it is rolled, both")},
	Shapes:  only(fromJSON("id")),
	Fingerprint: Fingerprint{
		Members: []string{"type", "created", "data"},
		Why:     "pending_webhooks counts the deliveries that are still to be made, and so may change from try to try",
	},
	Retries: Retries{Window: 3 * day, Signed: SignedAnew, Schedule: "live mode: for up to 3 days, ever more slowly; sandboxes: 3 times within a few hours"},
	GivesUp: "An endpoint that was deleted or disabled gets no further tries. Stripe disables endpoints that fail for days.",
	// A person may resend events that are weeks old.
	Retention: 30 * day,
	Advice: []string{
		"One change can have two Events, with ids of their own: then only data.object.id and type are the same. Where that must be one action, write the key out: `key json type`, `key json data.object.id`.",
	},
	Facts: []Fact{
		fact(Identity, "id (evt_…) stays over automatic tries and over resends by the dashboard or the CLI.", "dev.to/shannonllc on docs.stripe.com/webhooks/process-undelivered-events"),
		fact(Identity, "Thin events (object v2.core.event) have an id too.", "stripe/stripe-go@a1e3932f"),
		fact(Signature, "Stripe-Signature: t=…,v1=…, HMAC-SHA256 in hex of t, a dot and the raw body; the key is the whole whsec_ string; several v1 while a secret is rolled; v0 is to be ignored.", "stripe/stripe-go@a1e3932f webhook/client.go; published vectors"),
		unconfirmed(Signature, "A retry has a new time and signature.", "three repositories that quote docs.stripe.com/webhooks; not read there"),
		unconfirmed(Deadlines, "How long Stripe waits is not published: the gate's own wait holds.", "no source"),
		fact(Retrying, "Up to 3 days in live mode; 3 times in sandboxes.", "docs.stripe.com/webhooks/process-undelivered-events, by dev.to/shannonllc"),
		unconfirmed(Bodies, "pending_webhooks may change from try to try; data does not.", "no source"),
	},
}

var shopify = Preset{
	Name: "shopify", Title: "Shopify",
	About:     "Webhooks of an app or of a shop's admin, JSON or XML. Not the Events preview, whose headers have other names.",
	Links:     []string{"https://shopify.dev/docs/apps/build/webhooks/ignore-duplicates", "https://shopify.dev/changelog/updates-to-webhook-retry-mechanism"},
	Ways:      []Way{{Option: "secret", Proof: shopifyProof}},
	Options:   []Option{secret("the app's client secret, or for webhooks of the admin the secret that is shown there; while it is rotated, both")},
	Shapes:    only(fromHeader("X-Shopify-Event-Id"), fromHeader("X-Shopify-Topic")),
	EventType: []string{"X-Shopify-Topic"},
	Deadline:  5 * time.Second,
	Retries:   Retries{Window: 4 * time.Hour, Signed: SignedNoTime, Schedule: "8 times over 4 hours, with the original body"},
	GivesUp:   "After 8 failures in a row a subscription that was made by the API is deleted.",
	Retention: 30 * day,
	Advice: []string{
		"Two subscriptions to one topic deliver each event twice, with one event id: the gate lets one through.",
		"One event may raise several topics, which are several events here.",
	},
	Facts: []Fact{
		fact(Identity, "X-Shopify-Event-Id names the event and is what Shopify tells receivers to compare; X-Shopify-Webhook-Id names the delivery to one subscription.", "shopify.dev, ignore-duplicates"),
		fact(Signature, "X-Shopify-Hmac-Sha256: HMAC-SHA256 in base64 of the raw body, without a time. The headers are not signed.", "shopify.dev, verify-deliveries; published vectors"),
		unconfirmed(Signature, "Webhooks of the admin are signed with the secret shown there; a rotated secret stays valid for a while.", "no source"),
		fact(Deadlines, "1 s to connect, 5 s altogether; only 2xx is success.", "shopify.dev"),
		fact(Retrying, "8 tries over 4 hours since 2024-09-10 (many pages still say 19 over 48).", "shopify.dev/changelog/updates-to-webhook-retry-mechanism"),
		fact(GivingUp, "8 failures in a row delete a subscription made by the API.", "shopify.dev/changelog/updates-to-webhook-retry-mechanism"),
	},
}

var woocommerce = Preset{
	Name: "woocommerce", Title: "WooCommerce",
	About:   "Webhooks for orders, products, customers and coupons. Deliveries of action.* topics have no identity and are refused.",
	Links:   []string{"https://woocommerce.com/document/webhooks/"},
	Ways:    []Way{{Option: "secret", Proof: woocommerceProof}},
	Options: []Option{secret("the webhook's secret")},
	Shapes: []Shape{
		{
			Name: "modified", When: []Condition{isNot(fromJSON("date_modified_gmt"), "null")},
			Key: []keySource{fromHeader("X-WC-Webhook-Topic"), fromJSON("id"), fromJSON("date_modified_gmt")},
		}, {
			Name: "never modified", When: []Condition{is(fromJSON("date_modified_gmt"), "null")},
			Key: []keySource{fromHeader("X-WC-Webhook-Topic"), fromJSON("id"), literal("unmodified"), fromJSON("date_created_gmt")},
		}, {
			Name: "deleted", When: []Condition{absent(fromJSON("date_modified_gmt")), is(fromHeader("X-WC-Webhook-Event"), "deleted")},
			Key: []keySource{fromHeader("X-WC-Webhook-Topic"), fromJSON("id")},
		},
	},
	EventType: []string{"X-WC-Webhook-Topic"},
	Handshakes: []Handshake{{
		Name: "ping", Method: "POST", Body: `webhook_id=[0-9]{1,20}`,
		When: []Condition{absent(fromHeader("X-WC-Webhook-Signature")), absent(fromHeader("X-WC-Webhook-Topic"))},
	}},
	Deadline:  60 * time.Second,
	Retries:   Retries{None: true, Signed: SignedNoTime, Schedule: "none"},
	GivesUp:   "More than 5 failures in a row disable the webhook; every answer but 2xx, 301 and 302 is one.",
	Retention: 30 * day,
	Advice: []string{
		"The topic is part of the key and not signed: who could read a delivery could send it again under another topic of the same webhook. Serve each webhook over TLS only.",
		"Two changes of one object within a second have one key; the second is answered 409 `conflict` and waits for a person.",
	},
	Facts: []Fact{
		fact(Identity, "X-WC-Webhook-Delivery-ID is of no use: a hash of the webhook's id and the second, so it is new with every delivery and the same for two orders within one second.", "woocommerce, includes/class-wc-webhook.php"),
		unconfirmed(Identity, "date_modified_gmt is null for customers that were never changed; deliveries of deleted objects hold nothing but the id.", "no source"),
		fact(Signature, "X-WC-Webhook-Signature: HMAC-SHA256 in base64 of the raw body; the secret has its HTML entities decoded first.", "woocommerce, includes/class-wc-webhook.php"),
		fact(Handshook, "On creation an unsigned POST with the form body webhook_id=N, which must get 200.", "woocommerce, includes/class-wc-webhook.php"),
		fact(Deadlines, "60 s.", "woocommerce, includes/class-wc-webhook.php"),
		fact(Retrying, "Never.", "woocommerce, includes/class-wc-webhook.php"),
		fact(GivingUp, "Disabled after more than 5 failures in a row.", "woocommerce, includes/class-wc-webhook.php"),
	},
}
