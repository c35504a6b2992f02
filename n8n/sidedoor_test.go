package n8n

import "testing"

func TestSideDoor(t *testing.T) {
	table := newTable(t, posts("orders", "5f0c/items/*"))
	tests := []struct {
		path string
		want bool
	}{
		{"/form/orders", true},
		{"/FORM/orders/", true},
		{"/form/%6frders", true},
		{"/mcp/orders", true},
		{"/Mcp/5f0c/items/7", true},
		{"/form/5f0c/7/items", true},
		{"/form/items/:id", true},
		{"//form/orders", true},
		{"/%66orm/orders", true},
		{"/x/../form/orders", true},
		{"/mcp/../form/orders", true},
		{"/form%2Forders", true},
		{"/form/%", true},
		{"/form", true},

		{"/form/contact", false},
		{"/form/orders/x", false},
		{"/mcp/6a1b", false},
		{"/mcp/6a1b/messages", false},
		{"/form-waiting/17", false},
		{"/form-test/orders", false},
		{"/forms/orders", false},
		{"/mcp-server/http", false},
		{"/rest/form/orders", false},
		{"/orders", false},
		{"/", false},
		{"", false},
	}
	for _, tt := range tests {
		if got := table.SideDoor(tt.path); got != tt.want {
			t.Errorf("SideDoor(%q) = %v, want %v", tt.path, got, tt.want)
		}
	}
}
