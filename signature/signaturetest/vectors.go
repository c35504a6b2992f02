// Package signaturetest holds examples that senders and their libraries have published:
// testdata/vectors.json says where each stands. They are what package signature must agree
// with.
package signaturetest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/n8n-gate/n8n-gate/signature"
)

//go:embed testdata/vectors.json
var published []byte

// Vector is one published example.
type Vector struct {
	ID, Provider, Scheme string
	Method, URL          string
	Body                 string
	BodyRepeat           struct {
		Char  string
		Count int
	} `json:"body_repeat"`
	Headers     map[string]string
	Secret      string
	Several     map[string]string `json:"secrets"`
	Response    string            `json:"expected_response_body"`
	Now         json.Number       `json:"now"`
	Tolerance   int64             `json:"tolerance_seconds"`
	Valid       bool              `json:"expected_valid"`
	ContentType string            `json:"content_type"`
}

// All are the examples. It panics on test data that cannot be read.
func All() []Vector {
	var all []Vector
	if err := json.Unmarshal(published, &all); err != nil {
		panic(err)
	}
	return all
}

// Request is the example's request, and its body.
func (v Vector) Request() (*http.Request, []byte) {
	url := v.URL
	if url == "" {
		url = "https://hooks.example.com/webhook/x"
	}
	body := []byte(v.Body)
	if v.BodyRepeat.Count > 0 {
		body = bytes.Repeat([]byte(v.BodyRepeat.Char), v.BodyRepeat.Count)
	}
	r := httptest.NewRequest(v.Method, url, bytes.NewReader(body))
	for name, value := range v.Headers {
		r.Header.Set(name, value)
	}
	if v.ContentType != "" {
		r.Header.Set("Content-Type", v.ContentType)
	}
	if v.Response != "" { // Braintree: what the gate would answer is a MAC of the challenge
		_, mac, _ := strings.Cut(v.Response, "|")
		r.Header.Set("X-Expected", mac)
	}
	return r, body
}

// World is the example's clock.
func (v Vector) World() signature.World {
	if v.Now == "" {
		return signature.World{}
	}
	n, err := v.Now.Int64()
	if err != nil {
		panic(err)
	}
	return signature.World{Now: func() time.Time { return time.Unix(n, 0) }}
}

// Config is what a user would configure for the vector's sender.
func (v Vector) Config() signature.Config {
	header := ""
	for name := range v.Headers {
		lower := strings.ToLower(name)
		if strings.Contains(lower, "sign") && !strings.Contains(lower, "version") || strings.Contains(lower, "hmac") {
			header = name
		}
	}
	hmac := func(hash, encoding, prefix string) signature.Config {
		return signature.Config{Kind: signature.KindHMAC, Hash: hash, Encoding: encoding, Header: header, Prefix: prefix}
	}
	c := hmac("sha256", signature.Hex, "")
	switch v.Scheme {
	case "svix":
		return signature.Config{Kind: signature.KindStandard, Prefix: "svix"}
	case "standard-webhooks", "standard-webhooks-v1a":
		return signature.Config{Kind: signature.KindStandard}
	case "hmac-sha256-hex":
		return c
	case "hmac-sha256-hex-prefix":
		c.Prefix = "sha256="
		return c
	case "hmac-sha1-hex-prefix":
		return hmac("sha1", signature.Hex, "sha1=")
	case "hmac-sha512-hex-prefix":
		return hmac("sha512", signature.Hex, "sha512=")
	case "hmac-sha512-hex":
		return hmac("sha512", signature.Hex, "")
	case "hmac-sha512-base64":
		return hmac("sha512", signature.Base64, "")
	case "hmac-sha256-base64":
		return hmac("sha256", signature.Base64, "")
	case "hmac-sha256-base64-prefix":
		return hmac("sha256", signature.Base64, "sha256=")
	case "hmac-sha256-hex-v1-list":
		c.Version = "v1"
		return c
	case "slack-v0":
		c.Header, c.Prefix, c.Sign = "X-Slack-Signature", "v0=", "v0:{timestamp}:{body}"
		c.Timestamp.Header = "X-Slack-Request-Timestamp"
		return c
	case "t-v1-dot":
		c.Version, c.Timestamp.Item = "v1", "t"
		return c
	case "paddle-ts-h1":
		c.Version, c.Timestamp.Item, c.Sign = "h1", "ts", "{timestamp}:{body}"
		return c
	case "twilio-sha1-url-params", "twilio-sha1-url-bodysha256":
		origin := v.URL[:len("https://mycompany.com")]
		return signature.Config{Kind: signature.KindTwilio, PublicURL: strings.TrimSuffix(origin, "/")}
	case "ecdsa-p256-sha256-der-base64":
		// Its own library looks at no clock, so the time is a part like another.
		return signature.Config{
			Kind: signature.KindECDSA, Header: "X-Twilio-Email-Event-Webhook-Signature",
			Sign: "{header.X-Twilio-Email-Event-Webhook-Timestamp}{body}",
		}
	case "square-url-body-hmac-sha256-base64":
		c = hmac("sha256", signature.Base64, "")
		c.Sign = "{url}{body}"
		return c
	case "twitch-eventsub":
		c.Header, c.Prefix, c.ID = "Twitch-Eventsub-Message-Signature", "sha256=", "Twitch-Eventsub-Message-Id"
		c.Sign, c.Timestamp = "{id}{timestamp}{body}", signature.Timestamp{Header: "Twitch-Eventsub-Message-Timestamp", Unit: "rfc3339"}
		return c
	case "hubspot-v1-sha256":
		return signature.Config{Kind: signature.KindDigest, Hash: "sha256", Encoding: signature.Hex, Header: "X-HubSpot-Signature", Sign: "{secret}{body}"}
	case "hubspot-v2-sha256":
		return signature.Config{
			Kind: signature.KindDigest, Hash: "sha256", Encoding: signature.Hex, Header: "X-HubSpot-Signature", Sign: "{secret}{method}{url}{body}",
		}
	case "hubspot-v3-hmac":
		c = hmac("sha256", signature.Base64, "")
		c.Header, c.Sign = "X-HubSpot-Signature-v3", "{method}{decoded_url}{body}{timestamp}"
		c.Timestamp = signature.Timestamp{Header: "X-HubSpot-Request-Timestamp", Unit: "ms"}
		return c
	case "box-body-timestamp-hmac":
		c = hmac("sha256", signature.Base64, "")
		c.Header, c.Also = "Box-Signature-Primary", []string{"Box-Signature-Secondary"}
		c.Sign, c.Timestamp = "{body}{timestamp}", signature.Timestamp{Header: "Box-Delivery-Timestamp", Unit: "rfc3339"}
		c.Require = map[string]string{"Box-Signature-Version": "1", "Box-Signature-Algorithm": "HmacSHA256"}
		return c
	case "adyen-header-hmac":
		c = hmac("sha256", signature.Base64, "")
		c.Header, c.Key = "HmacSignature", signature.Hex
		return c
	case "adyen-item-hmac":
		const item = "notificationItems.0.NotificationRequestItem."
		return signature.Config{
			Kind: signature.KindHMAC, Hash: "sha256", Encoding: signature.Base64, Key: signature.Hex, Field: item + "additionalData.hmacSignature",
			Sign: "{json." + item + "pspReference}:{json." + item + "originalReference}:{json." + item + "merchantAccountCode}:{json." +
				item + "merchantReference}:{json." + item + "amount.value}:{json." + item + "amount.currency}:{json." + item +
				"eventCode}:{json." + item + "success}",
		}
	case "braintree-challenge":
		return signature.Config{Kind: signature.KindHMAC, Hash: "sha1", Encoding: signature.Hex, Header: "X-Expected", Key: signature.SHA1, Sign: "{query.bt_challenge}"}
	}
	panic(v.ID + ": no configuration for " + v.Scheme)
}

// Secrets are those that the sender may sign with.
func (v Vector) Secrets() []string {
	if len(v.Several) == 0 {
		return []string{v.Secret}
	}
	var all []string
	for _, secret := range v.Several {
		all = append(all, secret)
	}
	return all
}
