package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/n8n-gate/n8n-gate/keyextract"
)

// presets are all of them, in the order of the documentation.
var presets = []*Preset{
	&stripe, &shopify, &woocommerce,
	&github, &gitlab, &jira,
	&slack, &slackInteractivity, &slackCommand, &telegram, &meta, &line, &twilio,
	&typeform, &tally, &calCom, &calendly, &hubspot,
	&standardWebhooks, &svix,
}

// Lookup finds a preset by its name. The error names what there is.
func Lookup(name string) (*Preset, error) {
	for _, p := range presets {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("provider %q: unknown; there are %s", name, strings.Join(Names(), ", "))
}

// Names are those of all presets, sorted.
func Names() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	slices.Sort(names)
	return names
}

// All are all presets, in the order of the documentation. They must not be changed.
func All() []*Preset { return slices.Clone(presets) }

func fromJSON(path string) keyextract.Source {
	return keyextract.Source{Kind: keyextract.KindJSON, Path: path}
}

func fromHeader(name string) keyextract.Source {
	return keyextract.Source{Kind: keyextract.KindHeader, Name: name}
}

func fromForm(field string) keyextract.Source {
	return keyextract.Source{Kind: keyextract.KindForm, Field: field}
}

func fromFormJSON(field, path string) keyextract.Source {
	return keyextract.Source{Kind: keyextract.KindFormJSON, Field: field, Path: path}
}

func fromQuery(name string) keyextract.Source {
	return keyextract.Source{Kind: keyextract.KindQuery, Name: name}
}

func literal(text string) keyextract.Source {
	return keyextract.Source{Kind: keyextract.KindLiteral, Text: text}
}

func there(s keyextract.Source) Condition  { return Condition{Source: s} }
func absent(s keyextract.Source) Condition { return Condition{Source: s, Absent: true} }

func is(s keyextract.Source, texts ...string) Condition {
	return Condition{Source: s, Is: texts}
}

func isNot(s keyextract.Source, texts ...string) Condition {
	return Condition{Source: s, Not: texts}
}

// only is the one shape of a sender that has one.
func only(parts ...keyextract.Source) []Shape { return []Shape{{Key: parts}} }

// keySource keeps the presets short.
type keySource = keyextract.Source

func source(s keyextract.Source) *keyextract.Source { return &s }

func fact(about Topic, text, source string) Fact {
	return Fact{About: about, Text: text, Source: source}
}

func unconfirmed(about Topic, text, source string) Fact {
	return Fact{About: about, Text: text, Source: source, Unconfirmed: true}
}

// secret is the option of nearly every sender.
func secret(about string) Option {
	return Option{Name: "secret", Secret: true, Many: true, About: about}
}

// publicURL is for senders that sign the URL to which they send.
var publicURL = Option{
	Name:  "public_url",
	About: "scheme and host of the URL as the sender has it (https://hooks.example.com), where it is not https and the Host of the request",
}

// retriedInstead is for senders that do not come back after some of the gate's own
// answers: a wrong secret, or a batch, would lose their events.
var retriedInstead = map[string]Answer{
	"unauthenticated": {Status: 503},
	"stale":           {Status: 503},
	"malformed":       {Status: 503},
	"missing_key":     {Status: 503},
}
