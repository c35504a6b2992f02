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
	header, err := NewToken("x-gitlab-token", "", []string{old, now})
	if err != nil {
		t.Fatal(err)
	}
	query, err := NewToken("", "token", []string{old, now})
	if err != nil {
		t.Fatal(err)
	}
	const name = "X-Gitlab-Token"
	tests := []struct {
		name   string
		token  *Token
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
		{"query with a space", query, nil, "token=old-secret+", ErrMismatch},
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
			if err := tt.token.Verify(r); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestNewTokenErrors(t *testing.T) {
	tests := []struct {
		name, header, query string
		secrets             []string
		want                string
	}{
		{"neither", "", "", []string{"s3cret"}, "a token stands in a header or in a query parameter: name one of them"},
		{"both", "X-Token", "token", []string{"s3cret"}, "a token stands in a header or in a query parameter: name one of them"},
		{"header's name", "X Token", "", []string{"s3cret"}, `" " cannot stand in a header's name`},
		{"no secrets", "X-Token", "", nil, "a token needs at least one secret"},
		{"empty secret", "X-Token", "", []string{"s3cret", ""}, "secret 2 is empty"},
		{"line feed from a file", "X-Token", "", []string{"s3cret\n"}, "secret 1 begins or ends with white space"},
		{"space before", "", "token", []string{" s3cret"}, "secret 1 begins or ends with white space"},
		{"control character", "X-Token", "", []string{"s3cret\x00s3cret"}, "secret 1 holds a control character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewToken(tt.header, tt.query, tt.secrets)
			if err == nil || err.Error() != tt.want {
				t.Errorf("NewToken = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTokenHidesItsSecrets(t *testing.T) {
	token, err := NewToken("X-Token", "", []string{"s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v", token, token, token); strings.Contains(text, "s3cret") {
		t.Errorf("printed as %s", text)
	}
}
