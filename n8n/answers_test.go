package n8n

import (
	"net/http"
	"testing"
)

func TestFromWorkflow(t *testing.T) {
	tests := []struct {
		name   string
		values []string
		want   bool
	}{
		{"none", nil, false},
		{"n8n's own", []string{SandboxCSP}, true},
		{"a shorter one", []string{"sandbox allow-downloads"}, true},
		{"with another directive", []string{"sandbox allow-downloads; default-src 'none'"}, true},
		{"beside a proxy's", []string{"default-src 'self'", SandboxCSP}, true},
		{"Express' error pages", []string{"default-src 'none'"}, false},
		{"a bare sandbox", []string{"sandbox"}, false},
		{"another sandbox", []string{"sandbox allow-scripts"}, false},
		{"another keyword", []string{"sandbox allow-downloads-without-user-activation"}, false},
		{"not at the beginning", []string{"default-src 'none'; sandbox allow-downloads"}, false},
		{"empty", []string{""}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{"Content-Security-Policy": tt.values, "Content-Type": {"application/json"}}
			if got := FromWorkflow(h); got != tt.want {
				t.Errorf("FromWorkflow = %v, want %v", got, tt.want)
			}
		})
	}
	if FromWorkflow(http.Header{"Content-Security-Policy-Report-Only": {SandboxCSP}}) {
		t.Error("the report-only header counts")
	}
	if FromWorkflow(nil) {
		t.Error("no headers count")
	}
}

func TestSandboxCSP(t *testing.T) {
	const n8n2407 = "sandbox allow-downloads allow-forms allow-modals allow-orientation-lock allow-pointer-lock allow-popups allow-popups-to-escape-sandbox allow-presentation allow-scripts allow-top-navigation-by-user-activation allow-top-navigation-to-custom-protocols"
	if SandboxCSP != n8n2407 {
		t.Errorf("SandboxCSP = %q", SandboxCSP)
	}
}

func TestSettled(t *testing.T) {
	again := map[int]bool{408: true, 409: true, 423: true, 425: true, 429: true}
	for status := range 1000 {
		want := status >= 200 && status < 500 && !again[status]
		if got := Settled(status); got != want {
			t.Errorf("Settled(%d) = %v, want %v", status, got, want)
		}
	}
}
