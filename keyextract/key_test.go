package keyextract

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("x", MaxBytes)
	tests := []struct {
		name, text string
		parts      []string
		printed    string // "": as text
		err        string
	}{
		{name: "one part", text: "evt_1", parts: []string{"evt_1"}},
		{name: "two parts", text: "1:23", parts: []string{"1", "23"}},
		{name: "other two parts", text: "12:3", parts: []string{"12", "3"}},
		{name: "colon in a part", text: "1%3A23", parts: []string{"1:23"}},
		{name: "lower-case hex", text: "a%3ab", parts: []string{"a:b"}, printed: "a%3Ab"},
		{name: "mixed hex", text: "%c3%A9", parts: []string{"é"}, printed: "%C3%A9"},
		{name: "needless encoding", text: "%61%2D", parts: []string{"a-"}, printed: "a-"},
		{name: "decoded once", text: "%2561", parts: []string{"%61"}},
		{name: "eight parts", text: "a:b:c:d:e:f:g:h", parts: []string{"a", "b", "c", "d", "e", "f", "g", "h"}},
		{name: "longest", text: long, parts: []string{long}},
		{name: "longest, encoded", text: strings.Repeat("%78", MaxBytes), parts: []string{long}, printed: long},
		{name: "empty", text: "", err: "an event key is not empty"},
		{name: "empty part", text: "a::b", err: "part 2 of the event key: it is empty"},
		{name: "colon alone", text: ":", err: "part 1 of the event key: it is empty"},
		{name: "nine parts", text: "a:b:c:d:e:f:g:h:i", err: "an event key has at most 8 parts, not 9"},
		{name: "space", text: "a b", err: "part 1 of the event key: it holds a character that must be percent-encoded"},
		{name: "slash", text: "a/b", err: "part 1 of the event key: it holds a character that must be percent-encoded"},
		{name: "plus", text: "a:b+c", err: "part 2 of the event key: it holds a character that must be percent-encoded"},
		{name: "UTF-8 not encoded", text: "é", err: "part 1 of the event key: it holds a character that must be percent-encoded"},
		{name: "percent alone", text: "a%", err: "part 1 of the event key: it ends within a percent-encoding"},
		{name: "one digit", text: "a%4", err: "part 1 of the event key: it ends within a percent-encoding"},
		{name: "encoding across a colon", text: "a%4:1", err: "part 1 of the event key: it ends within a percent-encoding"},
		{name: "no hex", text: "a%4g", err: "part 1 of the event key: it holds a '%' without two hexadecimal digits"},
		{name: "not UTF-8", text: "%FF", err: "part 1 of the event key: it is not valid UTF-8"},
		{name: "surrogate", text: "%ED%A0%80", err: "part 1 of the event key: it is not valid UTF-8"},
		{name: "control character", text: "%00", err: "part 1 of the event key: it holds a control character"},
		{name: "too long", text: long + "x", err: "the key is longer than 512 bytes altogether"},
		{name: "too long together", text: long + ":x", err: "the key is longer than 512 bytes altogether"},
		{name: "far too long", text: strings.Repeat("%78", MaxBytes+3), err: "the key is longer than 512 bytes altogether"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, err := Parse(tt.text)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || len(key.Parts()) != 0 {
					t.Fatalf("got %q, %v, want error %q", key, err, tt.err)
				}
				return
			}
			if err != nil || !slices.Equal(key.Parts(), tt.parts) {
				t.Fatalf("got %q, %v, want %q", key.Parts(), err, tt.parts)
			}
			printed := tt.printed
			if printed == "" {
				printed = tt.text
			}
			if key.String() != printed {
				t.Errorf("prints %q, want %q", key, printed)
			}
		})
	}
}

func TestPartsAreACopy(t *testing.T) {
	key, err := Parse("a:b")
	if err != nil {
		t.Fatal(err)
	}
	key.Parts()[0] = "x"
	if key.String() != "a:b" {
		t.Errorf("key became %q", key)
	}
}

// TestPrintingIsInjective draws keys from an alphabet of everything that
// printing treats specially, so that collisions, if there were any, would be
// frequent: keys print alike exactly if their parts are alike.
func TestPrintingIsInjective(t *testing.T) {
	alphabet := []string{"a", "3", "A", ":", "%", "%3A", "%25", "/", " ", "é", "-", "\u2028", "😀"}
	random := rand.New(rand.NewPCG(1, 2)) // fixed: a failure repeats
	seen := map[string][]string{}
	for range 200_000 {
		parts := make([]string, 1+random.IntN(3))
		for i := range parts {
			for range 1 + random.IntN(3) {
				parts[i] += alphabet[random.IntN(len(alphabet))]
			}
		}
		printed := Key{parts}.String()
		if other, ok := seen[printed]; ok && !slices.Equal(other, parts) {
			t.Fatalf("%q and %q both print %q", parts, other, printed)
		}
		seen[printed] = parts
		back, err := Parse(printed)
		if err != nil || !slices.Equal(back.parts, parts) {
			t.Fatalf("%q prints %q, which parses as %q, %v", parts, printed, back.parts, err)
		}
	}
	if len(seen) < 10_000 {
		t.Errorf("only %d different keys", len(seen))
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"evt_1", "1:23", "a%3ab", "%C3%A9:x", "%00", "a::b", "%", "a%2", "é", "a b", "%25:%3A", "~._-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := Parse(text)
		if err != nil {
			if len(key.parts) != 0 {
				t.Fatalf("%q: a key beside error %v", text, err)
			}
			return
		}
		checkKey(t, key)
	})
}

// checkKey checks what holds for every key.
func checkKey(t *testing.T, key Key) {
	t.Helper()
	if len(key.parts) == 0 || len(key.parts) > MaxParts {
		t.Fatalf("%d parts", len(key.parts))
	}
	size := 0
	for _, part := range key.parts {
		if err := checkText(part); err != nil {
			t.Fatalf("part %q: %v", part, err)
		}
		size += len(part)
	}
	if size > MaxBytes {
		t.Fatalf("%d bytes", size)
	}
	printed := key.String()
	again, err := Parse(printed)
	if err != nil || !slices.Equal(again.parts, key.parts) || again.String() != printed {
		t.Fatalf("%q prints %q, which parses as %q, %v", key.parts, printed, again.parts, err)
	}
}
