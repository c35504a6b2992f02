package caddymodule

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/provider"
	"github.com/n8n-gate/n8n-gate/signature"
)

// Provider says who sends, in one word: how deliveries are authenticated, what
// names their events, which challenges are answered, and how the sender behaves.
// `caddy n8n-gate providers NAME` prints all of it. What the webhook says itself
// goes first.
type Provider struct {
	// A preset's name, such as "stripe".
	Name string `json:"name"`

	// What the preset wants to know, by option. Those that hold secrets are
	// placeholders, as in auth.
	Options map[string][]string `json:"options,omitempty"`
}

// preset finds the preset and refuses options that it does not have, and secrets
// that are written out.
func (p *Provider) preset() (*provider.Preset, error) {
	preset, err := provider.Lookup(p.Name)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Options)) {
		i := slices.IndexFunc(preset.Options, func(o provider.Option) bool { return o.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("provider %s: %s: unknown option", p.Name, name)
		}
		for _, value := range p.Options[name] {
			if preset.Options[i].Secret && !secretPlaceholder.MatchString(value) {
				return nil, fmt.Errorf("provider %s: %s: %w", p.Name, name, errWrittenOut)
			}
		}
	}
	return preset, nil
}

// methods are those by which the sender's events come; nil: POST.
func (p *Provider) methods() []string {
	preset, err := p.preset()
	if err != nil || len(preset.Methods) == 0 {
		return nil
	}
	return append([]string{http.MethodPost}, preset.Methods...)
}

// sender is the preset with the user's settings, secrets resolved.
func (p *Provider) sender() (*provider.Sender, error) {
	preset, err := p.preset()
	if err != nil {
		return nil, err
	}
	settings := make(provider.Settings, len(p.Options))
	for name, values := range p.Options {
		for _, value := range values {
			if secretPlaceholder.MatchString(value) {
				if value, err = resolveSecret(value); err != nil {
					return nil, fmt.Errorf("provider %s: %s: %w", p.Name, name, err)
				}
			}
			settings[name] = append(settings[name], value)
		}
	}
	return preset.Configure(settings, signature.World{})
}

// senderAuth lets a preset's sender authenticate.
type senderAuth struct{ *provider.Sender }

// Query names no parameter: no preset's secret stands in the query.
func (senderAuth) Query() string { return "" }

// settle fills what neither the webhook nor the gate says with what the preset knows of
// the sender.
func (o *Options) settle(s *provider.Sender) {
	p := s.Preset()
	if o.Fingerprint == nil {
		o.Fingerprint = &Fingerprint{Mode: hold, Members: p.Fingerprint.Members}
		if p.Fingerprint.Off {
			o.Fingerprint = &Fingerprint{Mode: off}
		}
	}
	if o.ReusedBody == "" && s.ReusedBody() {
		o.ReusedBody = hold
	}
	if o.InFlightWait == nil && p.Deadline > 0 {
		wait := caddy.Duration(p.Wait())
		o.InFlightWait = &wait
	}
	if o.Retention == 0 {
		o.Retention = caddy.Duration(max(defaultRetention, p.Retention))
	}
	o.Respond = merged(presetAnswers(p), o.Respond)
}

// presetAnswers are the answers that a sender needs instead of the gate's own.
func presetAnswers(p *provider.Preset) map[string]Response {
	if len(p.Answers) == 0 {
		return nil
	}
	answers := make(map[string]Response, len(p.Answers))
	for word, a := range p.Answers {
		answers[word] = responseOf(a)
	}
	return answers
}

func responseOf(a provider.Answer) Response {
	return Response{Status: a.Status, Body: a.Body, ContentType: a.ContentType, header: a.Header}
}

// merged are the answers of both, where own goes first.
func merged(defaults, own map[string]Response) map[string]Response {
	if len(defaults) == 0 {
		return own
	}
	all := maps.Clone(defaults)
	maps.Copy(all, own)
	return all
}

// comesBack is how long after its last delivery a sender may still try again.
func comesBack(s *provider.Sender) time.Duration {
	switch retries := s.Preset().Retries; {
	case retries.None:
		return 0
	case retries.Window > 0:
		return retries.Window
	}
	return strandedAfter
}

// forSender is the answer as a preset's sender needs it.
func (a answer) forSender(hook *webhook) answer {
	switch {
	case hook.acknowledge != nil && a.decision == decidedReplayed && a.header.Get("N8n-Gate-Receipt") != "":
		a = a.asSet(map[string]Response{string(decidedReplayed): *hook.acknowledge})
	case hook.retryAfter != "" && a.header.Get("Retry-After") != "":
		a.header.Set("Retry-After", hook.retryAfter)
	}
	return a
}

var errTwoWays = errors.New("provider and auth exclude each other: a preset knows how its sender proves itself")
