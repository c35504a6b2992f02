package keyextract

import "testing"

func TestMember(t *testing.T) {
	for _, test := range []struct {
		path, body, want string
		ok               bool
	}{
		{"ok", `{"ok":true}`, "true", true},
		{"ok", `{"ok":"true"}`, "true", true},
		{"a.b", `{"a":{"b":1.50}}`, "1.50", true},
		{"a", `{"a":null}`, "null", true},
		{"a", `{"a":"x\u0041"}`, "xA", true},
		{"a", `{"a":{}}`, "", false},
		{"a", `{"a":[1]}`, "", false},
		{"a", `{"a":1,"a":2}`, "", false},
		{"a", `{"b":1}`, "", false},
		{"a", `{"a":1`, "", false},
		{"a", ``, "", false},
		{"a", `{"a":"\ud800"}`, "", false},
	} {
		m, err := CompileMember(test.path)
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := m.Text([]byte(test.body)); text != test.want || ok != test.ok {
			t.Errorf("%s of %s: %q %v", test.path, test.body, text, ok)
		}
	}
	if _, err := CompileMember("a.#"); err == nil {
		t.Error("a path that would pick is taken")
	}
}
