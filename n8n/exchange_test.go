package n8n

import "testing"

const (
	// conditionalCSP is the mark of n8n up to 2.10, on some answers only;
	// between that of 2.11.4 to 2.17, on all of them.
	conditionalCSP = "sandbox allow-downloads allow-forms allow-modals allow-orientation-lock allow-pointer-lock allow-popups allow-presentation allow-scripts allow-top-navigation allow-top-navigation-by-user-activation allow-top-navigation-to-custom-protocols"
	betweenCSP     = "sandbox allow-downloads allow-forms allow-modals allow-orientation-lock allow-pointer-lock allow-popups allow-presentation allow-scripts allow-top-navigation-by-user-activation allow-top-navigation-to-custom-protocols"
)

func TestShowsSandbox(t *testing.T) {
	tests := []struct {
		name        string
		contentType []string
		policies    []string
		want        bool
	}{
		{"n8n's own", []string{typeJSON}, []string{SandboxCSP}, true},
		{"without charset", []string{"application/json"}, []string{SandboxCSP}, true},
		{"with a proxy's policy", []string{typeJSON}, []string{"default-src 'self'", SandboxCSP}, true},
		{"with another directive", []string{typeJSON}, []string{SandboxCSP + "; default-src 'none'"}, true},
		{"1.123.0 and 2.0.0, JSON without a type of its own", []string{typeJSON}, []string{conditionalCSP}, false},
		{"2.11.4 to 2.17", []string{typeJSON}, []string{betweenCSP}, false},
		{"the word in another directive", []string{typeJSON}, []string{betweenCSP + "; x allow-popups-to-escape-sandbox"}, false},
		{"HTML", []string{typeHTML}, []string{SandboxCSP}, false},
		{"no type", nil, []string{SandboxCSP}, false},
		{"two types", []string{typeJSON, typeJSON}, []string{SandboxCSP}, false},
		{"another JSON", []string{"application/problem+json"}, []string{SandboxCSP}, false},
		{"a broken type", []string{"application/json; ="}, []string{SandboxCSP}, false},
		{"no policy", []string{typeJSON}, nil, false},
		{"Express'", []string{typeJSON}, []string{"default-src 'none'"}, false},
		{"another sandbox", []string{typeJSON}, []string{"sandbox allow-popups-to-escape-sandbox"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, status := range []int{200, 404, 500} {
				e := answer(status, "{}")
				e.Header["Content-Type"], e.Header[cspHeader] = tt.contentType, tt.policies
				if got := ShowsSandbox(e); got != tt.want {
					t.Errorf("ShowsSandbox = %v, want %v", got, tt.want)
				}
			}
		})
	}
	if ShowsSandbox(Exchange{}) {
		t.Error("nothing shows it")
	}
}

func TestFormNotFound(t *testing.T) {
	tests := []struct {
		name, prefix, path, query string
		change                    func(*Exchange)
		want                      bool
	}{
		{"prefix", "/platform/webhook", "x", "", nil, true},
		{"prefix, behind the first segment", "/n8n/platform", "x", "", nil, false},
		{"prefix with a capital before", "/Platform/webhook", "x", "", nil, true},
		{"prefix, form in capitals", "/FORM", "x", "", nil, false},
		{"path", "/webhook", "5f0c/n8n-form", "", nil, true},
		{"query", "/webhook", "x", "ref=n8n-form", nil, true},
		{"path with form alone", "/webhook", "form", "form", nil, false},
		{"another status", "/webhook", "n8n-form", "", func(e *Exchange) { e.Status = 200 }, false},
		{"another type", "/webhook", "n8n-form", "", func(e *Exchange) { e.Header.Set("Content-Type", typeJSON) }, false},
		{"no policy", "/webhook", "n8n-form", "", func(e *Exchange) { e.Header.Del(cspHeader) }, false},
		{"no type", "/webhook", "n8n-form", "", func(e *Exchange) { e.Header.Del("Content-Type") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := answer(404, "<html>", "Content-Type", typeHTML, cspHeader, SandboxCSP)
			e.Prefix, e.Path, e.RawQuery = tt.prefix, tt.path, tt.query
			if tt.change != nil {
				tt.change(&e)
			}
			if got := FormNotFound(e); got != tt.want {
				t.Errorf("FormNotFound = %v, want %v", got, tt.want)
			}
			if row, ok := Recognise(e); ok {
				t.Errorf("Recognise = %s", row.Name)
			}
		})
	}
}
