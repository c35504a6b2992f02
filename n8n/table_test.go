package n8n

import "testing"

func TestTable(t *testing.T) {
	table, err := NewTable(DefaultPrefix, []string{"stripe-orders", "5f0c/webhook", "Été 100%", "a:b"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		canonical string
		index     int
		ok        bool
	}{
		{"stripe-orders", 0, true},
		{"5f0c/webhook", 1, true},
		{"Été 100%", 2, true},
		{"a:b", 3, true},
		{"Stripe-orders", 0, false},
		{"stripe-orders/", 0, false},
		{"/stripe-orders", 0, false},
		{"stripe-orders/x", 0, false},
		{"5f0c", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		index, ok := table.Lookup(tt.canonical)
		if index != tt.index || ok != tt.ok {
			t.Errorf("Lookup(%q) = %d, %v, want %d, %v", tt.canonical, index, ok, tt.index, tt.ok)
		}
	}
}

func TestTableErrors(t *testing.T) {
	tests := []struct {
		name     string
		prefix   string
		patterns []string
		want     string
	}{
		{"prefix", "webhook", nil, `prefix "webhook": it must begin with '/'`},
		{"empty", "/webhook", []string{""}, `webhook "": the path is empty`},
		{"twice", "/webhook", []string{"a", "b", "a"}, `webhook "a": it is there twice`},
		{"wildcard", "/webhook", []string{"shop/*/orders"}, `webhook "shop/*/orders": wildcards ('*') are not built yet`},
		{"leading slash", "/webhook", []string{"/a"}, `webhook "/a": it is written without the leading slash: "a"`},
		{"trailing slash", "/webhook", []string{"a/"}, `webhook "a/": it is written without the trailing slash: "a"`},
		{"empty segment", "/webhook", []string{"a//b"}, `webhook "a//b": it has an empty segment ('//')`},
		{"dots", "/webhook", []string{"a/../b"}, `webhook "a/../b": it has the segment "..", which clients resolve before they send`},
		{"dot", "/webhook", []string{"."}, `webhook ".": it has the segment ".", which clients resolve before they send`},
		{"encoded", "/webhook", []string{"a%2Fb"}, `webhook "a%2Fb": it is written decoded: "a/b"`},
		{"query", "/webhook", []string{"a?b=c"}, `webhook "a?b=c": it holds '?' or '#'; only the path is written, without query or fragment`},
		{"URL", "/webhook", []string{"https://n8n.example.com/webhook/a"}, `webhook "https://n8n.example.com/webhook/a": only what follows /webhook/ in the webhook's URL is written`},
		{"parameter", "/webhook", []string{"5f0c/:id"}, `webhook "5f0c/:id": n8n fills the segment ":id" in with anything; that needs a wildcard ('*'), which is not built yet`},
		{"control character", "/webhook", []string{"a\tb"}, `webhook "a\tb": it holds a control character`},
		{"not UTF-8", "/webhook", []string{"a\xff"}, `webhook "a\xff": it is not valid UTF-8`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := NewTable(tt.prefix, tt.patterns); err == nil || err.Error() != tt.want {
				t.Errorf("NewTable = %v, want %q", err, tt.want)
			}
		})
	}
}
