package signature_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/signature"
	"github.com/n8n-gate/n8n-gate/signature/signaturetest"
)

func verifierOf(t testing.TB, v signaturetest.Vector, c signature.Config) *signature.Verifier {
	t.Helper()
	check, err := c.Verifier(v.Secrets(), v.World())
	if err != nil {
		t.Fatal(err)
	}
	return check
}

// Each published vector gives the published result.
func TestVectors(t *testing.T) {
	for _, v := range signaturetest.All() {
		t.Run(v.ID, func(t *testing.T) {
			c := v.Config()
			if v.Tolerance > 0 && v.Now != "" {
				c.Tolerance = time.Duration(v.Tolerance) * time.Second
			}
			r, body := v.Request()
			err := verifierOf(t, v, c).Verify(r, body)
			if (err == nil) != v.Valid {
				t.Errorf("Verify = %v, want valid: %t", err, v.Valid)
			}
		})
	}
}

// Whatever byte of what is signed is changed, it is refused; so is a signature, a
// timestamp or an id with one byte changed.
func TestMutations(t *testing.T) {
	for _, v := range signaturetest.All() {
		if !v.Valid || v.BodyRepeat.Count > 0 || v.Scheme == "adyen-item-hmac" {
			continue // Adyen's body is not signed, only some of its members
		}
		t.Run(v.ID, func(t *testing.T) {
			check := verifierOf(t, v, v.Config())
			r, body := v.Request()
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
