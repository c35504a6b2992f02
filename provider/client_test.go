package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/provider"
	"github.com/n8n-gate/n8n-gate/provider/providertest"
)

// What went through HTTP is still authentic, and the same event.
func TestEventsSurviveHTTP(t *testing.T) {
	gates := make(map[string]gate)
	for _, name := range provider.Names() {
		gates[name] = newGate(t, name, providertest.Settings(name))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := gates[r.Header.Get("Preset")]
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = g.sender.Verify(r, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		key, err := g.key.Extract(input(providertest.Request{Method: r.Method, Target: r.RequestURI, Header: r.Header, Body: body}))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, key.String())
	}))
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	for name, g := range gates {
		for _, c := range providertest.Cases(name) {
			signed := providertest.Sign(c.Event, time.Now())
			want, err := g.key.Extract(input(signed))
			if err != nil {
				t.Fatal(err)
			}
			request, err := signed.Client(t.Context(), server.URL)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Preset", name)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			have, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK || string(have) != want.String() {
				t.Errorf("%s %s: %d %s, %v, want %s", name, c.Name, response.StatusCode, have, err, want)
			}
		}
	}
}
