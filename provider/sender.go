package provider

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/signature"
)

// covers reports whether the proof covers the place of a key.
func covers(c signature.Covers, part keyextract.Source) bool {
	switch part.Kind {
	case keyextract.KindLiteral:
		return true
	case keyextract.KindQuery:
		return c.URL || slices.Contains(c.Query, part.Name)
	case keyextract.KindHeader:
		return c.Header(part.Name)
	case keyextract.KindJSON:
		return c.Body || slices.Contains(c.JSON, part.Path)
	}
	return c.Body
}

// Settings are the values of a provider block's options, secrets resolved.
type Settings map[string][]string

// readyWay is a Way with the user's secrets.
type readyWay struct {
	Way
	*signature.Verifier
}

func (w Way) ready(settings Settings, world signature.World) (readyWay, error) {
	proof := w.Proof
	if set := settings[publicURL.Name]; len(set) > 0 && proof.Covers().URL {
		proof.PublicURL = set[0]
	}
	verifier, err := proof.Verifier(settings[w.Option], world)
	return readyWay{Way: w, Verifier: verifier}, err
}

// Sender is a preset with a user's settings, ready for use. It is safe for
// concurrent use and never shows its secrets.
type Sender struct {
	preset     *Preset
	ways       []readyWay
	handshakes []*handshake
}

// Configure makes the preset ready. Errors are the user's to mend, name the option
// and never hold a value of a secret one.
func (p *Preset) Configure(settings Settings, world signature.World) (*Sender, error) {
	option, err := p.check(settings)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", p.Name, err)
	}
	s := &Sender{preset: p}
	for _, way := range p.Ways {
		if way.Option != option {
			continue
		}
		ready, err := way.ready(settings, world)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %s: %w", p.Name, option, err)
		}
		s.ways = append(s.ways, ready)
	}
	for _, h := range p.Handshakes {
		if h.Proof != nil && len(settings[h.Proof.Option]) == 0 {
			continue
		}
		ready, err := h.compile(settings)
		if err != nil {
			return nil, fmt.Errorf("provider %s: handshake %s: %w", p.Name, h.Name, err)
		}
		s.handshakes = append(s.handshakes, ready)
	}
	return s, nil
}

// check refuses options that make no sense, and finds the one that authenticates.
func (p *Preset) check(settings Settings) (way string, err error) {
	for name, values := range settings {
		o := p.option(name)
		switch {
		case o == nil:
			return "", fmt.Errorf("%s: unknown; there are %s", name, strings.Join(p.optionNames(), ", "))
		case len(values) == 0 || slices.Contains(values, ""):
			return "", fmt.Errorf("%s: needs a value", name)
		case len(values) > 1 && !o.Many:
			return "", fmt.Errorf("%s: takes one value", name)
		case name == publicURL.Name && !signature.IsOrigin(values[0]):
			return "", fmt.Errorf("%s: must be scheme and host, as https://hooks.example.com", name)
		}
	}
	for _, o := range p.Options {
		if o.Required && len(settings[o.Name]) == 0 {
			return "", fmt.Errorf("%s is required", o.Name)
		}
	}
	for _, name := range p.wayOptions() {
		switch {
		case len(settings[name]) == 0:
		case way != "":
			return "", fmt.Errorf("%s and %s exclude each other", way, name)
		default:
			way = name
		}
	}
	if way == "" {
		return "", fmt.Errorf("%s is required", strings.Join(p.wayOptions(), " or "))
	}
	return way, nil
}

func (p *Preset) option(name string) *Option {
	for i := range p.Options {
		if p.Options[i].Name == name {
			return &p.Options[i]
		}
	}
	return nil
}

func (p *Preset) optionNames() []string {
	names := make([]string, len(p.Options))
	for i, o := range p.Options {
		names[i] = o.Name
	}
	return names
}

// wayOptions are the options that authenticate.
func (p *Preset) wayOptions() []string {
	var names []string
	for _, way := range p.Ways {
		if !slices.Contains(names, way.Option) {
			names = append(names, way.Option)
		}
	}
	return names
}

func (p *Preset) isWay(option string) bool { return slices.Contains(p.wayOptions(), option) }

func (p *Preset) soleWay(option string) bool { return p.isWay(option) && len(p.wayOptions()) == 1 }

// Preset is what the sender was made of.
func (s *Sender) Preset() *Preset { return s.preset }

// NeedsBody reports whether authentication reads the body.
func (s *Sender) NeedsBody() bool {
	return slices.ContainsFunc(s.ways, func(w readyWay) bool { return w.Verifier.NeedsBody() })
}

// Verify reports why r does not come from the sender. body is as it was sent; nil will
// do where NeedsBody says so. The reason is for the operator's log and holds nothing
// that was sent.
func (s *Sender) Verify(r *http.Request, body []byte) error {
	way := &s.ways[0]
	for i := range s.ways {
		if header := s.ways[i].Header; header != "" && len(r.Header.Values(header)) > 0 {
			way = &s.ways[i]
			break
		}
	}
	return way.Verifier.Verify(r, body)
}

// ReusedBody reports whether a known body under another key has to be looked at:
// something of the key is not signed, so that who caught a delivery could make another
// event of it. Where nothing is signed at all that would prove nothing.
func (s *Sender) ReusedBody() bool {
	ways := make([]Way, len(s.ways))
	for i, way := range s.ways {
		ways[i] = way.Way
	}
	return len(s.preset.open(ways)) > 0
}

// unsigned are the parts of the key that the signature does not cover, for the
// documentation.
func (p *Preset) unsigned() []string {
	var ways []Way
	for _, way := range p.Ways {
		if way.Option == p.Ways[0].Option {
			ways = append(ways, way)
		}
	}
	return p.open(ways)
}

func (p *Preset) open(ways []Way) []string {
	var signed signature.Covers
	for _, way := range ways {
		c := way.Proof.Covers()
		signed.Body, signed.URL = signed.Body || c.Body, signed.URL || c.URL
		signed.Headers, signed.Query = append(signed.Headers, c.Headers...), append(signed.Query, c.Query...)
		signed.JSON = append(signed.JSON, c.JSON...)
	}
	if !signed.Body && len(signed.JSON) == 0 {
		return nil
	}
	var open []string
	for _, shape := range p.Shapes {
		if slices.ContainsFunc(shape.When, func(c Condition) bool {
			// Without the header there is no signature.
			return c.Absent && c.Kind == keyextract.KindHeader && signed.Header(c.Name)
		}) {
			continue
		}
		for _, part := range shape.Key {
			if text := "`" + part.String() + "`"; !covers(signed, part) && !slices.Contains(open, text) {
				open = append(open, text)
			}
		}
	}
	return open
}
