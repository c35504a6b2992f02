package keyextract

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
)

// generator makes bodies, valid ones and ones with the faults that readers of
// JSON treat differently. Its seed is fixed, so that a failure repeats.
type generator struct {
	*rand.Rand
	faults int // one in so many values has one; 0: none
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 1)), faults: 60}
}

func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) fault() bool { return g.faults > 0 && g.IntN(g.faults) == 0 }

// json is a text in which the path id, order.id or items.0.id that begins with
// that name often leads to something.
func (g *generator) json(name string) []byte {
	if g.IntN(5) == 0 {
		name = g.pick("id", "order", "items", "")
	}
	text := g.space() + g.object(3, name) + g.space()
	switch g.IntN(8) {
	case 0:
		text = g.space() + g.value(3) + g.space()
	case 1:
		text = "[" + g.object(2, "id") + "]"
	}
	if g.faults == 0 {
		return []byte(text)
	}
	b := []byte(text)
	switch g.IntN(40) {
	case 0:
		b = append([]byte("\xef\xbb\xbf"), b...)
	case 1:
		b = append(b, g.pick("x", "}", "{}", ",", "\x00", "//")...)
	case 2:
		b = b[:g.IntN(len(b)+1)]
	case 3, 4:
		if len(b) > 0 {
			b[g.IntN(len(b))] = byte(g.IntN(256))
		}
	case 5:
		depth := g.IntN(3 * maxDepth)
		b = []byte(nested(depth, text))
	case 6:
		i, j := g.IntN(len(b)+1), g.IntN(len(b)+1)
		b = append(b[:min(i, j)], b[max(i, j):]...)
	}
	return b
}

func (g *generator) space() string {
	if g.IntN(3) > 0 {
		return ""
	}
	if g.fault() {
		return g.pick("\u00a0", "\v", "\ufeff", "/**/")
	}
	return g.pick(" ", "\n", "\t", "\r\n", "  ")
}

func (g *generator) value(depth int) string {
	if g.fault() {
		return g.pick("", "True", "nul", "NaN", "Infinity", "undefined", "'a'", "a", ".5", "1.", "01", "+1", "-", "0x10", "1e", "1e+", "--1", "1_000", "{", "]")
	}
	switch n := g.IntN(12); {
	case n < 4:
		return g.string()
	case n < 7:
		return g.number()
	case n < 8:
		return g.pick("null", "true", "false")
	case depth == 0:
		return `"leaf"`
	case n < 10:
		return g.object(depth-1, "")
	}
	elements := make([]string, g.pick("0", "1", "1", "2")[0]-'0')
	for i := range elements {
		elements[i] = g.space() + g.value(depth-1) + g.space()
	}
	text := "[" + strings.Join(elements, ",")
	if g.fault() {
		text += ","
	}
	return text + "]"
}

// object has a member of that name, if one is given.
func (g *generator) object(depth int, name string) string {
	var members []string
	add := func(name, value string) {
		members = append(members, g.space()+name+g.space()+":"+g.space()+value+g.space())
	}
	switch name {
	case "id":
		add(g.pick(`"id"`, `"id"`, `"i\u0064"`), g.pick(g.string(), g.number(), g.value(0)))
	case "order":
		add(`"order"`, g.object(0, "id"))
	case "items":
		items := g.space() + g.object(0, "id")
		if g.IntN(4) == 0 {
			items += "," + g.object(0, "id")
		}
		add(`"items"`, "["+items+"]")
	}
	seen := map[string]bool{"id": true}
	for range g.IntN(4) {
		name := g.pick("id", "a", "b", "order", "é", "a.b", "", "0", "__proto__", "length", "\ue000", "😀", "12345678", "123456789")
		if seen[name] && !g.fault() {
			continue
		}
		seen[name] = true
		add(g.spelled(name), g.value(depth))
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	text := strings.Join(members, ",")
	if g.fault() {
		text += ","
	}
	return "{" + text + g.space() + "}"
}

func (g *generator) string() string {
	text := ""
	for range g.IntN(5) {
		text += g.pick("a", "evt_1", "Z", " ", "é", "€", "😀", "\u2028", "\ufffd", "\x7f", "\u0085", "\n", "\x00", "\"", "\\", "/", "\t", "0", "17")
	}
	if g.IntN(3) > 0 {
		text = g.pick("evt_1", "17", "abc", "é", "a/b", "😀", "\"q\"")
	}
	spelled := g.spelled(text)
	if g.fault() {
		spelled = spelled[:len(spelled)-1] + g.pick(`\ud800`, `\udc00x`, `\ude00\ud83d`, `\x41`, `\u12`, "\n", "\x01", "\xff", "\xc0\xaf", "\xed\xa0\x80", `\`, `\uD83D\uDE00`) + `"`
	}
	return spelled
}

// spelled is text as a JSON string in one of its many spellings.
func (g *generator) spelled(text string) string {
	var b strings.Builder
	escapeAll := g.IntN(6) == 0
	for _, r := range text {
		switch {
		case r >= 0x10000 && (escapeAll || g.IntN(3) == 0):
			r -= 0x10000
			fmt.Fprintf(&b, g.pick(`\u%04x\u%04x`, `\u%04X\u%04X`), 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r == '"' || r == '\\' || r == '/' && escapeAll:
			b.WriteString(`\` + string(r))
		case r < ' ' || r < 0x10000 && escapeAll:
			if short := strings.IndexRune("\b\f\n\r\t", r); short >= 0 && g.IntN(2) == 0 {
				b.WriteString(`\` + "bfnrt"[short:short+1])
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func (g *generator) number() string {
	sign := g.pick("", "", "", "-")
	switch g.IntN(8) {
	case 0, 1, 2:
		return sign + fmt.Sprint(g.IntN(100))
	case 3:
		return sign + fmt.Sprint(g.Uint64())
	case 4:
		return sign + "1" + strings.Repeat(g.pick("0", "3", "9"), g.IntN(30))
	case 5:
		return sign + g.pick("0", "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740995", strings.Repeat("9", 320))
	case 6:
		return sign + g.pick("1.0", "1.50", "0.1", "1e3", "1E+2", "1.5e-9", "0.000001", "0.0000001", "0.0", "123456789012345.6", "1e21", "1e400", "1e-400")
	}
	return sign + fmt.Sprintf("%.*g", 1+g.IntN(17), g.ExpFloat64()*float64(g.Uint32()))
}

// respelled is a valid JSON text in another order, spacing and spelling.
func (g *generator) respelled(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return g.space() + g.respell(value) + g.space()
}

func (g *generator) respell(value any) string {
	var parts []string
	switch v := value.(type) {
	case string:
		return g.spelled(v)
	case json.Number:
		if len(v) < 5 && !strings.ContainsAny(string(v), ".eE") {
			return string(v) + g.pick("", ".0", ".00", "e0", "E+0")
		}
		return string(v)
	case []any:
		for _, element := range v {
			parts = append(parts, g.space()+g.respell(element)+g.space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, g.space()+g.spelled(name)+g.space()+":"+g.space()+g.respell(v[name])+g.space())
		}
		g.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		return "{" + strings.Join(parts, ",") + "}"
	}
	word, _ := json.Marshal(value)
	return string(word)
}

// form is an urlencoded form or a query.
func (g *generator) form() []byte {
	var pairs []string
	for range g.IntN(5) {
		name := g.pick("id", "a", "i%64", "a[id]", "i+d", "é", "%C3%A9", "ID", "", "b", "c", "id;a", "%zz")
		pair := name + g.pick("=", "=", "=", "==", "") + g.pick("a", "evt_1", "a+b", "a%20b", "%C3%A9", "é", "%2B%26", "a;b", "a=b", "x", "%4", "%zz", "", "%00", "%FF", "\xff")
		pairs = append(pairs, pair)
	}
	return []byte(strings.Join(pairs, g.pick("&", "&", "&&", ";")))
}

// compressed is a compressed text, often damaged.
func (g *generator) compressed() (encoding string, body []byte) {
	var b bytes.Buffer
	write := func(w io.WriteCloser) {
		_, _ = io.WriteString(w, url.QueryEscape(strings.Repeat(g.string(), 1+g.IntN(20))))
		_ = w.Close()
	}
	encoding = g.pick("gzip", "deflate")
	if encoding == "gzip" {
		write(gzip.NewWriter(&b))
		if g.IntN(8) == 0 {
			write(gzip.NewWriter(&b))
		}
	} else {
		write(zlib.NewWriter(&b))
	}
	body = b.Bytes()
	switch g.IntN(5) {
	case 0:
		body[g.IntN(len(body))] ^= 1 << g.IntN(8)
	case 1:
		body = body[:g.IntN(len(body)+1)]
	case 2:
		body = append(body, g.pick("x", "\x00", "\x00\x00\x00\x00", "\x1f\x8b", "\x78\x9c")...)
	}
	return encoding, body
}
