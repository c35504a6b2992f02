package provider

import (
	"time"

	"github.com/n8n-gate/n8n-gate/signature"
)

// Where nobody knows whether retries are signed anew, a signed time may be older than the
// sender goes on: such a delivery meets its record.
const wideTolerance = 25 * time.Hour

var (
	stripeProof      = timedProof("Stripe-Signature")
	calendlyProof    = tolerating(wideTolerance, timedProof("Calendly-Webhook-Signature"))
	githubProof      = bodyProof("X-Hub-Signature-256", "sha256=", signature.Hex)
	jiraProof        = bodyProof("X-Hub-Signature", "sha256=", signature.Hex)
	calComProof      = bodyProof("X-Cal-Signature-256", "", signature.Hex)
	typeformProof    = bodyProof("Typeform-Signature", "sha256=", signature.Base64)
	shopifyProof     = bodyProof("X-Shopify-Hmac-Sha256", "", signature.Base64)
	tallyProof       = bodyProof("Tally-Signature", "", signature.Base64)
	lineProof        = bodyProof("X-Line-Signature", "", signature.Base64)
	woocommerceProof = signature.Config{
		Kind: signature.KindHMAC, Hash: "sha256", Encoding: signature.Base64, Header: "X-WC-Webhook-Signature", Key: signature.HTML,
	}

	// Slack repeats an event within 5 minutes, with the time of the first try or of its own.
	slackEventsProof = tolerating(15*time.Minute, slackProof)
	slackProof       = signature.Config{
		Kind: signature.KindHMAC, Hash: "sha256", Encoding: signature.Hex, Header: "X-Slack-Signature", Prefix: "v0=",
		Sign: "v0:{timestamp}:{body}", Timestamp: signature.Timestamp{Header: "X-Slack-Request-Timestamp"},
	}

	hubspotProof = signature.Config{
		Kind: signature.KindHMAC, Hash: "sha256", Encoding: signature.Base64, Header: "X-HubSpot-Signature-v3",
		Sign:      "{method}{decoded_url}{body}{timestamp}",
		Timestamp: signature.Timestamp{Header: "X-HubSpot-Request-Timestamp", Unit: "ms"}, Tolerance: wideTolerance,
	}
	hubspotProofV1 = signature.Config{
		Kind: signature.KindDigest, Hash: "sha256", Encoding: signature.Hex, Header: "X-HubSpot-Signature", Sign: "{secret}{body}",
	}
)

// bodyProof is HMAC-SHA256 of the body in a header.
func bodyProof(header, prefix, encoding string) signature.Config {
	return signature.Config{Kind: signature.KindHMAC, Hash: "sha256", Encoding: encoding, Header: header, Prefix: prefix}
}

// timedProof is Stripe's: "t=…,v1=…", several v1, HMAC-SHA256 in hex of the time, a dot
// and the body.
func timedProof(header string) signature.Config {
	return signature.Config{
		Kind: signature.KindHMAC, Hash: "sha256", Encoding: signature.Hex, Header: header, Version: "v1",
		Timestamp: signature.Timestamp{Item: "t"},
	}
}

// standardProof is Standard Webhooks', with headers that begin so.
func standardProof(prefix string) signature.Config {
	return signature.Config{Kind: signature.KindStandard, Prefix: prefix}
}

// tokenProof is a constant word in a header.
func tokenProof(header string) signature.Config {
	return signature.Config{Kind: signature.KindToken, Header: header}
}

func tolerating(tolerance time.Duration, c signature.Config) signature.Config {
	c.Tolerance = tolerance
	return c
}
