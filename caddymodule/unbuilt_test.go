package caddymodule

import (
	"strings"
	"testing"
)

// Every word of the grammar that is still to come is a load error that says so.
func TestWordsToCome(t *testing.T) {
	gate := func(line string) string { return "http://a.example {\n\tn8n_gate {\n\t\t" + line + "\n\t}\n}\n" }
	hook := func(line string) string { return gate("webhook demo {\n\t\t\t" + line + "\n\t\t}") }
	global := func(line string) string { return "{\n\tn8n_gate {\n\t\t" + line + "\n\t}\n}\n" }
	for _, word := range []string{
		"mode observe", "missing_key review",
		"confirm receipt 10m",
		"execution_id json id", "batch items", "batch_forward each",
		"batch_max 10",
		"owner ops",
	} {
		for place, caddyfile := range map[string]string{"gate": gate(word), "webhook": hook(word)} {
			t.Run(place+" "+word, func(t *testing.T) { wantUnbuilt(t, caddyfile) })
		}
	}
	for name, caddyfile := range map[string]string{
		"notify":        global("notify https://a.example"),
		"postgres":      global("store postgres dsn"),
		"n8n_gate_api":  "http://a.example {\n\tn8n_gate_api {\n\t}\n}\n",
		"n8n_gate_desk": "http://a.example {\n\tn8n_gate_desk\n}\n",
	} {
		t.Run(name, func(t *testing.T) { wantUnbuilt(t, caddyfile) })
	}
}

func wantUnbuilt(t *testing.T, caddyfile string) {
	t.Helper()
	config, err := adapt(t, caddyfile)
	if err == nil {
		err = load(t, config)
	}
	if err == nil || !strings.Contains(err.Error(), "not built yet") {
		t.Fatalf("error %v, want one that says \"not built yet\"", err)
	}
}
