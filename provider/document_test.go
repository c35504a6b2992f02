package provider_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/provider"
)

var update = flag.Bool("update", false, "write docs/providers.md anew")

// The documentation is what the presets say.
func TestDocumentationIsUpToDate(t *testing.T) {
	const path = "../docs/providers.md"
	var want bytes.Buffer
	if err := provider.DocumentAll(&want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")), want.Bytes()) {
		t.Error("docs/providers.md is not what the presets say: go generate ./provider")
	}
}

func TestDocumentSaysEverything(t *testing.T) {
	for _, p := range provider.All() {
		var text strings.Builder
		if err := provider.Document(&text, p); err != nil {
			t.Fatal(err)
		}
		must := []string{p.Name, p.Title, p.About, p.Retries.Schedule, p.GivesUp}
		for _, o := range p.Options {
			must = append(must, "`"+o.Name+"`", o.About)
		}
		for _, f := range p.Facts {
			must = append(must, strings.ReplaceAll(f.Text, "|", `\|`), f.Source)
		}
		for _, h := range p.Handshakes {
			must = append(must, "handshake "+h.Name)
		}
		must = append(must, p.Advice...)
		for _, phrase := range must {
			if !strings.Contains(text.String(), phrase) {
				t.Errorf("%s: does not say %q", p.Name, phrase)
			}
		}
	}
}
