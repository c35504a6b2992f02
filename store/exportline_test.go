package store

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// Every field of a record is in its line, to the byte: fullRecord has something else
// in each of them (TestFullRecordIsFull).
func TestLinesSayAll(t *testing.T) {
	odd := fullRecord()
	odd.Reason, odd.ActionID, odd.Execution = "not UTF-8: \xff\xfe", "<&>\u2028", ""
	odd.Receipt.Header = []Field{{"X-Name", "J\xfcrgen"}}
	odd.Aliases = []Alias{{AliasExecution, "main/\xff"}, {AliasFingerprint, "op\x00\xff"}, {AliasKind(77), "of a later version"}}
	odd.Holder, odd.Evidence = 0, 0
	for name, r := range map[string]Record{"full": fullRecord(), "odd": odd, "least": {ID: ID{"op", "key"}, State: Ambiguous}} {
		for _, payload := range [][]byte{nil, []byte("\x00body\xff")} {
			line, err := encodeLine(r, payload)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, body, err := decodeLine(line)
			got.Version = r.Version // a store gives its own
			if r.Prior != nil {
				got.Prior.Version = r.Prior.Version
			}
			if err != nil || !reflect.DeepEqual(got, r) || !bytes.Equal(body, payload) {
				t.Errorf("%s: %v\n%s\ngot  %+v\nwant %+v", name, err, line, got, r)
			}
			if bytes.ContainsRune(line, '\n') {
				t.Errorf("%s: more than one line", name)
			}
		}
	}
}

func TestLinesThatAreNone(t *testing.T) {
	line, err := encodeLine(fullRecord(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		`"state":"completed"`:         `"state":"done"`,
		`"operation":`:                `"operatoin":`,
		`"holder":"receipt"`:          `"holder":"nobody"`,
		`"kind":"token"`:              `"kind":"key"`,
		`"kind":"execution","text"`:   `"kind":"execution","hex"`,
		`"retention":"720h0m0s"`:      `"retention":"30d"`,
		`"evidence":"receipt"`:        `"evidence":"hearsay"`,
		`"from":"gone"`:               `"from":"away"`,
		`"attempt":4`:                 `"attempt":"4"`,
		`"first_seen_at":"2026`:       `"first_seen_at":"26`,
		`"fingerprint":"01`:           `"fingerprint":"1`,
		`"fingerprint":"0100`:         `"fingerprint":"01zz`,
		`"version_of_another_field":`: ``, // appended below
	} {
		bad := strings.Replace(string(line), from, to, 1)
		if to == "" {
			bad = strings.TrimSuffix(string(line), "}") + `,"field_of_a_later_version":1}`
		}
		if bad == string(line) {
			t.Errorf("%s is not in the line %s", from, line)
		}
		if _, _, err := decodeLine([]byte(bad)); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
	if _, _, err := decodeLine(append(line, line...)); err == nil {
		t.Error("two records in one line are taken")
	}
}
