package tests

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// Only who shows a certificate that Caddy has verified, with a subject that may send, gets
// in.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ca := newClientAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	n := fake.Start(t)
	g := startGate(t, n, config{tls: true, clients: file, auth: "auth mtls subject partner.example.com"})
	as := func(certificates ...tls.Certificate) answer {
		client := clientOf(t, &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, //nolint:gosec // loopback
			Certificates:       certificates,
		}})
		return g.send(context.Background(), client, http.MethodPost, "/webhook/orders", event("evt_1"))
	}
	g.client = clientOf(t, &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}) //nolint:gosec // loopback
	g.warmUp()
	want(t, as(), http.StatusUnauthorized, "unauthenticated")
	want(t, as(ca.issue(t, "stranger.example.com")), http.StatusUnauthorized, "unauthenticated")
	if a := as(newClientAuthority(t).issue(t, "partner.example.com")); a.err == nil && a.decision() != "unauthenticated" {
		t.Errorf("a certificate of another authority: %v", a)
	}
	if records := g.list(nil); len(records) != 0 {
		t.Errorf("%d records of strangers", len(records))
	}
	want(t, as(ca.issue(t, "partner.example.com")), http.StatusOK, "new")
}

// clientAuthority signs certificates of senders.
type clientAuthority tls.Certificate

func newClientAuthority(t *testing.T) clientAuthority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	return clientAuthority(signCertificate(t, template, nil))
}

func (ca clientAuthority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	return signCertificate(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "x"}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, (*tls.Certificate)(&ca))
}

// signCertificate makes a certificate with a key of its own, signed by ca, or by itself.
func signCertificate(t *testing.T, template *x509.Certificate, ca *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, any(key)
	if ca != nil {
		if parent, err = x509.ParseCertificate(ca.Certificate[0]); err != nil {
			t.Fatal(err)
		}
		signer = ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
