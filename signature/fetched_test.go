package signature

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// authority stands for all of the internet: whichever host is asked for, it answers, over
// TLS, and counts.
type authority struct {
	http.Handler
	asked atomic.Int64
	world World
	now   atomic.Pointer[time.Time]
}

func newAuthority(t *testing.T, h http.HandlerFunc) *authority {
	t.Helper()
	a := &authority{Handler: h}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked.Add(1)
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"},
	}
	t.Cleanup(transport.CloseIdleConnections)
	a.at(noon)
	a.world = World{Now: func() time.Time { return *a.now.Load() }, Client: &http.Client{Transport: transport}}
	return a
}

func (a *authority) at(now time.Time) { a.now.Store(&now) }

func (a *authority) wantAsked(t *testing.T, want int64) {
	t.Helper()
	if got := a.asked.Load(); got != want {
		t.Errorf("%d requests for keys, want %d", got, want)
	}
}

func newRSA(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func certificateOf(t testing.TB, key *rsa.PrivateKey, from, until time.Time) []byte {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sender"}, NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func signRSA(t testing.TB, key *rsa.PrivateKey, hash crypto.Hash, message string) string {
	t.Helper()
	digest := sha256.Sum256([]byte(message))
	whole := digest[:]
	if hash == crypto.SHA1 {
		short := sha1.Sum([]byte(message))
		whole = short[:]
	}
	sig, err := rsa.SignPKCS1v15(nil, key, hash, whole)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(sig)
}

// snsMessage is a notification, signed, with some of its members changed before and after.
func snsMessage(t testing.TB, key *rsa.PrivateKey, version string, after map[string]string) []byte {
	t.Helper()
	m := map[string]string{
		"Type": "Notification", "MessageId": "m-1", "TopicArn": "arn:aws:sns:eu-west-1:1:orders", "Message": event,
		"Timestamp": noon.UTC().Format("2006-01-02T15:04:05.000Z"), "SignatureVersion": version,
		"SigningCertURL": "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-abc.pem",
	}
	text := "Message\n" + m["Message"] + "\nMessageId\n" + m["MessageId"] + "\nTimestamp\n" + m["Timestamp"] + "\nTopicArn\n" + m["TopicArn"] + "\nType\n" + m["Type"] + "\n"
	hash := crypto.SHA256
	if version == "1" {
		hash = crypto.SHA1
	}
	m["Signature"] = signRSA(t, key, hash, text)
	for name, value := range after {
		m[name] = value
	}
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestSNS(t *testing.T) {
	key := newRSA(t)
	good := certificateOf(t, key, noon.Add(-time.Hour), noon.Add(time.Hour))
	a := newAuthority(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Host + r.URL.Path {
		case "sns.eu-west-1.amazonaws.com/SimpleNotificationService-abc.pem":
			_, _ = w.Write(good)
		case "sns.eu-west-1.amazonaws.com/SimpleNotificationService-old.pem":
			_, _ = w.Write(certificateOf(t, key, noon.Add(-2*time.Hour), noon.Add(-time.Hour)))
		case "sns.eu-west-1.amazonaws.com/SimpleNotificationService-moved.pem":
			http.Redirect(w, r, "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-abc.pem", http.StatusFound)
		case "sns.eu-west-1.amazonaws.com/SimpleNotificationService-large.pem":
			_, _ = w.Write(append(good, make([]byte, fetchLimit)...))
		default:
			http.NotFound(w, r)
		}
	})
	from := func(url string) map[string]string { return map[string]string{"SigningCertURL": url} }
	at := func(name string) map[string]string {
		return from("https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-" + name + ".pem")
	}
	for _, tt := range []struct {
		name string
		body []byte
		asks int64
		want error
	}{
		{"version 2", snsMessage(t, key, "2", nil), 1, nil},
		{"version 1", snsMessage(t, key, "1", nil), 1, nil},
		{"version 3", snsMessage(t, key, "2", map[string]string{"SignatureVersion": "3"}), 0, ErrMalformed},
		{"the other version", snsMessage(t, key, "2", map[string]string{"SignatureVersion": "1"}), 1, ErrMismatch},
		{"another message", snsMessage(t, key, "2", map[string]string{"Message": "{}"}), 1, ErrMismatch},
		{"another topic", snsMessage(t, key, "2", map[string]string{"TopicArn": "arn:aws:sns:eu-west-1:1:refunds"}), 1, ErrMismatch},
		{"a subject that is not signed", snsMessage(t, key, "2", map[string]string{"Subject": "x"}), 1, ErrMismatch},
		{"another type", snsMessage(t, key, "2", map[string]string{"Type": "Gossip"}), 0, ErrMalformed},
		{"no signature", snsMessage(t, key, "2", map[string]string{"Signature": ""}), 0, ErrMissing},
		{"another key", snsMessage(t, newRSA(t), "2", nil), 1, ErrMismatch},
		{"an expired certificate", snsMessage(t, key, "2", at("old")), 1, ErrMismatch},
		{"a certificate that is not there", snsMessage(t, key, "2", at("none")), 1, ErrUnavailable},
		{"a certificate that moved", snsMessage(t, key, "2", at("moved")), 1, ErrUnavailable},
		{"a certificate without end", snsMessage(t, key, "2", at("large")), 1, ErrUnavailable},
		{"a stranger's host", snsMessage(t, key, "2", from("https://a.example/SimpleNotificationService-abc.pem")), 0, ErrMismatch},
		{"a host that only looks like it", snsMessage(t, key, "2", from("https://sns.eu-west-1.amazonaws.com.a.example/SimpleNotificationService-abc.pem")), 0, ErrMismatch},
		{"a host before an @", snsMessage(t, key, "2", from("https://sns.eu-west-1.amazonaws.com@a.example/SimpleNotificationService-abc.pem")), 0, ErrMismatch},
		{"another service's host", snsMessage(t, key, "2", from("https://s3.amazonaws.com/SimpleNotificationService-abc.pem")), 0, ErrMismatch},
		{"plain http", snsMessage(t, key, "2", from("http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-abc.pem")), 0, ErrMismatch},
		{"two topics", append([]byte(`{"TopicArn":"arn:aws:sns:eu-west-1:1:refunds",`), snsMessage(t, key, "2", nil)[1:]...), 0, ErrRepeated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := a.asked.Load()
			check := verifier(t, Config{Kind: KindSNS}, a.world)
			if err := check.Verify(post(""), tt.body); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
			a.wantAsked(t, before+tt.asks)
		})
	}
	t.Run("later", func(t *testing.T) {
		before := a.asked.Load()
		check := verifier(t, Config{Kind: KindSNS}, a.world)
		for range 3 {
			if err := check.Verify(post(""), snsMessage(t, key, "2", nil)); err != nil {
				t.Error(err)
			}
		}
		// What forgers name costs one request each 5 s, and stands in nobody's way.
		for i := range 50 {
			forged := snsMessage(t, key, "2", at(fmt.Sprint("none", i)))
			if err := check.Verify(post(""), forged); !errors.Is(err, ErrUnavailable) {
				t.Errorf("a certificate that nobody has: %v", err)
			}
		}
		a.at(noon.Add(10 * time.Minute))
		defer a.at(noon)
		if err := check.Verify(post(""), snsMessage(t, key, "2", nil)); !errors.Is(err, ErrStale) {
			t.Errorf("10 minutes later: %v, want %v", err, ErrStale)
		}
		a.wantAsked(t, before+1)
		a.at(noon.Add(2 * time.Hour))
		if err := check.Verify(post(""), snsMessage(t, key, "2", nil)); !errors.Is(err, ErrMismatch) {
			t.Errorf("behind the certificate's end: %v, want %v", err, ErrMismatch)
		}
	})
}

func TestPayPal(t *testing.T) {
	key := newRSA(t)
	certificate := certificateOf(t, key, noon.Add(-time.Hour), noon.Add(time.Hour))
	a := newAuthority(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(certificate) })
	at := noon.UTC().Format(time.RFC3339)
	signed := func(change ...string) *http.Request {
		sum := crc32.ChecksumIEEE([]byte(event))
		r := post(event,
			"Paypal-Transmission-Id", "t-1", "Paypal-Transmission-Time", at, "Paypal-Auth-Algo", "SHA256withRSA",
			"Paypal-Cert-Url", "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594",
			"Paypal-Transmission-Sig", signRSA(t, key, crypto.SHA256, fmt.Sprintf("t-1|%s|WH-1|%d", at, sum)),
		)
		for i := 0; i < len(change); i += 2 {
			r.Header.Set(change[i], change[i+1])
		}
		return r
	}
	for _, tt := range []struct {
		name    string
		request *http.Request
		body    string
		webhook string
		want    error
	}{
		{"as it was sent", signed(), event, "WH-1", nil},
		{"another webhook", signed(), event, "WH-2", ErrMismatch},
		{"another body", signed(), `{"id":"evt_2"}`, "WH-1", ErrMismatch},
		{"another id", signed("Paypal-Transmission-Id", "t-2"), event, "WH-1", ErrMismatch},
		{"another time", signed("Paypal-Transmission-Time", noon.Add(time.Second).UTC().Format(time.RFC3339)), event, "WH-1", ErrMismatch},
		{"another algorithm", signed("Paypal-Auth-Algo", "SHA1withRSA"), event, "WH-1", ErrMalformed},
		{"a stranger's certificate", signed("Paypal-Cert-Url", "https://api.paypal.com.a.example/v1/notifications/certs/CERT-1"), event, "WH-1", ErrMismatch},
		{"another path", signed("Paypal-Cert-Url", "https://api.paypal.com/v1/notifications/certs/../../x/CERT-1"), event, "WH-1", ErrMismatch},
		{"no signature", signed("Paypal-Transmission-Sig", ""), event, "WH-1", ErrMissing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := verifier(t, Config{Kind: KindPayPal}, a.world, tt.webhook)
			if err := check.Verify(tt.request, []byte(tt.body)); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}
}

const (
	issuer   = "https://accounts.example.com"
	audience = "https://hooks.example.com/webhook/pubsub"
	robot    = "push@project.example.com"
)

// jwtOf is a JWT, signed, with claims changed.
func jwtOf(t testing.TB, algorithm jose.SignatureAlgorithm, key any, id string, change map[string]any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		options = options.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{
		"iss": issuer, "aud": audience, "exp": noon.Add(time.Hour).Unix(), "iat": noon.Unix(), "email": robot, "email_verified": true,
	}
	for name, value := range change {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	text, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOIDC(t *testing.T) {
	rsaKey, other := newRSA(t), newRSA(t)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	published := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: rsaKey.Public(), KeyID: "k1", Use: "sig"}, {Key: curve.Public(), KeyID: "k2"}, {Key: other.Public(), KeyID: "k3", Use: "enc"},
	}}
	var down atomic.Bool
	a := newAuthority(t, func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(published)
	})
	config := Config{Kind: KindOIDC, KeysURL: issuer + "/certs", Issuer: issuer, Audience: audience, Email: robot}
	bearing := func(token string) *http.Request { return post(event, "Authorization", "Bearer "+token) }
	good := jwtOf(t, jose.RS256, rsaKey, "k1", nil)
	with := func(name string, value any) string {
		return jwtOf(t, jose.RS256, rsaKey, "k1", map[string]any{name: value})
	}
	public := x509.MarshalPKCS1PublicKey(&rsaKey.PublicKey)
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + strings.Split(good, ".")[1] + "."
	for _, tt := range []struct {
		name    string
		request *http.Request
		want    error
	}{
		{"RS256", bearing(good), nil},
		{"ES256", bearing(jwtOf(t, jose.ES256, curve, "k2", nil)), nil},
		{"without Bearer", post(event, "Authorization", good), nil},
		{"several audiences", bearing(with("aud", []string{"x", audience})), nil},
		{"a mail address that is verified in words", bearing(with("email_verified", "true")), nil},
		{"none", post(event), ErrMissing},
		{"Basic", post(event, "Authorization", "Basic "+good), ErrMalformed},
		{"no token", bearing("abc"), ErrMalformed},
		{"not signed", bearing(unsigned), ErrMalformed},
		{"signed with the public key as a secret", bearing(jwtOf(t, jose.HS256, public, "k1", nil)), ErrMalformed},
		{"a key for something else", bearing(jwtOf(t, jose.RS256, other, "k3", nil)), ErrMismatch},
		{"another key under the name", bearing(jwtOf(t, jose.RS256, other, "k1", nil)), ErrMismatch},
		{"no name of a key", bearing(jwtOf(t, jose.RS256, rsaKey, "", nil)), ErrMismatch},
		{"another issuer", bearing(with("iss", "https://a.example")), ErrMismatch},
		{"another audience", bearing(with("aud", "https://a.example")), ErrMismatch},
		{"another mail address", bearing(with("email", "x@a.example")), ErrMismatch},
		{"a mail address that nobody verified", bearing(with("email_verified", false)), ErrMismatch},
		{"no word whether it is verified", bearing(with("email_verified", nil)), ErrMismatch},
		{"no end", bearing(with("exp", nil)), ErrMismatch},
		{"its end 6 minutes ago", bearing(with("exp", noon.Add(-6*time.Minute).Unix())), ErrStale},
		{"its end 4 minutes ago", bearing(with("exp", noon.Add(-4*time.Minute).Unix())), nil},
		{"from tomorrow", bearing(with("iat", noon.Add(24*time.Hour).Unix())), ErrStale},
		{"longer than any", bearing(with("x", strings.Repeat("x", maxHeader))), ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := verifier(t, config, a.world)
			if err := check.Verify(tt.request, nil); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}

	t.Run("fetched when needed", func(t *testing.T) {
		before := a.asked.Load()
		check := verifier(t, config, a.world)
		a.wantAsked(t, before) // not at start
		verify := func(text string, want error) {
			t.Helper()
			if err := check.Verify(bearing(text), nil); !errors.Is(err, want) {
				t.Errorf("Verify = %v, want %v", err, want)
			}
		}
		verify(good, nil)
		for i := range 100 {
			verify(jwtOf(t, jose.ES256, curve, fmt.Sprint("made up ", i), nil), ErrMismatch)
		}
		verify(good, nil)
		a.wantAsked(t, before+1)
		// A minute later a new key may be asked for; the known ones need nobody.
		down.Store(true)
		a.at(noon.Add(2 * time.Minute))
		verify(jwtOf(t, jose.ES256, curve, "new", nil), ErrUnavailable)
		verify(good, nil)
		a.wantAsked(t, before+2)
		// After an hour they are old: nobody knows whether they were taken back.
		a.at(noon.Add(64 * time.Minute))
		verify(good, ErrUnavailable)
		verify(good, ErrUnavailable)
		a.wantAsked(t, before+3)
		down.Store(false)
		a.at(noon.Add(64*time.Minute + keysPause))
		verify(jwtOf(t, jose.RS256, rsaKey, "k1", map[string]any{"exp": noon.Add(2 * time.Hour).Unix()}), nil)
		a.wantAsked(t, before+4)
	})
}

func TestJWT(t *testing.T) {
	secret := strings.Repeat("s3cret", 6)
	config := Config{Kind: KindJWT, Header: "X-Token", Audience: audience}
	for _, tt := range []struct {
		name, token string
		want        error
	}{
		{"as it was sent", jwtOf(t, jose.HS256, []byte(secret), "", nil), nil},
		{"another secret", jwtOf(t, jose.HS256, []byte(strings.Repeat("other!", 6)), "", nil), ErrMismatch},
		{"another algorithm", jwtOf(t, jose.HS512, []byte(secret+secret), "", nil), ErrMalformed},
		{"another audience", jwtOf(t, jose.HS256, []byte(secret), "", map[string]any{"aud": "x"}), ErrMismatch},
		{"expired", jwtOf(t, jose.HS256, []byte(secret), "", map[string]any{"exp": noon.Add(-time.Hour).Unix()}), ErrStale},
		{"without end", jwtOf(t, jose.HS256, []byte(secret), "", map[string]any{"exp": nil}), ErrMismatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := verifier(t, config, atNoon(), "another secret", secret)
			if err := check.Verify(post(event, "X-Token", tt.token), nil); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}
}
