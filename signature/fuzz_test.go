package signature_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/signature"
	"github.com/n8n-gate/n8n-gate/signature/signaturetest"
)

// FuzzVerify: whatever stands in the headers, the query and the body, nothing is accepted
// that was not signed, and nothing breaks.
func FuzzVerify(f *testing.F) {
	for _, v := range signaturetest.All() {
		r, body := v.Request()
		for name := range r.Header {
			f.Add(r.Header.Get(name), "1790000000", body, r.URL.RawQuery)
		}
	}
	f.Add("t=1790000000,v1=00;v1=ff", "2026-09-21T14:13:20Z", []byte(`{"id":"evt_1"}`), "token=x")
	const key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	header, at := "X-Signature", signature.Timestamp{Header: "X-Time"}
	type checked struct {
		kind string
		*signature.Verifier
	}
	var checks []checked
	for _, c := range []struct {
		signature.Config
		secret string
	}{
		{signature.Config{Kind: signature.KindToken, Query: "token"}, "fuzzed-s3cret"},
		{signature.Config{Kind: signature.KindHMAC, Hash: "sha512", Encoding: signature.Base64, Header: header, Prefix: "sha512="}, "fuzzed-s3cret"},
		{signature.Config{Kind: signature.KindHMAC, Hash: "sha256", Encoding: signature.Hex, Header: header, Version: "v1", Timestamp: signature.Timestamp{Item: "t"}}, "fuzzed-s3cret"},
		{signature.Config{Kind: signature.KindHMAC, Hash: "sha1", Encoding: signature.Hex, Header: header, Timestamp: signature.Timestamp{Header: "X-Time", Unit: "rfc3339"}}, "fuzzed-s3cret"},
		{signature.Config{Kind: signature.KindHMAC, Hash: "sha256", Encoding: signature.Hex, Field: "a.0.b", Sign: "{url}{query.c}{json.d}{body}"}, "fuzzed-s3cret"},
		{signature.Config{Kind: signature.KindStandard}, "whsec_Zm9vYmFy"},
		{signature.Config{Kind: signature.KindEd25519, Header: header, Timestamp: at}, key},
		{signature.Config{Kind: signature.KindTwilio}, "fuzzed-s3cret"},
		{signature.Config{Kind: signature.KindBasic, User: "shop"}, "fuzzed-s3cret"},
		{signature.Config{Kind: signature.KindJWT}, key},
		{signature.Config{Kind: signature.KindSNS}, ""},
		{signature.Config{Kind: signature.KindPayPal}, "WH-1"},
	} {
		var secrets []string
		if c.secret != "" {
			secrets = []string{c.secret}
		}
		check, err := c.Verifier(secrets, signature.World{
			Now: func() time.Time { return time.Unix(1_790_000_000, 0) }, Client: &http.Client{Transport: nowhere{}},
		})
		if err != nil {
			f.Fatal(err)
		}
		checks = append(checks, checked{c.Kind, check})
	}
	f.Fuzz(func(t *testing.T, value, at string, body []byte, query string) {
		r := &http.Request{Method: http.MethodPost, Host: "hooks.example.com", URL: &url.URL{Path: "/webhook/x", RawQuery: query}, Header: http.Header{}}
		for _, name := range []string{
			"X-Signature", "Webhook-Signature", "X-Twilio-Signature", "Authorization", "Paypal-Transmission-Sig", "Paypal-Cert-Url",
		} {
			r.Header.Set(name, value)
		}
		for _, name := range []string{"X-Time", "Webhook-Timestamp", "Webhook-Id", "Paypal-Transmission-Time", "Paypal-Transmission-Id", "Content-Type"} {
			r.Header.Set(name, at)
		}
		for _, check := range checks {
			if check.Verify(r, body) == nil {
				t.Errorf("%s accepted it", check.kind)
			}
		}
	})
}

// nowhere is the internet for whom nothing may be fetched.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }
