package signature

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTokenVerify(t *testing.T) {
	const old, now = "old-secret", "new secret ü"
	header := verifier(t, Config{Kind: KindToken, Header: "x-gitlab-token"}, World{}, old, now)
	query := verifier(t, Config{Kind: KindToken, Query: "token"}, World{}, old, now)
	const name = "X-Gitlab-Token"
	tests := []struct {
		name   string
		token  *Verifier
		header http.Header
		query  string
		want   error
	}{
		{"header, first secret", header, http.Header{name: {old}}, "", nil},
		{"header, second secret", header, http.Header{name: {now}}, "", nil},
		{"header with spaces around", header, http.Header{name: {" " + old + "\t"}}, "", nil},
		{"header absent", header, http.Header{}, "", ErrMissing},
		{"header empty", header, http.Header{name: {""}}, "", ErrMissing},
		{"header blank", header, http.Header{name: {"  "}}, "", ErrMissing},
		{"header wrong", header, http.Header{name: {"wrong"}}, "", ErrMismatch},
		{"header in other case", header, http.Header{name: {"Old-Secret"}}, "", ErrMismatch},
		{"header shorter", header, http.Header{name: {old[:5]}}, "", ErrMismatch},
		{"header longer", header, http.Header{name: {old + "x"}}, "", ErrMismatch},
		{"header with both secrets", header, http.Header{name: {old + ", " + now}}, "", ErrMismatch},
		{"header with a scheme", header, http.Header{name: {"Bearer " + old}}, "", ErrMismatch},
		{"header twice", header, http.Header{name: {old, "x"}}, "", ErrRepeated},
		{"header twice alike", header, http.Header{name: {old, old}}, "", ErrRepeated},
		{"header expected, query sent", header, http.Header{}, "token=" + old, ErrMissing},

		{"query, first secret", query, nil, "token=old-secret", nil},
		{"query, second secret", query, nil, "a=b&token=new+secret%20%C3%BC", nil},
		{"query absent", query, nil, "", ErrMissing},
		{"query, other parameter", query, nil, "Token=old-secret", ErrMissing},
		{"query empty", query, nil, "token=", ErrMissing},
		{"query without value", query, nil, "token", ErrMissing},
		{"query wrong", query, nil, "token=wrong", ErrMismatch},
		{"query twice", query, nil, "token=old-secret&token=x", ErrRepeated},
		{"query twice, once encoded", query, nil, "token=old-secret&t%6Fken=old-secret", ErrRepeated},
		{"query with a semicolon", query, nil, "token=old-secret;a=b", ErrQuery},
		{"query with a broken escape", query, nil, "token=old-secret&a=%zz", ErrQuery},
		{"query expected, header sent", query, http.Header{"Token": {old}}, "", ErrMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/webhook/x", nil)
			r.URL.RawQuery = tt.query
			if tt.header != nil {
				r.Header = tt.header
			}
			if err := tt.token.Verify(r, nil); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestSecretsAreHidden(t *testing.T) {
	v := verifier(t, Config{Kind: KindToken, Header: "X-Token"}, World{}, "s3cret")
	if text := fmt.Sprintf("%v %+v %#v", v.proofs, v.proofs, v.proofs); strings.Contains(text, "s3cret") {
		t.Errorf("printed as %s", text)
	}
}

func verifier(t testing.TB, c Config, w World, secrets ...string) *Verifier {
	t.Helper()
	v, err := c.Verifier(secrets, w)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
