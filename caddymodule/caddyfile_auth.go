package caddymodule

import (
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/n8n-gate/n8n-gate/signature"
)

// parseAuth reads how senders prove who they are: a kind, then words with their values
// in any order, which may also stand in a block.
//
//	auth none
//	auth upstream
//	auth token header NAME|query NAME secret VALUE…
//	auth hmac sha1|sha256|sha512 hex|base64 header NAME…|field PATH secret VALUE…
//	    [prefix TEXT | version NAME] [sign TEMPLATE] [timestamp header|item|field NAME [s|ms|rfc3339]]
//	    [tolerance DUR] [id NAME] [key hex|base64|whsec|html|sha1] [public_url URL] [require NAME VALUE]
//	auth standard_webhooks secret VALUE… [prefix svix] [tolerance DUR]
//	auth ed25519|ecdsa header NAME secret PUBLIC_KEY… [hex|base64] [sign …] [timestamp …] [key …]
//	auth basic user NAME secret VALUE…
//	auth mtls subject NAME…
//	auth jwt secret VALUE… [header NAME] [audience TEXT] [issuer TEXT] [tolerance DUR]
//	auth oidc keys_url URL issuer TEXT audience TEXT [email TEXT] [header NAME] [tolerance DUR]
func parseAuth(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.ArgErr()
	}
	auth := &Auth{Config: signature.Config{Kind: args[0]}}
	words := authWords{Dispenser: d, auth: auth, seen: make(map[string]bool)}
	if err := words.parse(args[1:]); err != nil {
		return err
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if err := words.parse(append([]string{d.Val()}, d.RemainingArgs()...)); err != nil {
			return err
		}
	}
	if err := auth.validate(); err != nil {
		return d.WrapErr(err)
	}
	o.Auth = auth
	if o.Provider != nil {
		return d.WrapErr(errTwoWays)
	}
	return nil
}

// authWords fills an Auth, word by word.
type authWords struct {
	*caddyfile.Dispenser
	auth *Auth
	seen map[string]bool
}

// authWord says how many values follow a word at least, and whether more may.
type authWord struct {
	values int
	more   bool
}

var authGrammar = map[string]authWord{
	"sha1": {}, "sha256": {}, "sha512": {}, signature.Hex: {}, signature.Base64: {},
	"secret": {1, true}, "subject": {1, true}, "header": {1, true}, "timestamp": {2, true}, "require": {2, false},
	"query": {1, false}, "field": {1, false}, "prefix": {1, false}, "version": {1, false}, "sign": {1, false}, "tolerance": {1, false},
	"id": {1, false}, "key": {1, false}, "public_url": {1, false}, "user": {1, false},
	"audience": {1, false}, "issuer": {1, false}, "email": {1, false}, "keys_url": {1, false},
}

// parse reads words, each followed by its values.
func (w *authWords) parse(args []string) error {
	for len(args) > 0 {
		word, rest := args[0], args[1:]
		grammar, known := authGrammar[word]
		switch {
		case !known:
			return w.Errf("auth %s: %s: unknown word", w.auth.Kind, word)
		case w.seen[word] && word != "require":
			return w.Errf("auth %s: %s stands more than once", w.auth.Kind, word)
		case len(rest) < grammar.values:
			return w.Errf("auth %s: %s needs a value", w.auth.Kind, word)
		}
		w.seen[word] = true
		n := grammar.values
		for grammar.more && n < len(rest) {
			if _, next := authGrammar[rest[n]]; next || word == "secret" && !secretPlaceholder.MatchString(rest[n]) {
				break
			}
			n++
		}
		if err := w.word(word, rest[:n]); err != nil {
			return err
		}
		args = rest[n:]
	}
	return nil
}

func (w *authWords) word(word string, values []string) error {
	a := w.auth
	switch word {
	case "sha1", "sha256", "sha512":
		return w.flag(&a.Hash, word)
	case signature.Hex, signature.Base64:
		return w.flag(&a.Encoding, word)
	case "secret":
		a.Secrets = values
	case "subject":
		a.Subjects = values
	case "header":
		a.Header = values[0]
		if len(values) > 1 {
			a.Also = values[1:]
		}
	case "sign":
		a.Sign = longPlaceholders.Replace(values[0])
	case "timestamp":
		return w.timestamp(values)
	case "require":
		if _, twice := a.Require[values[0]]; twice {
			return w.Errf("auth %s: require %s stands more than once", a.Kind, values[0])
		}
		if a.Require == nil {
			a.Require = make(map[string]string)
		}
		a.Require[values[0]] = values[1]
	case "tolerance":
		tolerance, err := caddy.ParseDuration(values[0])
		if err != nil || tolerance <= 0 {
			return w.Errf("auth %s: tolerance %s: must be a positive duration", a.Kind, values[0])
		}
		a.Tolerance = caddy.Duration(tolerance)
	default:
		*map[string]*string{
			"query": &a.Query, "field": &a.Field, "prefix": &a.Prefix, "version": &a.Version, "id": &a.ID, "key": &a.Key,
			"public_url": &a.PublicURL, "user": &a.User, "audience": &a.Audience, "issuer": &a.Issuer, "email": &a.Email,
			"keys_url": &a.KeysURL,
		}[word] = values[0]
	}
	return nil
}

// longPlaceholders are what Caddy makes of the short ones in a Caddyfile before it is
// parsed (httpcaddyfile/shorthands.go). A signed message has its own.
var longPlaceholders = strings.NewReplacer(
	"{http.request.method}", "{method}",
	"{http.request.header.", "{header.",
	"{http.request.uri.query.", "{query.",
)

// flag is a word without a value, one of several.
func (w *authWords) flag(into *string, word string) error {
	if *into != "" {
		return w.Errf("auth %s: %s and %s exclude each other", w.auth.Kind, *into, word)
	}
	*into = word
	return nil
}

func (w *authWords) timestamp(values []string) error {
	t := &w.auth.Timestamp
	switch {
	case len(values) > 3 || values[0] != "header" && values[0] != "item" && values[0] != "field":
		return w.Errf("auth %s: expected `timestamp header|item|field NAME [s|ms|rfc3339]`", w.auth.Kind)
	case values[0] == "header":
		t.Header = values[1]
	case values[0] == "field":
		t.Field = values[1]
	default:
		t.Item = values[1]
	}
	t.Unit = strings.Join(values[2:], "")
	return nil
}

// parseProvider reads a preset and what it wants to know:
//
//	provider NAME {
//	    OPTION VALUE…
//	}
func parseProvider(d *caddyfile.Dispenser, o *Options) error {
	p := new(Provider)
	if err := parseString(d, &p.Name); err != nil {
		return err
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		option := d.Val()
		if _, twice := p.Options[option]; twice {
			return d.Errf("%s: stands more than once", option)
		}
		var values []string
		if err := parseNames(d, &values); err != nil {
			return err
		}
		if p.Options == nil {
			p.Options = make(map[string][]string)
		}
		p.Options[option] = values
	}
	if _, err := p.preset(); err != nil {
		return d.WrapErr(err)
	}
	o.Provider = p
	if o.Auth != nil {
		return d.WrapErr(errTwoWays)
	}
	return nil
}
