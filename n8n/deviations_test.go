package n8n

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// deviation is an example with one thing changed.
type deviation struct {
	name string
	Exchange
}

// deviations changes everything that an answer consists of, one thing at a time.
// Whatever new row has an example gets them all.
func deviations(e example) []deviation {
	var all []deviation
	add := func(name string, change func(*Exchange)) {
		c := e.clone()
		change(&c)
		all = append(all, deviation{name, c})
	}
	for _, status := range []int{200, 201, 202, 204, 205, 304, 307, 400, 401, 403, 404, 405, 409, 413, 422, 428, 429, 500, 502, 503, 504} {
		if status != e.Status {
			add(fmt.Sprintf("status %d", status), func(c *Exchange) { c.Status = status })
		}
	}
	for echo, change := range map[string]func(*Exchange){
		"m": func(c *Exchange) { c.Method = "PATCH" },
		"p": func(c *Exchange) { c.Path += "x" },
		"P": func(c *Exchange) { c.Prefix += "x" },
	} {
		if strings.Contains(e.echo, echo) {
			add("another "+echo, change)
		}
	}
	if strings.Contains(e.echo, "p") {
		add("path in capitals", func(c *Exchange) { c.Path = strings.ToUpper(c.Path) })
		add("path with a slash", func(c *Exchange) { c.Path += "/" })
	}
	if strings.Contains(e.echo, "m") {
		add("method in small letters", func(c *Exchange) { c.Method = strings.ToLower(c.Method) })
	}
	headerDeviations(e, add)
	for name, body := range bodies(e.Body) {
		add("body: "+name, func(c *Exchange) { c.Body = []byte(body) })
	}
	for name, body := range objects(e.Body) {
		add(name, func(c *Exchange) { c.Body = []byte(body) })
	}
	return all
}

func headerDeviations(e example, add func(string, func(*Exchange))) {
	set := func(name, header string, values ...string) {
		if !slices.Equal(e.Header.Values(header), values) {
			add(name, func(c *Exchange) {
				c.Header.Del(header)
				for _, value := range values {
					c.Header.Add(header, value)
				}
			})
		}
	}
	types := e.Header.Values("Content-Type")
	set("type gone", "Content-Type")
	set("type twice", "Content-Type", append(slices.Clone(types), "text/plain")...)
	for _, value := range []string{typeHTML, typeJSON, "text/html", "application/json", "Application/JSON; charset=utf-8", "text/plain; charset=utf-8", "application/problem+json", "application/octet-stream", ""} {
		set("type "+value, "Content-Type", value)
	}
	set("policy none", cspHeader)
	set("policy another", cspHeader, "default-src 'self'")
	set("policy twice", cspHeader, "default-src 'none'", "default-src 'none'")
	set("encoded", "Content-Encoding", "gzip")
	set("challenge gone", "WWW-Authenticate")
	for _, value := range []string{`Basic realm="Webhook"`, `Basic realm="webhook"`, `Basic realm="Webhook", charset="UTF-8"`, `Bearer realm="n8n Webhook"`, challenge + `, error="x"`, challenge + " ", strings.Replace(challenge, "POST", "GET", 1), strings.Replace(challenge, "/.well-known", "", 1)} {
		// Where there is a type, only the trigger nodes' texts look for a challenge.
		if len(types) == 0 || e.row == "trigger_unauthenticated" {
			set("challenge "+value, "WWW-Authenticate", value)
		}
	}
	if e.Header.Get("X-Content-Type-Options") != "" {
		set("sniffing", "X-Content-Type-Options")
	}
}

// bodies changes a body whatever it is.
func bodies(body []byte) map[string]string {
	s := string(body)
	all := map[string]string{
		"trailing newline": s + "\n", "trailing space": s + " ", "trailing NUL": s + "\x00", "trailing brace": s + "}",
		"longer by 1": s + "1", "leading space": " " + s, "leading BOM": "\uFEFF" + s, "twice": s + s,
		"in an array": "[" + s + "]", "over the limit": s + strings.Repeat(" ", maxOwnAnswer),
		"a page": "<html>" + s + "</html>", "another": "OK",
	}
	if s != "" {
		all["empty"], all["cut"], all["cut before"] = "", s[:len(s)-1], s[1:]
		all["capitals"] = strings.ToUpper(s)
	} else {
		delete(all, "twice")
	}
	return all
}

type member struct{ name, value string }

// objects changes a body that is a JSON object.
func objects(body []byte) map[string]string {
	all := map[string]string{}
	members, ok := parse(body)
	if !ok {
		return all
	}
	write := func(name string, members []member) {
		var parts []string
		for _, m := range members {
			parts = append(parts, m.name+":"+m.value)
		}
		all[name] = "{" + strings.Join(parts, ",") + "}"
	}
	for _, extra := range []member{{`"extra"`, "1"}, {`"meta"`, "{}"}, {`"data"`, "null"}, {`""`, "0"}} {
		write("a member more, "+extra.name, append(slices.Clone(members), extra))
		write("a member more before, "+extra.name, append([]member{extra}, members...))
	}
	if !slices.ContainsFunc(members, func(m member) bool { return m.name == `"hint"` }) {
		write("a hint", append(slices.Clone(members), member{`"hint"`, `"x"`}))
		write("an empty hint", append(slices.Clone(members), member{`"hint"`, `""`}))
	}
	for _, stack := range []string{`"x"`, `""`, "null", "{}", `"Error: another message\n    at x"`} {
		write("a stack trace "+stack, append(slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.name == `"stacktrace"` }), member{`"stacktrace"`, stack}))
	}
	for i, m := range members {
		name := strings.Trim(m.name, `"`)
		with := func(change string, m member) {
			changed := slices.Clone(members)
			changed[i] = m
			write(name+": "+change, changed)
		}
		if name != "stacktrace" {
			write(name+": gone", slices.Delete(slices.Clone(members), i, i+1))
		}
		write(name+": twice", append(slices.Clone(members), m))
		write(name+": twice, another first", append([]member{{m.name, `"x"`}}, members...))
		with("name in capitals", member{strings.ToUpper(m.name), m.value})
		with("name with a capital", member{m.name[:1] + strings.ToUpper(m.name[1:2]) + m.name[2:], m.value})
		with("null", member{m.name, "null"})
		with("an array", member{m.name, "[" + m.value + "]"})
		with("a space", member{m.name, " " + m.value})
		with("a line", member{"\n" + m.name, m.value})
		switch m.value[0] {
		case '"':
			inner := m.value[1 : len(m.value)-1]
			with("capitals", member{m.name, `"` + strings.ToUpper(strings.ReplaceAll(inner, `\n`, "")) + `"`})
			if name != "stacktrace" {
				with("longer", member{m.name, `"` + inner + ` "`})
				with("longer, a line", member{m.name, `"` + inner + `\n"`})
				with("longer before", member{m.name, `" ` + inner + `"`})
			}
			with("empty", member{m.name, `""`})
		case '[':
			with("empty", member{m.name, "[]"})
			with("all there", member{m.name, strings.ReplaceAll(m.value, "missing", "configured")})
			with("unknown state", member{m.name, strings.ReplaceAll(m.value, "missing", "gone")})
			with("a member more inside", member{m.name, strings.Replace(m.value, "{", `{"extra":"1",`, 1)})
			with("a member gone inside", member{m.name, strings.Replace(m.value, `"credentialType":"smtp",`, "", 1)})
			with("a number inside", member{m.name, strings.Replace(m.value, `"smtp"`, "1", 1)})
			with("no objects", member{m.name, "[1]"})
		default:
			with("as a string", member{m.name, `"` + m.value + `"`})
			with("another", member{m.name, m.value + "0"})
			with("another form", member{m.name, m.value + ".0"})
			with("true", member{m.name, "true"})
		}
	}
	return all
}

// parse gives the members of a JSON object as they are written.
func parse(body []byte) (members []member, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, false
	}
	for decoder.More() {
		var name, value json.RawMessage
		begin := decoder.InputOffset()
		if _, err := decoder.Token(); err != nil {
			return nil, false
		}
		name = bytes.TrimLeft(body[begin:decoder.InputOffset()], ",")
		if err := decoder.Decode(&value); err != nil {
			return nil, false
		}
		members = append(members, member{string(name), string(value)})
	}
	return members, true
}

// Nothing that deviates in one thing is taken for the answer.
func TestDeviations(t *testing.T) {
	count := 0
	for _, e := range examples {
		used := len(e.tolerates) == 0
		for _, d := range deviations(e) {
			count++
			row, ok := Recognise(d.Exchange)
			if slices.Contains(e.tolerates, d.name) {
				used = true
				if !ok || row.Name != e.row {
					t.Errorf("%s, %s: %q, %v: it should be tolerated", e.row, d.name, row.Name, ok)
				}
				continue
			}
			if ok && (row.Class != Doubtful || row.Name == e.row) {
				t.Errorf("%s: %.80q is found with a deviation (%s), as %s", e.row, e.Body, d.name, row.Name)
			}
		}
		if !used {
			t.Errorf("%s: nothing of %q occurs", e.row, e.tolerates)
		}
	}
	if count < 4000 {
		t.Errorf("only %d deviations", count)
	}
}

// A workflow that acted and then answers what n8n itself would have answered is
// marked, however the mark is written.
func TestRelayedAnswers(t *testing.T) {
	for _, e := range examples {
		for _, policies := range [][]string{
			{SandboxCSP},
			{"sandbox allow-downloads allow-forms allow-modals allow-orientation-lock allow-pointer-lock allow-popups allow-presentation allow-scripts allow-top-navigation allow-top-navigation-by-user-activation allow-top-navigation-to-custom-protocols"},
			{"sandbox"},
			{"SANDBOX allow-scripts"},
			{"default-src 'none'", SandboxCSP},
			{SandboxCSP, "default-src 'none'"},
			{"default-src 'none', sandbox allow-downloads"},
			{"default-src 'none'; sandbox"},
		} {
			relayed := e.clone()
			relayed.Header[cspHeader] = policies
			if row, ok := Recognise(relayed); ok {
				t.Errorf("%s, with %q, is found as %s", e.row, policies, row.Name)
			}
		}
	}
}
