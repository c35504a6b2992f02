package provider_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/provider"
	"github.com/n8n-gate/n8n-gate/provider/providertest"
	"github.com/n8n-gate/n8n-gate/signature"
)

// What a preset costs a delivery of 2 KiB: one of the plainest senders, and the one
// with the most shapes.
func BenchmarkVerifyAndExtract(b *testing.B) {
	for _, name := range []string{"stripe", "meta"} {
		b.Run(name, func(b *testing.B) {
			p, err := provider.Lookup(name)
			if err != nil {
				b.Fatal(err)
			}
			sender, err := p.Configure(providertest.Settings(name), signature.World{})
			if err != nil {
				b.Fatal(err)
			}
			key, err := p.Key(0)
			if err != nil {
				b.Fatal(err)
			}
			event := providertest.Cases(name)[0].Event
			// A member that nobody looks at.
			filler := `"note":"` + strings.Repeat("x", 2048-len(event.Body)-10) + `",`
			event.Body = append([]byte("{"+filler), bytes.TrimPrefix(event.Body, []byte("{"))...)
			signed := providertest.Sign(event, time.Now())
			r := signed.HTTP()
			in := keyextract.Input{Header: r.Header, Body: signed.Body}
			b.SetBytes(int64(len(signed.Body)))
			for b.Loop() {
				if err := sender.Verify(r, signed.Body); err != nil {
					b.Fatal(err)
				}
				if _, err := key.Extract(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
