package signature

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// vector is one published example: testdata/vectors.json says where each stands.
type vector struct {
	ID, Provider, Scheme string
	Method, URL          string
	Body                 string
	BodyRepeat           struct {
		Char  string
		Count int
	} `json:"body_repeat"`
	Headers       map[string]string
	Secret        string
	Secrets       map[string]string
	PublicKey     string      `json:"public_key"`
	Response      string      `json:"expected_response_body"`
	Now           json.Number `json:"now"`
	Tolerance     int64       `json:"tolerance_seconds"`
	Valid         bool        `json:"expected_valid"`
	ContentType   string      `json:"content_type"`
	SignedMessage string      `json:"signed_string"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 60 {
		t.Fatalf("%d vectors", len(all))
	}
	return all
}

func (v vector) request(t testing.TB) (*http.Request, []byte) {
	t.Helper()
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

func (v vector) world(t testing.TB) World {
	if v.Now == "" {
		return World{}
	}
	n, err := v.Now.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return World{Now: func() time.Time { return time.Unix(n, 0) }}
}

// config is what a user would configure for the vector's sender.
func (v vector) config(t testing.TB) Config {
	t.Helper()
	header := ""
	for name := range v.Headers {
		lower := strings.ToLower(name)
		if strings.Contains(lower, "sign") && !strings.Contains(lower, "version") || strings.Contains(lower, "hmac") {
			header = name
		}
	}
	hmac := func(hash, encoding, prefix string) Config {
		return Config{Kind: KindHMAC, Hash: hash, Encoding: encoding, Header: header, Prefix: prefix}
	}
	c := hmac("sha256", Hex, "")
	switch v.Scheme {
	case "svix":
		return Config{Kind: KindStandard, Prefix: "svix"}
	case "standard-webhooks", "standard-webhooks-v1a":
		return Config{Kind: KindStandard}
	case "hmac-sha256-hex":
		return c
	case "hmac-sha256-hex-prefix":
		c.Prefix = "sha256="
		return c
	case "hmac-sha1-hex-prefix":
		return hmac("sha1", Hex, "sha1=")
	case "hmac-sha512-hex-prefix":
		return hmac("sha512", Hex, "sha512=")
	case "hmac-sha512-hex":
		return hmac("sha512", Hex, "")
	case "hmac-sha512-base64":
		return hmac("sha512", Base64, "")
	case "hmac-sha256-base64":
		return hmac("sha256", Base64, "")
	case "hmac-sha256-base64-prefix":
		return hmac("sha256", Base64, "sha256=")
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
		return Config{Kind: KindTwilio, PublicURL: strings.TrimSuffix(origin, "/")}
	case "ecdsa-p256-sha256-der-base64":
		// Its own library looks at no clock, so the time is a part like another.
		return Config{
			Kind: KindECDSA, Header: "X-Twilio-Email-Event-Webhook-Signature",
			Sign: "{header.X-Twilio-Email-Event-Webhook-Timestamp}{body}",
		}
	case "square-url-body-hmac-sha256-base64":
		c = hmac("sha256", Base64, "")
		c.Sign = "{url}{body}"
		return c
	case "twitch-eventsub":
		c.Header, c.Prefix, c.ID = "Twitch-Eventsub-Message-Signature", "sha256=", "Twitch-Eventsub-Message-Id"
		c.Sign, c.Timestamp = "{id}{timestamp}{body}", Timestamp{Header: "Twitch-Eventsub-Message-Timestamp", Unit: "rfc3339"}
		return c
	case "hubspot-v1-sha256":
		return Config{Kind: KindDigest, Hash: "sha256", Encoding: Hex, Header: "X-HubSpot-Signature", Sign: "{secret}{body}"}
	case "hubspot-v2-sha256":
		return Config{
			Kind: KindDigest, Hash: "sha256", Encoding: Hex, Header: "X-HubSpot-Signature", Sign: "{secret}{method}{url}{body}",
		}
	case "hubspot-v3-hmac":
		c = hmac("sha256", Base64, "")
		c.Header, c.Sign = "X-HubSpot-Signature-v3", "{method}{decoded_url}{body}{timestamp}"
		c.Timestamp = Timestamp{Header: "X-HubSpot-Request-Timestamp", Unit: "ms"}
		return c
	case "box-body-timestamp-hmac":
		c = hmac("sha256", Base64, "")
		c.Header, c.Also = "Box-Signature-Primary", []string{"Box-Signature-Secondary"}
		c.Sign, c.Timestamp = "{body}{timestamp}", Timestamp{Header: "Box-Delivery-Timestamp", Unit: "rfc3339"}
		c.Require = map[string]string{"Box-Signature-Version": "1", "Box-Signature-Algorithm": "HmacSHA256"}
		return c
	case "adyen-header-hmac":
		c = hmac("sha256", Base64, "")
		c.Header, c.Key = "HmacSignature", Hex
		return c
	case "adyen-item-hmac":
		const item = "notificationItems.0.NotificationRequestItem."
		return Config{
			Kind: KindHMAC, Hash: "sha256", Encoding: Base64, Key: Hex, Field: item + "additionalData.hmacSignature",
			Sign: "{json." + item + "pspReference}:{json." + item + "originalReference}:{json." + item + "merchantAccountCode}:{json." +
				item + "merchantReference}:{json." + item + "amount.value}:{json." + item + "amount.currency}:{json." + item +
				"eventCode}:{json." + item + "success}",
		}
	case "braintree-challenge":
		return Config{Kind: KindHMAC, Hash: "sha1", Encoding: Hex, Header: "X-Expected", Key: SHA1, Sign: "{query.bt_challenge}"}
	}
	t.Fatalf("%s: no configuration for %s", v.ID, v.Scheme)
	return Config{}
}

func (v vector) secrets() []string {
	if len(v.Secrets) == 0 {
		return []string{v.Secret}
	}
	var all []string
	for _, secret := range v.Secrets {
		all = append(all, secret)
	}
	return all
}

// Each published vector gives the published result.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.ID, func(t *testing.T) {
			c := v.config(t)
			if v.Tolerance > 0 && v.Now != "" {
				c.Tolerance = time.Duration(v.Tolerance) * time.Second
			}
			r, body := v.request(t)
			err := verifier(t, c, v.world(t), v.secrets()...).Verify(r, body)
			if (err == nil) != v.Valid {
				t.Errorf("Verify = %v, want valid: %t", err, v.Valid)
			}
		})
	}
}

// Whatever byte of what is signed is changed, it is refused; so is a signature, a
// timestamp or an id with one byte changed.
func TestMutations(t *testing.T) {
	for _, v := range vectors(t) {
		if !v.Valid || v.BodyRepeat.Count > 0 || v.Scheme == "adyen-item-hmac" {
			continue // Adyen's body is not signed, only some of its members
		}
		t.Run(v.ID, func(t *testing.T) {
			check := verifier(t, v.config(t), v.world(t), v.secrets()...)
			r, body := v.request(t)
			if err := check.Verify(r, body); err != nil {
				t.Fatal(err)
			}
			for i := range body {
				if strings.HasPrefix(v.Scheme, "twilio-sha1-url-params") && sameForm(body, i) {
					continue
				}
				changed := bytes.Clone(body)
				changed[i] ^= 1
				if check.Verify(r, changed) == nil {
					t.Errorf("byte %d of the body changed, and accepted", i)
				}
			}
			for name := range r.Header {
				if name == "Content-Type" || name == "X-Hubspot-Signature-Version" || name == "Box-Delivery-Id" || name == "Box-Signature-Primary" {
					continue
				}
				value := r.Header.Get(name)
				for i := range len(value) {
					for _, flip := range []byte{1, 32, 128} {
						changed := []byte(value)
						changed[i] ^= flip
						r.Header.Set(name, string(changed))
						if check.Verify(r, body) == nil && !sameSignature(value, i, flip) {
							t.Errorf("byte %d of %s changed to %q, and accepted", i, name, changed[i])
						}
					}
				}
				r.Header.Set(name, value)
			}
		})
	}
}

// sameForm reports whether the byte is a border that Twilio does not sign.
func sameForm(body []byte, i int) bool {
	return body[i] == '=' || body[i] == '&' || body[i] == '+' || body[i] == '%'
}

// sameSignature reports whether the change leaves the same signature: hex is read in
// either case, and of a list only what is asked for.
func sameSignature(value string, i int, flip byte) bool {
	letter := value[i] | 32
	if flip == 32 && 'a' <= letter && letter <= 'f' {
		return true
	}
	return strings.LastIndex(value[:i+1], "v0=") > strings.LastIndex(value[:i+1], "v1=") && strings.HasPrefix(value, "t=") ||
		strings.HasPrefix(value[max(0, strings.LastIndexAny(value[:i+1], ", ")+1):], "v0") && strings.HasPrefix(value, "t=")
}
