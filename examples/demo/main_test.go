package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/n8n-gate/n8n-gate/n8n"
)

func post(u *upstream, path, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"id":"evt_1"}`))
	r.Header.Set("N8n-Gate-Operation", "demo")
	r.Header.Set("N8n-Gate-Event-Key", key)
	r.Header.Set("N8n-Gate-Attempt", "1")
	w := httptest.NewRecorder()
	u.ServeHTTP(w, r)
	return w
}

func TestAction(t *testing.T) {
	var log bytes.Buffer
	u := &upstream{log: &log}
	for number, path := range []string{"/webhook/demo", "/WEBHOOK/any/thing", "/webhook/%64emo/"} {
		w := post(u, path, "evt_1")
		var got started
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := started{Message: "Workflow was started", Actions: number + 1, EventKey: "evt_1"}
		if w.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d %+v, want %+v", path, w.Code, got, want)
		}
		if !n8n.FromWorkflow(w.Header()) || w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s: headers %v", path, w.Header())
		}
	}
	const want = "action 1: operation=demo event_key=evt_1 attempt=1\n" +
		"action 2: operation=demo event_key=evt_1 attempt=1\n" +
		"action 3: operation=demo event_key=evt_1 attempt=1\n"
	if log.String() != want {
		t.Errorf("printed\n%swant\n%s", log.String(), want)
	}
}

func TestNotRegistered(t *testing.T) {
	tests := []struct{ method, path, message string }{
		{http.MethodGet, "/webhook/demo", `The requested webhook "GET demo" is not registered.`},
		{http.MethodPost, "/", `The requested webhook "POST " is not registered.`},
		{http.MethodPost, "/webhook/", `The requested webhook "POST webhook" is not registered.`},
		{http.MethodPost, "/webhook-test/demo", `The requested webhook "POST webhook-test/demo" is not registered.`},
	}
	for _, tt := range tests {
		var log bytes.Buffer
		u := &upstream{log: &log}
		w := httptest.NewRecorder()
		u.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		var got failure
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusNotFound || got.Code != http.StatusNotFound || got.Message != tt.message || got.Hint == "" {
			t.Errorf("%s %s: %d %+v, want %q", tt.method, tt.path, w.Code, got, tt.message)
		}
		if n8n.FromWorkflow(w.Header()) {
			t.Errorf("%s %s: the sandbox CSP on an error of n8n's own", tt.method, tt.path)
		}
		if u.actions != 0 || log.Len() != 0 {
			t.Errorf("%s %s: an action", tt.method, tt.path)
		}
	}
}

func TestTooLarge(t *testing.T) {
	u := &upstream{log: &bytes.Buffer{}}
	r := httptest.NewRequest(http.MethodPost, "/webhook/demo", bytes.NewReader(make([]byte, maxBody+1)))
	w := httptest.NewRecorder()
	u.ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || u.actions != 0 {
		t.Errorf("%d, %d actions", w.Code, u.actions)
	}
}

func TestConcurrentActions(t *testing.T) {
	u := &upstream{log: &bytes.Buffer{}}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { post(u, "/webhook/demo", "evt") })
	}
	all.Wait()
	if u.actions != 50 {
		t.Errorf("%d actions, want 50", u.actions)
	}
}
