package keyextract

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func canonical(text string) (string, error) {
	var out bytes.Buffer
	err := writeCanonical(&out, []byte(text))
	return out.String(), err
}

// The vectors of RFC 8785 (sections 3.2.2 to 3.2.4) and of its author's
// reference implementation, github.com/cyberphone/json-canonicalization.
func TestCanonicalVectors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"RFC 8785, 3.2.2", `{
			"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
			"literals": [null, true, false]
		}`, `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{"RFC 8785, 3.2.3", `{
			"\u20ac": "Euro Sign",
			"\r": "Carriage Return",
			"\ufb33": "Hebrew Letter Dalet With Dagesh",
			"1": "One",
			"\ud83d\ude00": "Emoji: Grinning Face",
			"\u0080": "Control",
			"\u00f6": "Latin Small Letter O With Diaeresis"
		}`, `{"\r":"Carriage Return","1":"One",` + "\"\u0080\"" + `:"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face",` + "\"\ufb33\"" + `:"Hebrew Letter Dalet With Dagesh"}`},
		{"arrays", "[\n  56,\n  {\n    \"d\": true,\n    \"10\": null,\n    \"1\": [ ]\n  }\n]", `[56,{"1":[],"10":null,"d":true}]`},
		{"french", `{"peach": "This sorting order", "péché": "is wrong according to French", "pêche": "but canonicalization MUST", "sin":   "ingnore locale"}`,
			`{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ingnore locale"}`},
		{"simpleString", `    "this is a test string 1235"`, `"this is a test string 1235"`},
		{"structures", `{"1": {"f": {"f": "hi","F": 5} ,"\n": 56.0}, "10": { }, "": "empty", "a": { }, "111": [ { } ], "A": { }}`,
			`{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{}],"A":{},"a":{}}`},
		{"unicode", `{"Unnormalized Unicode":"A\u030a"}`, "{\"Unnormalized Unicode\":\"A\u030a\"}"},
		{"values", `{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{"weird", `{"\u20ac": "Euro Sign", "1": "One", "\u0080": "Control\u007f", "\ud83d\ude02": "Smiley", "\u00f6": "Latin Small Letter O With Diaeresis", "\ufb33": "Hebrew Letter Dalet With Dagesh", "</script>": "Browser Challenge"}`,
			`{"1":"One","</script>":"Browser Challenge",` + "\"\u0080\":\"Control\u007f\"" + `,"ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😂":"Smiley",` + "\"\ufb33\"" + `:"Hebrew Letter Dalet With Dagesh"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := canonical(tt.text); err != nil || got != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// RFC 8785, appendix B. Each float64 is written with an exponent, as no integer.
func TestCanonicalNumbers(t *testing.T) {
	for _, tt := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		text := strconv.FormatFloat(math.Float64frombits(tt.bits), 'e', -1, 64)
		if got, err := canonical(text); err != nil || got != tt.want {
			t.Errorf("%016x (%s): got %s, %v, want %s", tt.bits, text, got, err, tt.want)
		}
	}
}

// What differs from the scheme, and spellings of one number.
func TestCanonicalOwnNumbers(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"9007199254740993", "9007199254740993"}, // 9007199254740992 in the scheme
		{"12345678901234567890", "12345678901234567890"},
		{"12345678901234567891", "12345678901234567891"},
		{"1000000000000000000000", "1000000000000000000000"}, // 1e+21 in the scheme
		{strings.Repeat("9", 400), strings.Repeat("9", 400)}, // none in the scheme
		{"-17", "-17"}, {"0", "0"}, {"-0", "0"}, {"-0.0", "0"}, {"0.0", "0"}, {"0e5", "0"}, {"-0E-5", "0"},
		{"1.0", "1"}, {"1.50", "1.5"}, {"100.00", "100"}, {"-2.500", "-2.5"}, {"1e2", "100"}, {"1.5E+1", "15"},
		{"0.1", "0.1"}, {"0.10000000000000000001", "0.1"}, {"0.000001", "0.000001"}, {"0.0000001", "1e-7"}, {"0.00000010", "1e-7"},
		{"123456789012345.6", "123456789012345.6"}, {"1234567890.123456789", "1234567890.1234567"},
		{"9007199254740993.0", "9007199254740992"}, {"1e-400", "0"},
	} {
		if got, err := canonical(tt.text); err != nil || got != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, tt := range []struct {
		text string
		want error
	}{
		{"", errNotJSON}, {" ", errNotJSON}, {"{", errNotJSON}, {"}", errNotJSON}, {"[}", errNotJSON}, {"{]", errNotJSON}, {"[1", errNotJSON},
		{"[1,]", errNotJSON}, {"[,1]", errNotJSON}, {"[1 2]", errNotJSON}, {"{\"a\"}", errNotJSON}, {"{\"a\":}", errNotJSON}, {"{\"a\":1,}", errNotJSON},
		{"{a:1}", errNotJSON}, {"{\"a\" 1}", errNotJSON}, {"{\"a\":1 \"b\":2}", errNotJSON}, {"{1:2}", errNotJSON}, {"{,}", errNotJSON}, {"[]]", errNotJSON},
		{"[] x", errNotJSON}, {"1 2", errNotJSON}, {"tru", errNotJSON}, {"truex", errNotJSON}, {"[nul]", errNotJSON}, {"x", errNotJSON}, {"True", errNotJSON},
		{"01", errNotJSON}, {"-", errNotJSON}, {"+1", errNotJSON}, {"1.", errNotJSON}, {".5", errNotJSON}, {"1e", errNotJSON}, {"1e+", errNotJSON}, {"-01", errNotJSON}, {"0x1", errNotJSON}, {"NaN", errNotJSON},
		{"\"", errNotJSON}, {"\"a", errNotJSON}, {"\"\\\"", errNotJSON}, {"\"\n\"", errNotJSON}, {"\"abcdefgh\x1f\"", errNotJSON}, {"'a'", errNotJSON},
		{`"\x"`, errEscape}, {`"\u12"`, errEscape}, {`"\u12g4"`, errEscape}, {`"\ud83d\u123x"`, errEscape}, {"\"\\\n\"", errEscape}, {`{"\x":1}`, errEscape},
		{`"\ud83d"`, errSurrogate}, {`"\ude00"`, errSurrogate}, {`{"\ud83d":1}`, errSurrogate}, {`["\ud83dx\ude00"]`, errSurrogate},
		{"\"\xff\"", errNotUTF8}, {"\"\xed\xa0\x80\"", errNotUTF8}, {"\xef\xbb\xbf1", errNotJSON}, {"\x00", errNotJSON},
		{`{"a":1,"a":2}`, errDuplicateName}, {`{"a":1,"b":0,"\u0061":1}`, errDuplicateName}, {`[{"b":{"":1,"":1}}]`, errDuplicateName},
		{`{"123456789":1,"12345678":1,"123456789":1}`, errDuplicateName},
		{"1e400", errHugeNumber}, {`{"a":[-1.5e309]}`, errHugeNumber},
		{strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), errDeep},
	} {
		if got, err := canonical(tt.text); !errors.Is(err, tt.want) {
			t.Errorf("%.40q: got %.40s, %v, want %v", tt.text, got, err, tt.want)
		}
	}
	deepest := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if got, err := canonical(deepest); err != nil || got != deepest {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
}

// Many members, so that both ways of sorting are used, and names that differ
// late, by length and by UTF-16 order.
func TestCanonicalSorts(t *testing.T) {
	names := []string{"", "1", "12345678", "123456789", "1234567890", "12345678\ue000", "a", "b", "é", "€", "😀", "😀a", "\ue000", "\uffff"}
	var sorted, reversed []string
	for _, name := range names {
		if name == "😀" { // behind all two-byte characters below the surrogates
			for i := range 40 {
				sorted = append(sorted, fmt.Sprintf(`"中%02d":%d`, i, i))
			}
		}
		sorted = append(sorted, fmt.Sprintf("%q:0", name))
	}
	for i := range sorted {
		sorted[i] = strings.ReplaceAll(strings.ReplaceAll(sorted[i], `\ue000`, "\ue000"), `\uffff`, "\uffff")
		reversed = append([]string{sorted[i]}, reversed...)
	}
	for _, n := range []int{len(sorted), 12} {
		want := "{" + strings.Join(sorted[:n], ",") + "}"
		if got, err := canonical("{" + strings.Join(reversed[len(sorted)-n:], " , ") + "}"); err != nil || got != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

// FuzzCanonical compares with jsontext, which is far slower and whose error
// messages differ: both refuse or both give the same.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.50,-0,1e3,"\u00e9\/\n"],"a":{"d":null,"c":true}}`, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `"\ud83d\ude00"`, `"\ud83d"`,
		`[12345678901234567890,1.7976931348623157e308,1e400,5e-324,0.0000001]`, "{\"\ue000\":1,\"😀\":2}", `{"12345678b":1,"12345678a":2}`,
		"", "[", `{"a":[{}]}`, "\"\xff\"", "[1,]", `{"a" : "b" , "c":"\"" }`, "true", "-",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if tooDeep(text) {
			return // ours is the lower limit
		}
		var got bytes.Buffer
		err := writeCanonical(&got, text)
		want := jsontext.Value(bytes.Clone(text))
		wantErr := want.Canonicalize(jsontext.CanonicalizeRawInts(false))
		if errors.Is(err, errHugeNumber) {
			return // jsontext gives the largest float64
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, but jsontext says %v", text, err, wantErr)
		}
		if err != nil {
			return
		}
		if got.String() != string(want) {
			t.Fatalf("%q: got %s, jsontext gives %s", text, got.Bytes(), want)
		}
		if again, err := canonical(got.String()); err != nil || again != got.String() {
			t.Fatalf("%q: %s becomes %s, %v", text, got.Bytes(), again, err)
		}
		if checkJSON("it", text) != nil {
			t.Fatalf("%q has a form, but is refused as a body", text)
		}
	})
}
