package signature

import (
	"strings"
	"testing"
	"time"
)

// What can never be right is refused when the configuration is loaded, in a sentence.
func TestConfigRefused(t *testing.T) {
	hmac := func(change func(*Config)) Config {
		c := Config{Kind: KindHMAC, Hash: "sha256", Encoding: Hex, Header: "X-Signature"}
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name   string
		config Config
		want   string // "" is accepted
	}{
		{"a plain one", hmac(func(*Config) {}), ""},
		{"no kind", Config{}, `"": unknown kind`},
		{"no hash", hmac(func(c *Config) { c.Hash = "" }), "hmac needs hash"},
		{"another hash", hmac(func(c *Config) { c.Hash = "md5" }), "must be one of sha1, sha256, sha512"},
		{"another encoding", hmac(func(c *Config) { c.Encoding = "base32" }), "must be one of hex, base64"},
		{"another key", hmac(func(c *Config) { c.Key = "rot13" }), "must be one of hex, base64, whsec, html, sha1"},
		{"another unit", hmac(func(c *Config) { c.Timestamp = Timestamp{Header: "X-T", Unit: "ns"} }), "must be one of s, ms, rfc3339"},
		{"no place", hmac(func(c *Config) { c.Header = "" }), "either a header or a field"},
		{"two places", hmac(func(c *Config) { c.Field = "a" }), "either a header or a field"},
		{"a name that is none", hmac(func(c *Config) { c.Header = "X Signature" }), `" " cannot stand in a header's name`},
		{"a further name that is none", hmac(func(c *Config) { c.Also = []string{"a:b"} }), `":" cannot stand`},
		{"a required name that is none", hmac(func(c *Config) { c.Require = map[string]string{"ü": "1"} }), "cannot stand in a header's name"},
		{"a member of another kind", hmac(func(c *Config) { c.User = "a" }), "hmac takes no user"},
		{"prefix and version", hmac(func(c *Config) { c.Prefix, c.Version = "a=", "v1" }), "exclude each other"},
		{"an item in what is no list", hmac(func(c *Config) { c.Timestamp.Item = "t" }), "needs version"},
		{"an item that is the version", hmac(func(c *Config) { c.Version, c.Timestamp.Item = "v1", "v1" }), "have one name"},
		{"a time in two places", hmac(func(c *Config) { c.Timestamp = Timestamp{Header: "a", Field: "b"} }), "stands in one place"},
		{"a unit without a time", hmac(func(c *Config) { c.Timestamp.Unit = "ms" }), "stands in one place"},
		{"a tolerance without a time", hmac(func(c *Config) { c.Tolerance = time.Hour }), "tolerance needs a timestamp"},
		{"a time that is not signed", hmac(func(c *Config) { c.Timestamp.Header, c.Sign = "X-T", "{body}" }), "a timestamp must be signed"},
		{"a signed time that stands nowhere", hmac(func(c *Config) { c.Sign = "{timestamp}{body}" }), "a timestamp must be signed"},
		{"a time in the signed body", hmac(func(c *Config) { c.Timestamp.Field = "sent_at" }), ""},
		{"an id that is not signed", hmac(func(c *Config) { c.ID = "X-Id" }), "id must be signed"},
		{"an open brace", hmac(func(c *Config) { c.Sign = "{body" }), "not closed"},
		{"an unknown part", hmac(func(c *Config) { c.Sign = "{body}{salt}" }), "{salt}: unknown"},
		{"nothing signed", hmac(func(c *Config) { c.Sign = "hello" }), "nothing of the delivery is signed"},
		{"a secret in an hmac", hmac(func(c *Config) { c.Sign = "{secret}{body}" }), "for digest alone"},
		{"a digest without a secret", Config{Kind: KindDigest, Hash: "sha1", Encoding: Hex, Header: "a"}, "for digest alone"},
		{"an origin that is not signed", hmac(func(c *Config) { c.PublicURL = "https://a.example" }), "needs {url} in sign"},
		{"an origin with a path", hmac(func(c *Config) { c.PublicURL, c.Sign = "https://a.example/x", "{url}" }), "scheme and host"},
		{"a token in two places", Config{Kind: KindToken, Header: "a", Query: "b"}, "either a header or a query parameter"},
		{"headers that begin otherwise", Config{Kind: KindStandard, Prefix: "hook"}, "must be webhook or svix"},
		{"a user with a colon", Config{Kind: KindBasic, User: "a:b"}, "a colon cannot stand"},
		{"mtls without a subject", Config{Kind: KindMTLS}, "mtls needs subject"},
		{"keys over plain http", Config{Kind: KindOIDC, KeysURL: "http://a.example", Audience: "a", Issuer: "b"}, "must be an https URL"},
		{"keys for a user", Config{Kind: KindOIDC, KeysURL: "https://u@a.example", Audience: "a", Issuer: "b"}, "must be an https URL"},
		{"keys for anybody", Config{Kind: KindOIDC, KeysURL: "https://a.example"}, "oidc needs audience"},
		{"a tolerance below zero", Config{Kind: KindStandard, Tolerance: -1}, "tolerance must be positive"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.config.Validate()
			if tt.want == "" {
				if err != nil {
					t.Errorf("Validate = %v", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate = %v, want %q in it", err, tt.want)
			}
		})
	}
}

// Secrets that could never match, or always, are refused; no error shows one.
func TestSecretsRefused(t *testing.T) {
	hmac := Config{Kind: KindHMAC, Hash: "sha256", Encoding: Hex, Header: "X-Signature"}
	keyed := func(key string) Config { c := hmac; c.Key = key; return c }
	for _, tt := range []struct {
		name    string
		config  Config
		secrets []string
		want    string
	}{
		{"none", hmac, nil, "at least one secret"},
		{"an empty one beside another", hmac, []string{"s3cret", ""}, "secret 2 is empty"},
		{"a line feed behind it", hmac, []string{"s3cret\n"}, "white space"},
		{"a control character", hmac, []string{"s3\x00cret"}, "control character"},
		{"no hex", keyed(Hex), []string{"s3cret"}, "not written in hex"},
		{"no base64", keyed(Base64), []string{"s3cret!"}, "not written in base64"},
		{"nothing behind whsec_", keyed(Whsec), []string{"whsec_"}, "not written in whsec"},
		{"no Standard Webhooks' secret", Config{Kind: KindStandard}, []string{"s3cret!"}, "whsec_ or whpk_"},
		{"a short public key", Config{Kind: KindStandard}, []string{"whpk_AAAA"}, "ed25519 public key"},
		{"a short key", Config{Kind: KindEd25519, Header: "a"}, []string{"abcd"}, "no ed25519 public key"},
		{"another curve", Config{Kind: KindECDSA, Header: "a"}, []string{"AAAA"}, "no P-256 public key"},
		{"a secret for certificates", Config{Kind: KindMTLS, Subjects: []string{"a"}}, []string{"s3cret"}, "takes no secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.config.Verifier(tt.secrets, World{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3") {
				t.Errorf("Verifier = %v, want %q in it", err, tt.want)
			}
		})
	}
}
