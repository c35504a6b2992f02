package keyextract

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// nodeLine is one question to testdata/node/read.mjs.
type nodeLine struct {
	Kind     string   `json:"kind"`
	Body     []byte   `json:"body"`
	Path     []string `json:"path,omitempty"`
	Encoding string   `json:"encoding,omitempty"`
	Read     *string  `json:"read,omitempty"` // the part, if there is one
	Missing  bool     `json:"missing,omitempty"`
	Form     []byte   `json:"form,omitempty"` // the canonical form or the decoded body
}

// TestNode asks Node, which n8n runs on, about thousands of bodies: what the gate
// reads is what n8n's parsers read, or the gate refuses. Never a third thing.
func TestNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("node is not installed, and in CI this test must run")
		}
		t.Skip("node is not installed")
	}
	lines := jsonLines(t, newGenerator(1), 10_000)
	lines = append(lines, formLines(t, newGenerator(2), 4_000)...)
	lines = append(lines, compressedLines(newGenerator(3), 1_500)...)

	var batch, stdout, stderr bytes.Buffer
	encoder := json.NewEncoder(&batch)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), node, "testdata/node/read.mjs")
	command.Stdin, command.Stdout, command.Stderr = &batch, &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	verdicts := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	if len(verdicts) != len(lines) {
		t.Fatalf("%d answers to %d questions\n%s", len(verdicts), len(lines), stderr.Bytes())
	}
	failures := 0
	count := map[string]int{}
	for i, verdict := range verdicts {
		line := lines[i]
		switch {
		case !strings.HasPrefix(verdict, "ok"):
			if failures++; failures <= 20 {
				t.Errorf("%s, path %q of %q: %s", line.Kind, line.Path, line.Body, verdict)
			}
		case line.Read != nil:
			count[line.Kind+" read"]++
		case line.Missing:
			count[line.Kind+" absent"]++
		default:
			count[line.Kind+" refused"]++
		}
		if line.Form != nil {
			count[line.Kind+" form"]++
		}
		if verdict == "ok unparsable" {
			count[line.Kind+" unparsable"]++
		}
	}
	t.Log(count)
	// The generator must not drift into one corner.
	for what, least := range map[string]int{
		"json read": 1500, "json absent": 1000, "json refused": 2500, "json unparsable": 1500, "json form": 4000,
		"urlencoded read": 250, "urlencoded absent": 500, "urlencoded refused": 500,
		"compressed form": 600, "compressed unparsable": 300,
	} {
		if count[what] < least {
			t.Errorf("%s: only %d", what, count[what])
		}
	}
}

func jsonLines(t *testing.T, g *generator, n int) []nodeLine {
	lines := make([]nodeLine, n)
	for i := range lines {
		path := g.pick("id", "id", "id", "id", "id", "id", "order.id", "order.id", "items.0.id", "items.0.id", "0.id", "é", `a\.b`, "a", "__proto__", "length")
		segments, err := parsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		line := nodeLine{Kind: "json", Body: g.json(segments[0].name)}
		for _, s := range segments {
			line.Path = append(line.Path, s.name)
		}
		line.ask(t, jsonAt(path), nil)
		var form bytes.Buffer
		if writeCanonical(&form, line.Body) == nil {
			line.Form = form.Bytes()
		}
		lines[i] = line
	}
	return lines
}

func formLines(t *testing.T, g *generator, n int) []nodeLine {
	lines := make([]nodeLine, n)
	for i := range lines {
		lines[i] = nodeLine{Kind: "urlencoded", Body: g.form(), Path: []string{g.pick("id", "id", "id", "é", "a[id]")}}
		lines[i].ask(t, fieldAt(lines[i].Path[0]), form("").Header)
	}
	return lines
}

func compressedLines(g *generator, n int) []nodeLine {
	lines := make([]nodeLine, n)
	for i := range lines {
		encoding, body := g.compressed()
		lines[i] = nodeLine{Kind: "compressed", Encoding: encoding, Body: body}
		decoded, err := Decode(http.Header{"Content-Encoding": {encoding}}, body, 1<<20)
		if err == nil {
			lines[i].Form = append([]byte{}, decoded...)
		}
	}
	return lines
}

// ask adds what the gate reads.
func (l *nodeLine) ask(t *testing.T, source Source, header http.Header) {
	r, err := Compile(rule(source))
	if err != nil {
		t.Fatal(err)
	}
	key, err := r.Extract(Input{Header: header, Body: l.Body})
	var failed *Error
	switch {
	case err == nil:
		l.Read = &key.parts[0]
	case errors.As(err, &failed):
		l.Missing = failed.Missing
	}
}
