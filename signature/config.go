package signature

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The kinds of proofs.
const (
	// Token is a constant word in a header or in a query parameter.
	KindToken = "token"
	// HMAC is a keyed hash of a message.
	KindHMAC = "hmac"
	// Digest is a plain hash of a message in which the secret stands. Only for senders that
	// know no better.
	KindDigest = "digest"
	// Standard Webhooks, and Svix, from which they come.
	KindStandard = "standard_webhooks"
	// Ed25519 and ECDSA (P-256, SHA-256) are signatures that a public key checks.
	KindEd25519 = "ed25519"
	KindECDSA   = "ecdsa"
	// Twilio signs the URL and the fields of the form.
	KindTwilio = "twilio"
	// Basic is a user's name and password (RFC 7617).
	KindBasic = "basic"
	// MTLS is a client certificate that Caddy has verified.
	KindMTLS = "mtls"
	// JWT is a token that is signed with a shared secret, OIDC one that is signed with a
	// published key.
	KindJWT  = "jwt"
	KindOIDC = "oidc"
	// SNS and PayPal sign with RSA and name the certificate in the message.
	KindSNS    = "sns"
	KindPayPal = "paypal"
)

// How a signature, or a key, is written.
const (
	Hex    = "hex"
	Base64 = "base64"
	// Whsec is base64 behind "whsec_", as Standard Webhooks write a secret.
	Whsec = "whsec"
	// HTML is text whose entities are decoded first, as WordPress stores it.
	HTML = "html"
	// SHA1 is a text whose SHA-1 is the key.
	SHA1 = "sha1"
)

// Config says how a sender proves itself. Which fields a kind takes, Validate says.
type Config struct {
	// The kind of proof: "token", a constant word. "hmac", a keyed hash of a message.
	// "standard_webhooks". "ed25519" and "ecdsa" (P-256 with SHA-256), signatures that a
	// public key checks. "basic", a user's name and password. "mtls", a client certificate
	// that Caddy has verified. "jwt", a signed token (HS256). "oidc", a token that an
	// identity provider has signed.
	Kind string `json:"kind"`

	// The header that carries the token or signature. "jwt" and "oidc": default
	// Authorization, with or without "Bearer".
	Header string `json:"header,omitempty"`

	// Further headers that may carry a signature, for senders with one for each secret.
	Also []string `json:"also,omitempty"`

	// The member of a JSON body that carries the signature, instead of a header: names and
	// indexes joined by dots.
	Field string `json:"field,omitempty"`

	// Headers that must have these values, such as the version of a signature.
	Require map[string]string `json:"require,omitempty"`

	// The query parameter that carries the token, instead of a header.
	Query string `json:"query,omitempty"`

	// What stands before the signature in its header, such as "sha256=".
	// "standard_webhooks": what the headers' names begin with, "webhook" (default) or "svix".
	Prefix string `json:"prefix,omitempty"`

	// The header is a list, as "t=1,v1=ab,v1=cd" or "ts=1;h1=ab", and its items of this name
	// are the signatures. Any of them may match.
	Version string `json:"version,omitempty"`

	// The hash: "sha1", "sha256" or "sha512".
	Hash string `json:"hash,omitempty"`

	// How the signature is written: "hex" or "base64". Default of "ed25519": hex; of
	// "ecdsa": base64, of an ASN.1 signature.
	Encoding string `json:"encoding,omitempty"`

	// The signed message, with {body}, {timestamp}, {id}, {method}, {url}, {header.NAME},
	// {query.NAME} and {json.PATH} (a text, number or boolean; nothing where there is none).
	// Default: "{body}"; with a timestamp "{timestamp}.{body}", for public keys
	// "{timestamp}{body}".
	Sign string `json:"sign,omitempty"`

	// Where the signed time stands. Default: no time is signed, and how long events are
	// remembered is how long a replay is known.
	Timestamp Timestamp `json:"timestamp,omitzero"`

	// How far the signed time may be from now, both ways. Default: 5 minutes.
	Tolerance time.Duration `json:"-"`

	// The header that {id} stands for.
	ID string `json:"id,omitempty"`

	// How the secret is written: default, its text is the key; "hex", "base64", or "whsec"
	// (base64 behind whsec_); "html", HTML entities in it are decoded; "sha1", its SHA-1 is
	// the key. Of public keys: "hex" (default of "ed25519") or "base64"
	// (default of "ecdsa", of its SubjectPublicKeyInfo).
	Key string `json:"key,omitempty"`

	// Scheme and host under which the sender knows the gate, such as
	// https://hooks.example.com, where {url} is signed. Default: https and the request's Host.
	PublicURL string `json:"public_url,omitempty"`

	// The user's name of "basic".
	User string `json:"user,omitempty"`

	// The subjects of "mtls": the certificate's common name or one of its DNS names is one
	// of them, to the letter.
	Subjects []string `json:"subjects,omitempty"`

	// What the token of "jwt" and "oidc" must say: for whom it is, by whom it is, and whose
	// verified mail address it is. "oidc" needs audience and issuer; with Google the mail
	// address too, since anybody's service account can be given a token for any audience.
	Audience string `json:"audience,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	Email    string `json:"email,omitempty"`

	// Where the issuer of "oidc" publishes its keys (a JWK set): an https URL. It is fetched
	// when a token asks for a key that is not known, at most once a minute, without
	// following redirects.
	KeysURL string `json:"keys_url,omitempty"`
}

// Timestamp is where a signed time stands, and how it is written.
type Timestamp struct {
	// The header that carries it.
	Header string `json:"header,omitempty"`

	// Or the item of the signature's own header, where that is a list.
	Item string `json:"item,omitempty"`

	// Or the member of a JSON body, by its path.
	Field string `json:"field,omitempty"`

	// "s" (default) and "ms": since 1970. "rfc3339": a date.
	Unit string `json:"unit,omitempty"`
}

// placed reports whether it is known where the time stands.
func (t Timestamp) placed() bool {
	places := 0
	for _, place := range []string{t.Header, t.Item, t.Field} {
		if place != "" {
			places++
		}
	}
	return places == 1
}

// defaultTolerance is what Stripe, Slack and Standard Webhooks say.
const defaultTolerance = 5 * time.Minute

// What a kind takes: the fields that it may have, and of those the ones that it must.
var kinds = map[string]struct{ may, must []string }{
	KindToken:    {may: []string{"header", "query"}},
	KindHMAC:     {may: append([]string{"header", "also", "field", "prefix", "version", "key"}, messageFields...), must: []string{"hash", "encoding"}},
	KindDigest:   {may: append([]string{"also", "prefix", "version"}, messageFields...), must: []string{"header", "hash", "encoding"}},
	KindStandard: {may: []string{"prefix", "tolerance"}},
	KindEd25519:  {may: append([]string{"encoding", "key", "prefix"}, messageFields...), must: []string{"header"}},
	KindECDSA:    {may: append([]string{"encoding", "key", "prefix"}, messageFields...), must: []string{"header"}},
	KindTwilio:   {may: []string{"public_url"}},
	KindBasic:    {must: []string{"user"}},
	KindMTLS:     {must: []string{"subject"}},
	KindJWT:      {may: []string{"header", "audience", "issuer", "tolerance"}},
	KindOIDC:     {may: []string{"header", "email", "tolerance"}, must: []string{"keys_url", "audience", "issuer"}},
	KindSNS:      {may: []string{"tolerance"}},
	KindPayPal:   {may: []string{"tolerance"}},
}

var messageFields = []string{"require", "sign", "timestamp", "tolerance", "id", "public_url"}

// fields are the names of those that are set, in the order of the struct.
func (c Config) fields() []string {
	var names []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"header", c.Header != ""},
		{"also", len(c.Also) > 0},
		{"field", c.Field != ""},
		{"require", len(c.Require) > 0},
		{"query", c.Query != ""},
		{"prefix", c.Prefix != ""},
		{"version", c.Version != ""},
		{"hash", c.Hash != ""},
		{"encoding", c.Encoding != ""},
		{"sign", c.Sign != ""},
		{"timestamp", c.Timestamp != Timestamp{}},
		{"tolerance", c.Tolerance != 0},
		{"id", c.ID != ""},
		{"key", c.Key != ""},
		{"public_url", c.PublicURL != ""},
		{"user", c.User != ""},
		{"subject", len(c.Subjects) > 0},
		{"audience", c.Audience != ""},
		{"issuer", c.Issuer != ""},
		{"email", c.Email != ""},
		{"keys_url", c.KeysURL != ""},
	} {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

// Validate refuses what makes no sense, in a sentence for the user.
func (c Config) Validate() error {
	kind, ok := kinds[c.Kind]
	if !ok {
		return fmt.Errorf("%q: unknown kind", c.Kind)
	}
	set := c.fields()
	for _, name := range set {
		if !slices.Contains(kind.may, name) && !slices.Contains(kind.must, name) {
			return fmt.Errorf("%s takes no %s", c.Kind, name)
		}
	}
	for _, name := range kind.must {
		if !slices.Contains(set, name) {
			return fmt.Errorf("%s needs %s", c.Kind, name)
		}
	}
	if err := c.validateNames(); err != nil {
		return fmt.Errorf("%s: %w", c.Kind, err)
	}
	if err := c.validateWords(); err != nil {
		return fmt.Errorf("%s: %w", c.Kind, err)
	}
	if err := c.validateMessage(); err != nil {
		return fmt.Errorf("%s: %w", c.Kind, err)
	}
	return nil
}

// validateNames looks at the headers.
func (c Config) validateNames() error {
	names := append([]string{c.Header, c.ID, c.Timestamp.Header}, c.Also...)
	for _, name := range slices.AppendSeq(names, maps.Keys(c.Require)) {
		for i := range len(name) {
			if !tokenChar(name[i]) {
				return fmt.Errorf("%q cannot stand in a header's name", name[i:i+1])
			}
		}
	}
	if c.Kind == KindToken && (c.Header == "") == (c.Query == "") {
		return errors.New("needs either a header or a query parameter")
	}
	if c.Kind == KindHMAC && (c.Header == "") == (c.Field == "") {
		return errors.New("needs either a header or a field")
	}
	return nil
}

// validateWords looks at what is one of several words.
func (c Config) validateWords() error {
	for _, f := range []struct {
		name, value string
		words       []string
	}{
		{"hash", c.Hash, []string{"sha1", "sha256", "sha512"}},
		{"encoding", c.Encoding, []string{Hex, Base64}},
		{"timestamp unit", c.Timestamp.Unit, []string{"s", "ms", "rfc3339"}},
		{"key", c.Key, c.keyWords()},
	} {
		if f.value != "" && !slices.Contains(f.words, f.value) {
			return fmt.Errorf("%s %q: must be one of %s", f.name, f.value, strings.Join(f.words, ", "))
		}
	}
	switch {
	case c.Kind == KindStandard && c.Prefix != "" && c.Prefix != "webhook" && c.Prefix != "svix":
		return fmt.Errorf("prefix %q: must be webhook or svix", c.Prefix)
	case c.Tolerance < 0:
		return errors.New("tolerance must be positive")
	case c.PublicURL != "" && !IsOrigin(c.PublicURL):
		return fmt.Errorf("public_url %q: must be scheme and host, as https://hooks.example.com", c.PublicURL)
	case strings.Contains(c.User, ":"):
		return errors.New("a colon cannot stand in a user's name") // RFC 7617, section 2
	case c.KeysURL != "":
		if u, err := url.Parse(c.KeysURL); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
			return fmt.Errorf("keys_url %q: must be an https URL", c.KeysURL)
		}
	}
	return nil
}

func (c Config) keyWords() []string {
	if c.Kind == KindHMAC {
		return []string{Hex, Base64, Whsec, HTML, SHA1}
	}
	return []string{Hex, Base64}
}

// validateMessage looks at what is signed.
func (c Config) validateMessage() error {
	stamped := c.Timestamp != Timestamp{}
	switch {
	case stamped && !c.Timestamp.placed():
		return errors.New("the timestamp stands in one place: a header, an item or a field")
	case c.Timestamp.Item != "" && c.Version == "":
		return errors.New("an item's timestamp needs version: only then the header is a list")
	case c.Version != "" && c.Version == c.Timestamp.Item:
		return errors.New("version and the timestamp's item have one name")
	case c.Version != "" && c.Prefix != "":
		return errors.New("prefix and version exclude each other")
	case c.Tolerance != 0 && !stamped && slices.Contains(kinds[c.Kind].may, "timestamp"):
		return errors.New("tolerance needs a timestamp")
	case !slices.Contains(kinds[c.Kind].may, "sign"):
		return nil
	}
	message, err := compileTemplate(c.template())
	if err != nil {
		return err
	}
	switch {
	case stamped && c.Timestamp.Field != "" && message.has(partBody):
	case stamped != message.has(partTimestamp):
		// Who caught a delivery could else renew its time.
		return errors.New("a timestamp must be signed: sign needs {timestamp} where there is one, and only there")
	case (c.ID != "") != message.has(partID):
		return errors.New("id must be signed: sign needs {id} where there is one, and only there")
	case c.PublicURL != "" && !message.has(partURL) && !message.has(partDecodedURL):
		return errors.New("public_url needs {url} in sign")
	case (c.Kind == KindDigest) != message.has(partSecret):
		return errors.New("{secret} is for digest alone")
	}
	return nil
}

// template is what is signed.
func (c Config) template() string {
	switch {
	case c.Sign != "":
		return c.Sign
	case c.Timestamp == Timestamp{}, c.Timestamp.Field != "":
		return "{body}"
	case c.Kind == KindEd25519, c.Kind == KindECDSA:
		return "{timestamp}{body}"
	}
	return "{timestamp}.{body}"
}

// IsOrigin reports whether text is scheme and host and nothing else.
func IsOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && text == u.Scheme+"://"+u.Host
}

// NeedsSecret reports whether the kind has secrets at all.
func (c Config) NeedsSecret() bool {
	return c.Kind != KindMTLS && c.Kind != KindOIDC && c.Kind != KindSNS
}

// Covers is what a proof covers. Part of a delivery that it does not cover could be
// changed by who caught one.
type Covers struct {
	Body, URL bool
	Headers   []string
	Query     []string
	JSON      []string // members of the body, where it is not covered whole
}

// Covers says what the proof covers; nothing, where it is a constant word.
func (c Config) Covers() Covers {
	switch c.Kind {
	case KindStandard:
		return Covers{Body: true, Headers: []string{c.standardHeader("Id")}}
	case KindTwilio:
		return Covers{Body: true, URL: true}
	case KindSNS:
		return Covers{Body: true}
	case KindPayPal:
		// Of the body no more than a checksum, which any text can be given.
		return Covers{Headers: []string{"Paypal-Transmission-Id"}}
	case KindHMAC, KindDigest, KindEd25519, KindECDSA:
		message, err := compileTemplate(c.template())
		if err != nil {
			return Covers{}
		}
		return message.covers(c.ID)
	}
	return Covers{}
}

// Header reports whether the proof covers the header.
func (c Covers) Header(name string) bool {
	return slices.Contains(c.Headers, http.CanonicalHeaderKey(name))
}

func (c Config) standardHeader(name string) string {
	prefix := "Webhook"
	if c.Prefix == "svix" {
		prefix = "Svix"
	}
	return prefix + "-" + name
}

// tokenChar reports whether c may stand in a header's name (RFC 9110, tchar).
func tokenChar(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
