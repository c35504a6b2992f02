package provider

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/n8n-gate/n8n-gate/keyextract"
)

// Document writes a preset in full, as Markdown that reads well as text too.
func Document(w io.Writer, p *Preset) error {
	d := &document{}
	d.line("## %s", p.Name)
	d.line("")
	d.line("**%s.** %s", p.Title, p.About)
	d.line("")
	d.block(p)
	d.identity(p)
	d.behaviour(p)
	d.answers(p)
	d.handshakes(p)
	if len(p.Advice) > 0 {
		d.line("")
		d.line("Beware:")
		d.line("")
		for _, advice := range p.Advice {
			d.line("- %s", advice)
		}
	}
	d.facts(p)
	_, err := io.WriteString(w, d.String())
	return err
}

// DocumentAll writes what there is to know of every preset.
func DocumentAll(w io.Writer) error {
	d := &document{}
	d.line("# Senders")
	d.line("")
	d.line("What `provider NAME` knows of each sender, and where it was read. Printed from the presets themselves, as `caddy n8n-gate providers` prints them.")
	d.line("")
	d.line("What is marked **unconfirmed** was not found in the sender's own documentation or code, or not found at all; what rests on it has the setting that is safe")
	d.line("either way. Everything that a preset sets can be set otherwise in the webhook's block.")
	d.line("")
	d.line("For every other sender there are `auth token` (a constant word in a header or in the query) and `auth hmac` (a signature over the body) with `key`")
	d.line("lines: say where a delivery carries the event's own id, which the sender keeps when it tries again.")
	d.line("")
	d.line("| preset | sender | key | proves itself by | tries again | gives up |")
	d.line("|---|---|---|---|---|---|")
	for _, p := range presets {
		d.line("| [`%s`](#%s) | %s | %s | %s | %s | %s |", p.Name, p.Name, p.Title, cell(short(p)), options(p), cell(p.Retries.Schedule), cell(p.GivesUp))
	}
	if _, err := io.WriteString(w, d.String()); err != nil {
		return err
	}
	for _, p := range presets {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		if err := Document(w, p); err != nil {
			return err
		}
	}
	return nil
}

// cell is text that fits into a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

type document struct{ strings.Builder }

func (d *document) line(format string, args ...any) {
	d.WriteString(fmt.Sprintf(format, args...))
	d.WriteByte('\n')
}

// row is one line of a list of properties.
func (d *document) row(name, format string, args ...any) {
	d.line("- **%s**: %s", name, fmt.Sprintf(format, args...))
}

// block is the block as a user writes it.
func (d *document) block(p *Preset) {
	d.line("```caddyfile")
	d.line("provider %s {", p.Name)
	first := true
	for _, o := range p.Options {
		line := "\t" + o.Name + " VALUE"
		switch {
		case o.Secret:
			line = fmt.Sprintf("\t%s {env.%s_%s}", o.Name, strings.ToUpper(p.Name), strings.ToUpper(o.Name))
		case o.Name == publicURL.Name:
			line = "\t" + o.Name + " https://hooks.example.com"
		}
		if optional := !o.Required && !p.soleWay(o.Name); optional && (!p.isWay(o.Name) || !first) {
			line = "\t# " + strings.TrimPrefix(line, "\t")
		}
		if p.isWay(o.Name) {
			first = false
		}
		d.line("%s", line)
	}
	d.line("}")
	d.line("```")
	d.line("")
	for _, o := range p.Options {
		need := "optional"
		if o.Required || p.soleWay(o.Name) {
			need = "required"
		} else if p.isWay(o.Name) {
			need = "one of " + strings.Join(p.wayOptions(), " and ")
		}
		d.line("- `%s` (%s): %s.", o.Name, need, o.About)
	}
	d.line("")
}

func options(p *Preset) string {
	return "`" + strings.Join(p.wayOptions(), "` or `") + "`"
}

// identity is what names the events.
func (d *document) identity(p *Preset) {
	for _, s := range shapes(p) {
		d.row("key", "%s", s)
	}
	if open := p.unsigned(); len(open) > 0 {
		d.row("not signed", "%s; so a known body under another key is held (`reused_body hold`)%s", strings.Join(open, ", "), with(p.EventType))
	}
	switch f := p.Fingerprint; {
	case f.Off:
		d.row("fingerprint", "off: %s", f.Why)
	case len(f.Members) > 0:
		d.row("fingerprint", "of `%s`: %s", strings.Join(f.Members, "`, `"), f.Why)
	default:
		d.row("fingerprint", "of method, path, query and the whole body")
	}
	if b := p.Batch; b != nil {
		d.row("batches", "`batch %s`, not built yet: a delivery with more than one event is refused. %s", b.Path, b.Refused)
	}
}

func with(headers []string) string {
	if len(headers) == 0 {
		return ""
	}
	return ", unless `" + strings.Join(headers, "`, `") + "` differs"
}

// shapes are the kinds of deliveries with what names them.
func shapes(p *Preset) []string {
	var texts []string
	for _, s := range p.Shapes {
		text := parts(s)
		if len(s.When) > 0 {
			when := make([]string, len(s.When))
			for i, c := range s.When {
				when[i] = c.String()
			}
			text = fmt.Sprintf("%s, where %s: %s", s.Name, strings.Join(when, ", "), text)
		}
		texts = append(texts, text)
	}
	return texts
}

func parts(s Shape) string {
	texts := make([]string, len(s.Key))
	for i, part := range s.Key {
		texts[i] = "`" + part.String() + "`"
	}
	return strings.Join(texts, ", ")
}

// short is the key where it is one, and the kinds of deliveries where they have one
// each.
func short(p *Preset) string {
	if len(p.Shapes) == 1 {
		return parts(p.Shapes[0])
	}
	names := make([]string, len(p.Shapes))
	for i, s := range p.Shapes {
		names[i] = s.Name
	}
	return "by kind: " + strings.Join(names, ", ")
}

// behaviour is what the sender does.
func (d *document) behaviour(p *Preset) {
	d.row("methods", "%s", strings.Join(append([]string{"POST"}, p.Methods...), ", "))
	if p.Deadline > 0 {
		d.row("deadline", "%s; a duplicate waits %s for the attempt in flight", span(p.Deadline), span(p.Wait()))
	} else {
		d.row("deadline", "not known; a duplicate waits as long as the gate says")
	}
	retries := p.Retries.Schedule
	if p.Retries.None {
		retries += "; what failed waits for a person at once"
	} else if p.Retries.Window > 0 {
		retries += fmt.Sprintf("; after %s without a delivery what failed waits for a person", span(p.Retries.Window))
	}
	d.row("tries again", "%s", retries)
	d.row("signs its retries", "%s", map[Signed]string{
		SignedUnknown: "nobody knows whether anew: old times are accepted, and meet their record",
		SignedAnew:    "anew",
		SignedNoTime:  "without a time: a delivery that somebody caught is known for as long as its record is kept",
	}[p.Retries.Signed])
	d.row("gives up", "%s", p.GivesUp)
	d.row("retention", "at least %s", span(p.Retention))
}

// answers are the answers that differ from the gate's.
func (d *document) answers(p *Preset) {
	words := make([]string, 0, len(p.Answers))
	for word := range p.Answers {
		words = append(words, word)
	}
	slices.Sort(words)
	for _, word := range words {
		d.row("answers", "`%s` %d%s", word, p.Answers[word].Status, body(p.Answers[word]))
	}
	if a := p.Acknowledge; a.Status != 0 {
		d.row("settled without a response", "%d%s", a.Status, body(a))
	}
}

func body(a Answer) string {
	if a.Body == "" {
		return ""
	}
	return fmt.Sprintf(" `%s` (%s)", a.Body, a.ContentType)
}

// handshakes are the challenges and their answers.
func (d *document) handshakes(p *Preset) {
	for _, h := range p.Handshakes {
		var parts []string
		for _, c := range h.When {
			parts = append(parts, c.String())
		}
		if h.Body != "" {
			parts = append(parts, "the body matches `"+h.Body+"`")
		}
		if h.EmptyList != "" {
			parts = append(parts, h.EmptyList+" is an empty list")
		}
		known := "unsigned"
		if h.Signed {
			known = "signed"
		}
		d.row("handshake "+h.Name, "%s %s, where %s; answered %s%s", known, h.Method, strings.Join(parts, ", "), h.Reply.describe(h.Challenge), h.needs())
	}
}

func (h *Handshake) needs() string {
	if h.Proof == nil {
		return ""
	}
	return fmt.Sprintf(", if %s is `%s`", h.Proof.Source, h.Proof.Option)
}

func (r *Reply) describe(challenge *keyextract.Source) string {
	switch {
	case r.Text:
		return fmt.Sprintf("200 with %s as text", challenge)
	case r.Header != "":
		return fmt.Sprintf("200 with %s in %s", challenge, r.Header)
	case len(r.Members) > 0:
		return fmt.Sprintf("200 with JSON made of %s", challenge)
	}
	return "200" + body(r.Fixed)
}

// facts are what all this rests on.
func (d *document) facts(p *Preset) {
	d.line("")
	d.line("| about | fact | read in |")
	d.line("|---|---|---|")
	for _, topic := range Topics {
		for _, f := range p.Facts {
			if f.About != topic {
				continue
			}
			mark := ""
			if f.Unconfirmed {
				mark = "**unconfirmed**: "
			}
			d.line("| %s | %s%s | %s |", f.About, mark, cell(f.Text), cell(f.Source))
		}
	}
	d.line("")
	d.line("%s", strings.Join(p.Links, " · "))
}

// span is a duration as one says it.
func span(t time.Duration) string {
	switch {
	case t >= 2*day && t%day == 0:
		return fmt.Sprintf("%d days", t/day)
	case t >= time.Hour && t%time.Hour == 0:
		return fmt.Sprintf("%d h", t/time.Hour)
	case t >= time.Minute && t%time.Minute == 0:
		return fmt.Sprintf("%d min", t/time.Minute)
	case t%time.Second == 0:
		return fmt.Sprintf("%d s", t/time.Second)
	}
	return fmt.Sprintf("%.1f s", t.Seconds())
}
