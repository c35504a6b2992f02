package caddymodule

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/n8n-gate/n8n-gate/keyextract"
)

// parseOption reads one option of a webhook, or of the gate for all:
//
//	methods NAME…
//	mode enforce|pass
//	provider NAME { OPTION VALUE… }
//	handshake answer|pass
//	auth KIND ARGS                     # see parseAuth
//	key SOURCE ARGS                    # one line per part, in order; see parseSource
//	key_changed fresh | from { key … }
//	missing_key reject|pass
//	fingerprint hold|flag|off [JSON_PATH…]
//	reused_body hold|flag|off
//	n8n_sandbox required|assumed|absent
//	on_response STATUS[,STATUS] [header NAME VALUE] [json PATH VALUE] completed|failed_retryable|ambiguous
//	on_response off                    # none of the gate's
//	complete_when json PATH VALUE | header NAME VALUE | off
//	repeat_safe DUR|off
//	action_id json PATH | header NAME | off
//	respond DECISION STATUS [BODY] [CONTENT_TYPE]
//	receipt_body SIZE
//	receipt_header NAME…|off
//	max_response SIZE
//	origin keep|off
//	store_down reject|pass
//	in_flight wait DUR | reject
//	timeout DUR
//	max_body SIZE
//	max_attempts N
//	max_in_flight N
//	retention DUR
//	log_key hash|plain|off
//
// What makes no sense is refused here already, so that the error has file and line.
func parseOption(d *caddyfile.Dispenser, word string, o *Options) error {
	if err := readOption(d, word, o); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func readOption(d *caddyfile.Dispenser, word string, o *Options) error {
	switch word {
	case "methods":
		return parseNames(d, &o.Methods)
	case "mode":
		return parseString(d, &o.Mode)
	case "auth":
		return parseAuth(d, o)
	case "provider":
		return parseProvider(d, o)
	case "handshake":
		return parseString(d, &o.Handshake)
	case "key":
		return parseKey(d, &o.Key)
	case "key_changed":
		return parseKeyChanged(d, o)
	case "missing_key":
		return parseString(d, &o.MissingKey)
	case "fingerprint":
		return parseFingerprint(d, o)
	case "reused_body":
		return parseString(d, &o.ReusedBody)
	case "n8n_sandbox":
		return parseString(d, &o.Sandbox)
	case "on_response":
		return parseOnResponse(d, o)
	case "complete_when":
		return parseCompleteWhen(d, o)
	case "action_id":
		return parseActionID(d, o)
	case "respond":
		return parseRespond(d, o)
	case "receipt_body":
		return parseSize(d, &o.ReceiptBody)
	case "receipt_header":
		return parseReceiptHeader(d, o)
	case "repeat_safe":
		return parseRepeatSafe(d, o)
	case "max_response":
		return parseSize(d, &o.MaxResponse)
	case "origin":
		return parseString(d, &o.Origin)
	case "store_down":
		return parseString(d, &o.StoreDown)
	case "in_flight":
		return parseInFlight(d, o)
	case "timeout":
		return parseDuration(d, &o.Timeout)
	case "max_body":
		return parseSize(d, &o.MaxBody)
	case "max_attempts":
		return parseNumber(d, &o.MaxAttempts)
	case "max_in_flight":
		return parseNumber(d, &o.MaxInFlight)
	case "retention":
		return parseDuration(d, &o.Retention)
	case "log_key":
		return parseString(d, &o.LogKey)
	}
	return unknownWord(d, word, unbuiltOption)
}

// parseKey adds one part to a key:
//
//	key json PATH
//	key header NAME
//	key form FIELD
//	key form_json FIELD PATH
//	key query NAME
//	key literal TEXT
//	key body_sha256
//	key canonical_json [PATH…]
func parseKey(d *caddyfile.Dispenser, key *[]keyextract.Source) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.ArgErr()
	}
	source := keyextract.Source{Kind: keyextract.Kind(args[0])}
	args = args[1:]
	want := 1
	switch source.Kind {
	case keyextract.KindJSON, keyextract.KindHeader, keyextract.KindForm, keyextract.KindQuery, keyextract.KindLiteral:
	case keyextract.KindFormJSON:
		want = 2
	case keyextract.KindBodySHA256:
		want = 0
	case keyextract.KindCanonicalJSON:
		want = len(args)
	default:
		return d.Errf("key %s: unknown source", source.Kind)
	}
	if len(args) != want {
		return d.ArgErr()
	}
	switch source.Kind {
	case keyextract.KindJSON:
		source.Path = args[0]
	case keyextract.KindHeader, keyextract.KindQuery:
		source.Name = args[0]
	case keyextract.KindForm:
		source.Field = args[0]
	case keyextract.KindFormJSON:
		source.Field, source.Path = args[0], args[1]
	case keyextract.KindLiteral:
		source.Text = args[0]
	case keyextract.KindCanonicalJSON:
		source.Paths = args
	}
	*key = append(*key, source)
	return nil
}

// parseKeyChanged reads what a changed key means for the events that are known:
//
//	key_changed fresh
//	key_changed from {
//	    key …
//	}
func parseKeyChanged(d *caddyfile.Dispenser, o *Options) error {
	var how string
	if err := parseString(d, &how); err != nil {
		return err
	}
	o.KeyChanged = &KeyChanged{Fresh: how == "fresh"}
	if how != "fresh" && how != "from" {
		return d.Errf("key_changed %s: must be fresh or from", how)
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if how == "fresh" || d.Val() != "key" {
			return d.Errf("%s: unknown word", d.Val())
		}
		if err := parseKey(d, &o.KeyChanged.From); err != nil {
			return err
		}
	}
	if err := o.KeyChanged.validate(); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func parseFingerprint(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.ArgErr()
	}
	o.Fingerprint = &Fingerprint{Mode: args[0], Members: args[1:]}
	if err := o.Fingerprint.validate(); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func parseInFlight(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	wait := caddy.Duration(0)
	switch {
	case len(args) == 1 && args[0] == "reject":
	case len(args) == 2 && args[0] == "wait":
		dur, err := caddy.ParseDuration(args[1])
		if err != nil || dur <= 0 {
			return d.Errf("in_flight wait %s: must be a positive duration", args[1])
		}
		wait = caddy.Duration(dur)
	default:
		return d.Err("in_flight: expected `in_flight wait DUR` or `in_flight reject`")
	}
	o.InFlightWait = &wait
	return nil
}
