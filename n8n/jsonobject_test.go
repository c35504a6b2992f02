package n8n

import "testing"

func TestParseObject(t *testing.T) {
	tests := []struct {
		body string
		want bool
	}{
		{`{}`, true},
		{`{"a":1,"b":"x","c":[{"a":1}],"d":null}`, true},
		{`{"a":"\u00e9 \" \\ \n"}`, true},
		{`{"a":1,"a":1}`, false},
		{`{"a":1,"\u0061":1}`, false},
		{`{"a":1,"A":1}`, true},
		{`{"a": 1}`, false},
		{`{"a":1} `, false},
		{` {"a":1}`, false},
		{"{\"a\":1}\n", false},
		{`{"a":1}{}`, false},
		{`{"a":1,}`, false},
		{`{"a":01}`, false},
		{`{a:1}`, false},
		{"{\"a\":\"\xff\"}", false},
		{"{\"a\":\"\n\"}", false},
		{`[]`, false},
		{`"a"`, false},
		{`null`, false},
		{``, false},
		{`{`, false},
	}
	for _, tt := range tests {
		if _, got := parseObject([]byte(tt.body)); got != tt.want {
			t.Errorf("%q = %v, want %v", tt.body, got, tt.want)
		}
	}
}

func TestJSONText(t *testing.T) {
	tests := []struct {
		value, want string
		ok          bool
	}{
		{`"a"`, "a", true},
		{`"\u0061\n"`, "a\n", true},
		{`"\ud83d\ude00"`, "\U0001F600", true},
		{"\"\uFFFD\"", "\uFFFD", true},
		{`"\ud800"`, "", false},
		{`"\udc00x"`, "", false},
		{`1`, "", false},
		{`null`, "", false},
		{`["a"]`, "", false},
	}
	for _, tt := range tests {
		o, ok := parseObject([]byte(`{"a":` + tt.value + `}`))
		if !ok {
			t.Fatalf("%s is no object's member", tt.value)
		}
		if got, ok := o.text("a"); got != tt.want || ok != tt.ok {
			t.Errorf("%s = %q, %v, want %q, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
	if _, ok := (jsonObject{}).text("a"); ok {
		t.Error("a member that is not there has a text")
	}
}
