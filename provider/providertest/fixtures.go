// Package providertest holds deliveries in the shape of each sender, our own and
// made up, and signs them as that sender does: with code of its own, so that a
// mistake in the verifier is not repeated in its test.
package providertest

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

//go:embed testdata
var files embed.FS

// PublicURL is scheme and host of the URL to which the senders send.
const PublicURL = "https://hooks.example.com"

// Request is one HTTP request of a sender.
type Request struct {
	// Name is the request's in the test data: "invoice.retry".
	Name string

	// Preset is the sender's.
	Preset string

	Method, Target string
	Header         http.Header
	Body           []byte
}

// Case is one event as its sender delivers it.
type Case struct {
	// Name of the kind of delivery.
	Name string

	// Event is the first delivery. Retry is the same event as the sender repeats it, with
	// whatever counts the tries. Neither is signed.
	Event, Retry Request

	// Alike are other events that look like it: each is one of its own.
	Alike []Request
}

// Presets are the names for which there is test data, sorted.
func Presets() []string {
	entries, err := fs.ReadDir(files, "testdata")
	if err != nil {
		panic(err) // embedded
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".txt")
	}
	slices.Sort(names)
	return names
}

// Cases are the events of a preset. It panics on test data that cannot be read.
func Cases(preset string) []Case {
	var cases []Case
	for _, r := range requests(preset) {
		name, role, _ := strings.Cut(r.Name, ".")
		if name == "handshake" {
			continue
		}
		i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })
		if i < 0 {
			cases, i = append(cases, Case{Name: name}), len(cases)
		}
		switch role {
		case "event":
			cases[i].Event, cases[i].Retry = r, r.Clone()
		case "retry":
			cases[i].Retry = r
		default:
			cases[i].Alike = append(cases[i].Alike, r)
		}
	}
	return cases
}

// Handshakes are the challenges of a preset, by the handshake's name, unsigned.
func Handshakes(preset string) map[string]Request {
	found := make(map[string]Request)
	for _, r := range requests(preset) {
		if name, ok := strings.CutPrefix(r.Name, "handshake."); ok {
			found[name] = r
		}
	}
	return found
}

// requests reads "-- name --", a request line, headers, an empty line and the body,
// whose last line feed does not count.
func requests(preset string) []Request {
	text, err := files.ReadFile(path.Join("testdata", preset+".txt"))
	if err != nil {
		panic(err)
	}
	var all []Request
	for section := range strings.SplitSeq(strings.TrimPrefix(string(text), "-- "), "\n-- ") {
		name, rest, ok1 := strings.Cut(section, " --\n")
		head, body, ok2 := strings.Cut(rest, "\n\n")
		lines := strings.Split(head, "\n")
		method, target, ok3 := strings.Cut(lines[0], " ")
		if !ok1 || !ok2 || !ok3 {
			panic(fmt.Sprintf("testdata of %s: cannot read %q", preset, section))
		}
		r := Request{Name: name, Preset: preset, Method: method, Target: target, Header: make(http.Header), Body: []byte(strings.TrimSuffix(body, "\n"))}
		for _, line := range lines[1:] {
			field, value, ok := strings.Cut(line, ": ")
			if !ok {
				panic(fmt.Sprintf("testdata of %s: no header: %q", preset, line))
			}
			r.Header.Add(field, value)
		}
		all = append(all, r)
	}
	return all
}

// Clone is a copy that shares nothing.
func (r Request) Clone() Request {
	r.Header, r.Body = r.Header.Clone(), bytes.Clone(r.Body)
	return r
}

// HTTP is the request as a server sees it, at PublicURL.
func (r Request) HTTP() *http.Request {
	u, err := url.Parse(PublicURL + r.Target)
	if err != nil {
		panic(err)
	}
	return &http.Request{
		Method: r.Method, URL: &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}, Host: u.Host, RequestURI: r.Target,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.Header.Clone(), Body: io.NopCloser(bytes.NewReader(r.Body)), ContentLength: int64(len(r.Body)),
	}
}

// Client is the request for a client to send to a server at base, "http://127.0.0.1:8080",
// that takes itself for PublicURL.
func (r Request) Client(ctx context.Context, base string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, base+r.Target, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header, request.Host = r.Header.Clone(), strings.TrimPrefix(PublicURL, "https://")
	return request, nil
}
