package keyextract

import (
	"net/http"
	"testing"
)

// TestSources takes one key from every kind of source.
func TestSources(t *testing.T) {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	multipart := http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}
	tests := []struct {
		source Source
		in     Input
		key    string
	}{
		{Source{Kind: KindJSON, Path: "order.id"}, Input{Body: []byte(`{"order":{"id":7}}`)}, "7"},
		{Source{Kind: KindHeader, Name: "X-Event"}, Input{Header: http.Header{"X-Event": {"a"}}}, "a"},
		{Source{Kind: KindForm, Field: "id"}, Input{Header: form, Body: []byte("a=b&id=x+y%21")}, "x%20y%21"},
		{Source{Kind: KindForm, Field: "id"}, Input{Header: multipart, Body: []byte("--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nx\r\n--b--\r\n")}, "x"},
		{Source{Kind: KindFormJSON, Field: "payload", Path: "id"}, Input{Header: form, Body: []byte("payload=%7B%22id%22%3A1%7D")}, "1"},
		{Source{Kind: KindQuery, Name: "data.id"}, Input{RawQuery: "data.id=5&type=x"}, "5"},
		{Source{Kind: KindBodySHA256}, Input{Body: []byte("abc")}, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{Source{Kind: KindCanonicalJSON}, Input{Body: []byte(` {"b":1, "a":2.0}`)}, "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772"},
		{Source{Kind: KindCanonicalJSON, Paths: []string{"a", "b"}}, Input{Body: []byte(`{"b":1, "a":2.0}`)}, "af1a1fc110b6094c48582b0ef83553cb7908d7a4365424eef28e76ef6c88d630"},
	}
	for _, tt := range tests {
		t.Run(tt.source.String(), func(t *testing.T) {
			r, err := Compile(rule(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			if key, err := r.Extract(tt.in); err != nil || key.String() != tt.key {
				t.Errorf("got %q, %v, want %q", key, err, tt.key)
			}
		})
	}
}
