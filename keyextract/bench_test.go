package keyextract

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// event is a JSON body of about size bytes as shops send them: an envelope and
// line items with names, texts, links, prices and long ids, members unsorted.
func event(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"object":"event","api_version":"2026-01-01","created":1767225600,"type":"order.created","data":{"items":[`)
	for i := 0; b.Len() < size-200; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"admin_graphql_api_id":"gid://shop/LineItem/%d","title":"Grüne Tasse mit Henkel, 350 ml","variant_title":null,"vendor":"Werkstatt \"Am Fluss\"","quantity":%d,"price":"%d.%02d","total_discount":%d.5,"taxable":true,"image":"https://cdn.example.com/files/1/0000/0001/products/%d.jpg?v=1767225600","properties":[{"name":"gift_message","value":"Alles Gute zum Geburtstag!"}]}`,
			866550311766439020+i, 866550311766439020+i, i%7+1, i%90, i%100, i%9, i)
	}
	b.WriteString(`]},"livemode":true,"pending_webhooks":1,"request":{"id":null,"idempotency_key":null},"id":"evt_1PqRsTuVwXyZ"}`)
	return []byte(b.String())
}

var sizes = []struct {
	name string
	size int
}{{"1KiB", 1 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}}

func BenchmarkExtract(b *testing.B) {
	r, err := Compile(rule(jsonAt("id")))
	if err != nil {
		b.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			body := event(s.size)
			againstValidation(b, body, func() {
				if _, err := r.Extract(Input{Header: header, Body: body}); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			body := event(s.size)
			againstValidation(b, body, func() {
				if writeCanonical(io.Discard, body) != nil {
					b.Fatal("no form")
				}
			})
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	for _, paths := range [][]string{nil, {"type", "id"}} {
		f, err := CompileFingerprint(paths)
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range sizes {
			b.Run(fmt.Sprintf("%s/%s", strings.Join(append([]string{"body"}, paths...), "+"), s.name), func(b *testing.B) {
				body := event(s.size)
				againstValidation(b, body, func() {
					f.Sum(FingerprintInput{Method: "POST", Path: "orders", Body: body})
				})
			})
		}
	}
}

// againstValidation measures do, in turns with gjson's validation of body, so
// that both see the same machine, and reports the ratio of the medians.
func againstValidation(b *testing.B, body []byte, do func()) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	turn := max(1, (64<<10)/len(body)) // long enough for the clock
	var ours, theirs []time.Duration
	measure := func(f func()) time.Duration {
		start := time.Now()
		for range turn {
			f()
		}
		return time.Since(start) / time.Duration(turn)
	}
	for range turn {
		do() // fills pools
	}
	n := 0
	for b.Loop() {
		if n++; n%turn > 0 {
			continue
		}
		theirs = append(theirs, measure(func() {
			if !gjson.ValidBytes(body) {
				b.Fatal("invalid")
			}
		}))
		ours = append(ours, measure(do))
	}
	if len(ours) == 0 {
		return
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	ratio := float64(ours[len(ours)/2]) / float64(theirs[len(theirs)/2])
	b.ReportMetric(float64(ours[len(ours)/2]), "median-ns")
	b.ReportMetric(ratio, "x-validation")
}
