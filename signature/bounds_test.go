package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

var noon = time.Unix(1_790_000_000, 0)

func atNoon() World { return World{Now: func() time.Time { return noon }} }

func macOf(message string) []byte {
	h := hmac.New(sha256.New, []byte("s3cret"))
	h.Write([]byte(message))
	return h.Sum(nil)
}

func post(body string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "https://hooks.example.com/webhook/x", strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

const event = `{"id":"evt_1"}`

var listed = Config{
	Kind: KindHMAC, Hash: "sha256", Encoding: Hex, Header: "X-Signature", Version: "v1", Timestamp: Timestamp{Item: "t"},
}

// However many signatures a header holds, only the first ones are looked at, and nothing of
// a header that is longer than any sender's.
func TestThousandsOfSignatures(t *testing.T) {
	right := hex.EncodeToString(macOf(fmt.Sprintf("%d.%s", noon.Unix(), event)))
	wrong := strings.Repeat("0", len(right))
	check := verifier(t, listed, atNoon(), "s3cret")
	at := fmt.Sprintf("t=%d,", noon.Unix())
	for _, tt := range []struct {
		name, value string
		want        error
	}{
		{"alone", at + "v1=" + right, nil},
		{"last of those that are looked at", at + strings.Repeat("v1="+wrong+",", maxSignatures-1) + "v1=" + right, nil},
		{"behind those", at + strings.Repeat("v1="+wrong+",", maxSignatures) + "v1=" + right, ErrMismatch},
		{"behind as many that cannot be decoded", at + strings.Repeat("v1=zz,", maxSignatures) + "v1=" + right, ErrMalformed},
		{"before thousands", at + "v1=" + right + strings.Repeat(",v1="+wrong, 5000), ErrMalformed},
		{"twice a time", at + at + "v1=" + right, ErrRepeated},
		{"no time", "v1=" + right, ErrMalformed},
		{"empty items", at + ",;,;, v1=" + right + ";;", nil},
		{"nothing but commas", strings.Repeat(",", maxHeader), ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := check.Verify(post(event, "X-Signature", tt.value), []byte(event)); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}
	standard := verifier(t, Config{Kind: KindStandard}, atNoon(), "whsec_"+base64.StdEncoding.EncodeToString([]byte("s3cret")))
	sig := "v1," + base64.StdEncoding.EncodeToString(macOf(fmt.Sprintf("msg_1.%d.%s", noon.Unix(), event)))
	for n, want := range map[int]error{0: nil, maxSignatures - 1: nil, maxSignatures: ErrMismatch, 5000: ErrMalformed} {
		value := strings.Repeat("v1,AAAA ", n) + sig
		r := post(event, "Webhook-Id", "msg_1", "Webhook-Timestamp", fmt.Sprint(noon.Unix()), "Webhook-Signature", value)
		if err := standard.Verify(r, []byte(event)); !errors.Is(err, want) {
			t.Errorf("Standard Webhooks behind %d others: %v, want %v", n, err, want)
		}
	}
}

// One time has one spelling, even where all of it is signed; and a signature is stale only
// if it is right.
func TestTimes(t *testing.T) {
	second := fmt.Sprint(noon.Unix())
	for _, tt := range []struct {
		unit, at string
		want     error
	}{
		{"s", second, nil},
		{"s", fmt.Sprint(noon.Add(5 * time.Minute).Unix()), nil},
		{"s", fmt.Sprint(noon.Add(5*time.Minute + time.Second).Unix()), ErrStale},
		{"s", fmt.Sprint(noon.Add(-5 * time.Minute).Unix()), nil},
		{"s", fmt.Sprint(noon.Add(-5*time.Minute - time.Second).Unix()), ErrStale},
		{"s", "0", ErrStale},
		{"s", "9999999999999", ErrStale},
		{"s", "99999999999999", ErrMalformed},
		{"s", "9223372036854775808", ErrMalformed},
		{"s", strings.Repeat("9", 4000), ErrMalformed},
		{"s", "-" + second, ErrMalformed},
		{"s", "+" + second, ErrMalformed},
		{"s", second + ".0", ErrMalformed},
		{"s", "1.79e9", ErrMalformed},
		{"s", "0x6ab13b80", ErrMalformed},
		{"s", "١٧٩", ErrMalformed},
		{"ms", second + "000", nil},
		{"ms", second, ErrStale},
		{"rfc3339", noon.UTC().Format(time.RFC3339), nil},
		{"rfc3339", noon.UTC().Format("2006-01-02T15:04:05.000000000Z"), nil},
		{"rfc3339", second, ErrMalformed},
		{"rfc3339", "2026-13-01T00:00:00Z", ErrMalformed},
		{"rfc3339", "9999-12-31T23:59:59Z", ErrStale},
	} {
		t.Run(tt.unit+" "+tt.at[:min(len(tt.at), 20)], func(t *testing.T) {
			c := Config{
				Kind: KindHMAC, Hash: "sha256", Encoding: Hex, Header: "X-Signature", Timestamp: Timestamp{Header: "X-Time", Unit: tt.unit},
			}
			check := verifier(t, c, atNoon(), "s3cret")
			right := hex.EncodeToString(macOf(tt.at + "." + event))
			if err := check.Verify(post(event, "X-Time", tt.at, "X-Signature", right), []byte(event)); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
			wrong := hex.EncodeToString(macOf("1" + tt.at + "." + event))
			if err := check.Verify(post(event, "X-Time", tt.at, "X-Signature", wrong), []byte(event)); !errors.Is(err, ErrMismatch) {
				t.Errorf("Verify of another signature = %v, want %v", err, ErrMismatch)
			}
		})
	}
}

// A signature has one spelling in base64.
func TestSpellings(t *testing.T) {
	c := Config{Kind: KindHMAC, Hash: "sha256", Encoding: Base64, Header: "X-Signature", Prefix: "sha256="}
	check := verifier(t, c, World{}, "s3cret")
	right := base64.StdEncoding.EncodeToString(macOf(event)) // ends in one =
	raw := strings.TrimRight(right, "=")
	for value, want := range map[string]error{
		"sha256=" + right:                          nil,
		"sha256=" + raw:                            ErrMalformed,
		"sha256=" + right + "=":                    ErrMalformed,
		"sha256=" + right[:10] + "\r" + right[10:]: ErrMalformed,
		"sha256=!" + right[1:]:                     ErrMalformed,
		"sha256=":                                  ErrMalformed,
		"sha1=" + right:                            ErrMalformed,
		right:                                      ErrMalformed,
		"sha256=" + right + ", sha256=" + right:    ErrMalformed,
		"sha256=" + strings.Repeat("A", maxHeader): ErrMalformed,
		"sha256=" + base64.URLEncoding.EncodeToString([]byte{0xfb, 0xff}): ErrMalformed,
	} {
		if err := check.Verify(post(event, "X-Signature", value), []byte(event)); !errors.Is(err, want) {
			t.Errorf("Verify of %.60q = %v, want %v", value, err, want)
		}
	}
	if err := check.Verify(post(event, "X-Signature", "sha256="+right, "X-Signature", "sha256="+right), []byte(event)); !errors.Is(err, ErrRepeated) {
		t.Errorf("two headers: %v", err)
	}
}

// A body whose members are signed one by one may have each of them once.
func TestMembers(t *testing.T) {
	c := Config{Kind: KindHMAC, Hash: "sha256", Encoding: Hex, Field: "signature", Sign: "{json.a.0.b}:{json.c}:{json.d}"}
	check := verifier(t, c, World{}, "s3cret")
	sig := hex.EncodeToString(macOf("x:1.50:true"))
	for body, want := range map[string]error{
		`{"a":[{"b":"x"}],"c":1.50,"d":true,"signature":"` + sig + `"}`:              nil,
		`{"a":[{"b":"x"}],"c":1.5,"d":true,"signature":"` + sig + `"}`:               ErrMismatch,
		`{"a":[{"b":"x"}],"c":1.50,"c":2,"d":true,"signature":"` + sig + `"}`:        ErrRepeated,
		`{"a":[{"b":"x","\u0062":"y"}],"c":1.50,"d":true,"signature":"` + sig + `"}`: ErrRepeated,
		`{"a":[{"b":"x"}],"c":1.50,"d":true}`:                                        ErrMissing,
		`{"a":[{"b":"x"}],"c":1.50,"d":true,"signature":"` + sig + `"} {}`:           ErrMalformed,
		strings.Repeat("[", 10_000):                                                  ErrMalformed,
		``:                                                                           ErrMalformed,
	} {
		if err := check.Verify(post(body), []byte(body)); !errors.Is(err, want) {
			t.Errorf("Verify of %.60s = %v, want %v", body, err, want)
		}
	}
}
