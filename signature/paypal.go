package signature

import (
	"crypto"
	"hash/crc32"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// payPal is how PayPal signs: RSA over id, time, the webhook's id (the secret) and a
// checksum of the body. Source: developer.paypal.com/api/rest/webhooks/rest, "Self
// verification method".
type payPal struct {
	certificates *certificates
	webhook      string
	tolerance    time.Duration
}

// payPalCertificate is where PayPal publishes the certificates.
var payPalCertificate = regexp.MustCompile(`^https://api(\.sandbox)?\.paypal\.com/v1/notifications/certs/CERT-[A-Za-z0-9-]{1,64}$`)

func newPayPal(c Config, webhook string, w World) proof {
	return payPal{certificates: &certificates{allowed: payPalCertificate, fetch: w.fetcher()}, webhook: webhook, tolerance: c.Tolerance}
}

func (p payPal) verify(r *http.Request, body []byte, now time.Time) error {
	var values [5]string
	for i, name := range []string{"Id", "Time", "Sig", "Cert-Url", "Auth-Algo"} {
		header := "Paypal-Transmission-" + name
		if i > 2 {
			header = "Paypal-" + name
		}
		value, err := one(r, header)
		if err != nil {
			return err
		}
		values[i] = value
	}
	id, at, text, from, algorithm := values[0], values[1], values[2], values[3], values[4]
	sig, err := decodeBase64(text)
	if err != nil || algorithm != "SHA256withRSA" {
		return ErrMalformed
	}
	certificate, err := p.certificates.find(r.Context(), from, now)
	if err != nil {
		return err
	}
	checksum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
	message := []byte(id + "|" + at + "|" + p.webhook + "|" + checksum)
	if err := rsaVerify(certificate, crypto.SHA256, [][]byte{message}, sig); err != nil {
		return err
	}
	return fresh(at, "rfc3339", p.tolerance, now)
}
