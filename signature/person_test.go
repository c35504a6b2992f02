package signature

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"testing"
)

func TestBasic(t *testing.T) {
	check := verifier(t, Config{Kind: KindBasic, User: "shop"}, World{}, "old", "n:w")
	encoded := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	for value, want := range map[string]error{
		encoded("shop:old"):                nil,
		encoded("shop:n:w"):                nil,
		"basic " + encoded("shop:old")[6:]: nil, // RFC 7617: a scheme is read in either case
		encoded("shop:new"):                ErrMismatch,
		encoded("shop:"):                   ErrMismatch,
		encoded("Shop:old"):                ErrMismatch,
		encoded(":old"):                    ErrMismatch,
		encoded("shop"):                    ErrMalformed,
		"Bearer old":                       ErrMalformed,
		"Basic old!":                       ErrMalformed,
		"":                                 ErrMissing,
	} {
		if err := check.Verify(post("", "Authorization", value), nil); !errors.Is(err, want) {
			t.Errorf("Verify of %q = %v, want %v", value, err, want)
		}
	}
}

// Only a certificate that was verified says anything.
func TestMTLS(t *testing.T) {
	check := verifier(t, Config{Kind: KindMTLS, Subjects: []string{"partner.example.com", "Partner Ltd"}}, World{})
	named := func(common string, dns ...string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: common}, DNSNames: dns}
	}
	known, stranger := named("Partner Ltd"), named("Stranger")
	for name, tt := range map[string]struct {
		state *tls.ConnectionState
		want  error
	}{
		"no TLS":                        {nil, ErrMissing},
		"no certificate":                {&tls.ConnectionState{}, ErrMissing},
		"one that nobody verified":      {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{known}}, ErrMissing},
		"a known common name":           {&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{known}}}, nil},
		"a known DNS name":              {&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{named("x", "a", "partner.example.com")}}}, nil},
		"a stranger":                    {&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{stranger}}}, ErrMismatch},
		"a stranger, issued by a known": {&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{stranger, known}}}, ErrMismatch},
		"another case":                  {&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{named("partner ltd")}}}, ErrMismatch},
	} {
		r := post("")
		r.TLS = tt.state
		if err := check.Verify(r, nil); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}
