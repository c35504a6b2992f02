package keyextract

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

func packed(text string, to func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	w := to(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func gzipped(text string) string {
	return packed(text, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func deflated(text string) string {
	return packed(text, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

func TestDecode(t *testing.T) {
	raw := packed("text", func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 5); return f })
	flagged := []byte(gzipped("text"))
	flagged[3] |= 0x80
	broken := []byte(gzipped("text"))
	broken[len(broken)-5] ^= 1
	const (
		none     = "the Content-Encoding is none that n8n decodes (gzip and deflate, in lower case)"
		gzipErr  = "the body cannot be decoded by its Content-Encoding, gzip"
		zlibErr  = "the body cannot be decoded by its Content-Encoding, deflate"
		tooLarge = "the decoded body is too large"
	)
	for _, tt := range []struct {
		name     string
		encoding []string
		body     string
		want     string
		err      string
	}{
		{"none", nil, "text", "text", ""},
		{"empty body", nil, "", "", ""},
		{"empty encoding", []string{""}, "text", "text", ""},
		{"identity", []string{"identity"}, "text", "text", ""},
		{"gzip", []string{"gzip"}, gzipped("text"), "text", ""},
		{"gzip of nothing", []string{"gzip"}, gzipped(""), "", ""},
		{"gzip with spaces around", []string{" gzip "}, gzipped("text"), "text", ""},
		{"two members", []string{"gzip"}, gzipped("te") + gzipped("xt"), "text", ""},
		{"deflate", []string{"deflate"}, deflated("text"), "text", ""},
		{"deflate, bytes behind it", []string{"deflate"}, deflated("text") + "x", "text", ""}, // as Node
		{"as large as allowed", []string{"gzip"}, gzipped(strings.Repeat("x", 100)), strings.Repeat("x", 100), ""},
		{"as large as allowed, not compressed", nil, strings.Repeat("x", 100), strings.Repeat("x", 100), ""},

		{"too large", []string{"gzip"}, gzipped(strings.Repeat("x", 101)), "", tooLarge},
		{"too large, deflate", []string{"deflate"}, deflated(strings.Repeat("x", 101)), "", tooLarge},
		{"too large, not compressed", nil, strings.Repeat("x", 101), "", tooLarge},
		{"too large together", []string{"gzip"}, gzipped(strings.Repeat("x", 60)) + gzipped(strings.Repeat("x", 60)), "", tooLarge},
		{"too large before it is broken", []string{"gzip"}, gzipped(strings.Repeat("x", 101)) + "x", "", tooLarge},
		{"raw deflate, which n8n refuses", []string{"deflate"}, raw, "", zlibErr},
		{"gzip named deflate", []string{"deflate"}, gzipped("text"), "", zlibErr},
		{"deflate named gzip", []string{"gzip"}, deflated("text"), "", gzipErr},
		{"text named gzip", []string{"gzip"}, "text", "", gzipErr},
		{"nothing named gzip", []string{"gzip"}, "", "", gzipErr},
		{"nothing named deflate", []string{"deflate"}, "", "", zlibErr},
		{"cut short", []string{"gzip"}, gzipped("text")[:15], "", gzipErr},
		{"without its checksum", []string{"gzip"}, gzipped("text")[:len(gzipped("text"))-4], "", gzipErr},
		{"cut short, deflate", []string{"deflate"}, deflated("text")[:5], "", zlibErr},
		{"wrong checksum", []string{"gzip"}, string(broken), "", gzipErr},
		{"reserved flag", []string{"gzip"}, string(flagged), "", gzipErr},
		{"bytes behind it", []string{"gzip"}, gzipped("text") + "x", "", gzipErr},
		{"upper case, which n8n does not decode", []string{"GZIP"}, gzipped("text"), "", none},
		{"x-gzip", []string{"x-gzip"}, gzipped("text"), "", none},
		{"Brotli", []string{"br"}, "text", "", none},
		{"Zstandard", []string{"zstd"}, "text", "", none},
		{"two at once", []string{"gzip, gzip"}, gzipped(gzipped("text")), "", none},
		{"two headers", []string{"gzip", "gzip"}, gzipped("text"), "", "Content-Encoding is there 2 times"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // the second time with a used reader
				got, err := Decode(http.Header{"Content-Encoding": tt.encoding}, []byte(tt.body), 100)
				if tt.err == "" && (err != nil || string(got) != tt.want) {
					t.Fatalf("got %q, %v, want %q", got, err, tt.want)
				}
				if tt.err != "" && (err == nil || err.Error() != tt.err || got != nil || errors.Is(err, ErrTooLarge) != (tt.err == tooLarge)) {
					t.Fatalf("got %q, %v, want %q", got, err, tt.err)
				}
			}
		})
	}
}

func TestDecodeMultipart(t *testing.T) {
	header := http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"Multipart/form-data; boundary=b"}}
	if got, err := Decode(header, []byte(gzipped("text")), 100); err == nil || err.Error() != "n8n does not decode multipart bodies" {
		t.Errorf("got %q, %v", got, err)
	}
	header.Del("Content-Encoding")
	if got, err := Decode(header, []byte("text"), 100); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A bomb costs the limit and not what it would grow to.
func TestDecodeBomb(t *testing.T) {
	const limit = 1 << 20
	for encoding, pack := range map[string]func(string) string{"gzip": gzipped, "deflate": deflated} {
		bomb := []byte(pack(strings.Repeat("x", 16<<20)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := Decode(http.Header{"Content-Encoding": {encoding}}, bomb, limit)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTooLarge) || got != nil {
			t.Errorf("%s: got %d bytes, %v", encoding, len(got), err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 6*limit {
			t.Errorf("%s: %d bytes allocated for a limit of %d", encoding, allocated, limit)
		}
	}
}

// FuzzDecode compares with the standard library without a limit and without
// kept readers.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"", "text", strings.Repeat("x", 300)} {
		f.Add(true, []byte(gzipped(text)))
		f.Add(false, []byte(deflated(text)))
	}
	f.Add(true, []byte(gzipped("te")+gzipped("xt")))
	f.Add(true, []byte(gzipped("text")+"\x00"))
	f.Fuzz(func(t *testing.T, gz bool, body []byte) {
		const limit = 200
		encoding, reader := "deflate", func() (io.Reader, error) { return zlib.NewReader(bytes.NewReader(body)) }
		if gz {
			encoding, reader = "gzip", func() (io.Reader, error) { return gzip.NewReader(bytes.NewReader(body)) }
		}
		got, err := Decode(http.Header{"Content-Encoding": {encoding}}, body, limit)
		if err != nil && got != nil || len(got) > limit {
			t.Fatalf("%d bytes beside %v", len(got), err)
		}
		var want []byte
		r, wantErr := reader()
		if wantErr == nil {
			want, wantErr = io.ReadAll(io.LimitReader(r, 1<<20))
		}
		switch {
		case err == nil && (wantErr != nil || !bytes.Equal(got, want)):
			t.Fatalf("got %q, want %q, %v", got, want, wantErr)
		case errors.Is(err, ErrTooLarge) && len(want) <= limit:
			t.Fatalf("too large, but %d bytes", len(want))
		case err != nil && !errors.Is(err, ErrTooLarge) && wantErr == nil && (len(body) < 4 || body[3]&0xe0 == 0):
			t.Fatalf("%v, but the standard library reads %d bytes", err, len(want))
		}
	})
}
