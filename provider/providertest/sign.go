package providertest

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Settings are what a user would write into the preset's block, secrets resolved.
// They are the same with every call.
func Settings(preset string) map[string][]string {
	settings := map[string][]string{"secret": {"test-secret-of-" + preset}}
	switch preset {
	case "telegram":
		settings = map[string][]string{"token": {"test-secret-of-telegram"}}
	case "stripe":
		settings["secret"] = []string{"whsec_test_secret_of_stripe"}
	case "standard_webhooks", "svix", "gitlab":
		settings["secret"] = []string{"whsec_" + base64.StdEncoding.EncodeToString([]byte("test-secret-of-24-bytes-"+preset))}
	case "meta":
		settings["verify_token"] = []string{"meatyhamhock"}
	case "twilio", "hubspot":
		settings["public_url"] = []string{PublicURL}
	}
	return settings
}

// Sign is the request as its sender signs it at that time, with the first secret of
// Settings.
func Sign(r Request, at time.Time) Request { return SignWith(r, Settings(r.Preset), at) }

// SignWith is Sign with other settings.
func SignWith(r Request, settings map[string][]string, at time.Time) Request {
	r = r.Clone()
	var secret, token string
	if values := settings["secret"]; len(values) > 0 {
		secret = values[0]
	}
	if values := settings["token"]; len(values) > 0 {
		token = values[0]
	}
	seconds := strconv.FormatInt(at.Unix(), 10)
	switch r.Preset {
	case "stripe":
		r.Header.Set("Stripe-Signature", "t="+seconds+",v1="+hexMAC(secret, seconds+"."+string(r.Body))+",v0="+hexMAC("other", seconds))
	case "calendly":
		r.Header.Set("Calendly-Webhook-Signature", "t="+seconds+",v1="+hexMAC(secret, seconds+"."+string(r.Body)))
	case "shopify":
		r.Header.Set("X-Shopify-Hmac-Sha256", base64MAC(sha256.New, secret, string(r.Body)))
	case "woocommerce":
		r.Header.Set("X-WC-Webhook-Signature", base64MAC(sha256.New, secret, string(r.Body)))
	case "tally":
		r.Header.Set("Tally-Signature", base64MAC(sha256.New, secret, string(r.Body)))
	case "line":
		r.Header.Set("X-Line-Signature", base64MAC(sha256.New, secret, string(r.Body)))
	case "typeform":
		r.Header.Set("Typeform-Signature", "sha256="+base64MAC(sha256.New, secret, string(r.Body)))
	case "github", "meta":
		r.Header.Set("X-Hub-Signature-256", "sha256="+hexMAC(secret, string(r.Body)))
	case "jira":
		r.Header.Set("X-Hub-Signature", "sha256="+hexMAC(secret, string(r.Body)))
	case "cal_com":
		r.Header.Set("X-Cal-Signature-256", hexMAC(secret, string(r.Body)))
	case "slack", "slack_interactivity", "slack_command":
		r.Header.Set("X-Slack-Request-Timestamp", seconds)
		r.Header.Set("X-Slack-Signature", "v0="+hexMAC(secret, "v0:"+seconds+":"+string(r.Body)))
	case "telegram":
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", token)
	case "twilio":
		r.Header.Set("X-Twilio-Signature", base64MAC(sha1.New, secret, PublicURL+r.Target+sortedForm(r.Body)))
	case "hubspot":
		r.signHubSpot(settings, at)
	case "standard_webhooks":
		r.signStandard("Webhook", secret, seconds)
	case "svix":
		prefix := "Svix"
		if r.Header.Get("Svix-Id") == "" {
			prefix = "Webhook"
		}
		r.signStandard(prefix, secret, seconds)
	case "gitlab":
		if token != "" {
			r.Header.Set("X-Gitlab-Token", token)
		}
		if secret != "" {
			r.Header.Set("Webhook-Id", r.Header.Get("Idempotency-Key"))
			r.signStandard("Webhook", secret, seconds)
		}
	default:
		panic("no signer for " + r.Preset)
	}
	return r
}

func (r *Request) signStandard(prefix, secret, seconds string) {
	key, err := base64.StdEncoding.DecodeString(secret[len("whsec_"):])
	if err != nil {
		panic(err)
	}
	message := fmt.Sprintf("%s.%s.%s", r.Header.Get(prefix+"-Id"), seconds, r.Body)
	r.Header.Set(prefix+"-Timestamp", seconds)
	r.Header.Set(prefix+"-Signature", "v1,"+base64MAC(sha256.New, string(key), message))
}

func (r *Request) signHubSpot(settings map[string][]string, at time.Time) {
	if v1 := settings["secret_v1"]; len(v1) > 0 {
		sum := sha256.Sum256([]byte(v1[0] + string(r.Body)))
		r.Header.Set("X-HubSpot-Signature", hex.EncodeToString(sum[:]))
		r.Header.Set("X-HubSpot-Signature-Version", "v1")
		return
	}
	millis := strconv.FormatInt(at.UnixMilli(), 10)
	r.Header.Set("X-HubSpot-Request-Timestamp", millis)
	r.Header.Set("X-HubSpot-Signature-v3", base64MAC(sha256.New, settings["secret"][0], r.Method+PublicURL+r.Target+string(r.Body)+millis))
}

// sortedForm is each field's name and value, sorted by name.
func sortedForm(body []byte) string {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		panic(err)
	}
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	text := ""
	for _, name := range names {
		text += name + form.Get(name)
	}
	return text
}

func mac(hash func() hash.Hash, secret, message string) []byte {
	m := hmac.New(hash, []byte(secret))
	m.Write([]byte(message))
	return m.Sum(nil)
}

func hexMAC(secret, message string) string {
	return hex.EncodeToString(mac(sha256.New, secret, message))
}

func base64MAC(hash func() hash.Hash, secret, message string) string {
	return base64.StdEncoding.EncodeToString(mac(hash, secret, message))
}
