package keyextract

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
)

// FuzzExtract, FuzzParse, FuzzCanonical and FuzzDecode stand beside the tests of
// what they fuzz.

// FuzzPath: what parses has one canonical spelling that means the same.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"id", "order.id", "items.0.id", `a\.b`, `\@a\*\?\#\|\!\{\[\\`, `i\d`, "..0", "a.", `a\`, "é.ü", "a*", "00", "\x00", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		segments, err := parsePath(path)
		if err != nil {
			return
		}
		printed := canonicalPath(path)
		again, err := parsePath(printed)
		if err != nil || len(again) != len(segments) || canonicalPath(printed) != printed {
			t.Fatalf("%q prints %q, which parses as %v, %v", path, printed, again, err)
		}
		for i := range segments {
			if again[i] != segments[i] || segments[i].name == "" {
				t.Fatalf("%q prints %q: segment %d is %v, then %v", path, printed, i, segments[i], again[i])
			}
		}
	})
}

// FuzzForm: a key is what net/url reads, once. net/url alone refuses semicolons
// and broken escapes anywhere.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"id=1", "a=1&id=x+y%21", "id=1&id=2", "i%64=a&b", "id", "id=%zz", "%zz=1&id=2", "id=a;b=c", "&&id=é&", "id=a=b"} {
		f.Add("id", []byte(seed))
	}
	f.Add("a[b]", []byte("a[b]=1&a%5Bb%5D=2"))
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		r, err := Compile(rule(fieldAt(name)))
		if err != nil {
			return
		}
		read := part1(t, r, Input{Header: form("").Header, Body: body})
		values, err := url.ParseQuery(string(body))
		if err == nil {
			check(t, read, values[name])
		}
	})
}

// FuzzQuery: as FuzzForm, and a key never comes from what qs would nest.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"id=1", "id[]=1", "id=1&id[]=2", "[id]=1", "id]=1", "id=a]=b", "id%5B%5D=1", "id%5b=%%", "a[id]=1&id=2", "id=%5D%3D"} {
		f.Add("id", seed)
	}
	f.Fuzz(func(t *testing.T, name, raw string) {
		r, err := Compile(rule(queryAt(name)))
		if err != nil {
			return
		}
		read := part1(t, r, Input{RawQuery: raw})
		values, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		check(t, read, values[name])
		if read != nil {
			for other := range values {
				if strings.HasPrefix(other, name+"[") || strings.HasPrefix(other, "["+name+"]") {
					t.Fatalf("read %q beside %q", *read, other)
				}
			}
		}
	})
}

// FuzzMultipart: a key is what mime/multipart's own reader of forms reads, once.
func FuzzMultipart(f *testing.F) {
	for _, seed := range [][]string{
		{field("id", "x")}, {field("id", "x"), field("id", "y")}, {file("id", "x"), field("id", "y")}, {},
		{`Content-Disposition: form-data; name=id|Content-Type: text/plain||x`}, {`Content-Disposition: form-data; name*=utf-8''id||x`},
		{`Content-Disposition: form-data; filename="name=id"; name="f"||x`}, {`Content-Disposition: form-data; name="id"|Content-Transfer-Encoding: quoted-printable||=78`},
	} {
		f.Add(parts(seed...).Body)
	}
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nx\r\n--b\r\n"))
	r, err := Compile(formID)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read := part1(t, r, typed("multipart/form-data; boundary=b", string(body)))
		whole, err := multipart.NewReader(bytes.NewReader(body), "b").ReadForm(1 << 20)
		if err != nil && !errors.Is(err, io.EOF) {
			if read != nil {
				t.Fatalf("read %q, but mime/multipart says %v", *read, err)
			}
			return
		}
		if whole != nil {
			check(t, read, whole.Value["id"])
			_ = whole.RemoveAll()
		}
	})
}

// part1 is the key's part, or nil if there is none.
func part1(t *testing.T, r *Rule, in Input) *string {
	key, err := r.Extract(in)
	if err != nil {
		var failed *Error
		if !errors.As(err, &failed) || len(key.parts) > 0 {
			t.Fatalf("%q beside %v", key, err)
		}
		return nil
	}
	checkKey(t, key)
	return &key.parts[0]
}

// check compares with another reader's values.
func check(t *testing.T, read *string, values []string) {
	if read != nil && (len(values) != 1 || values[0] != *read) {
		t.Fatalf("read %q, but there are %q", *read, values)
	}
}
