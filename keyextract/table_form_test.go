package keyextract

import "strings"

var (
	formID    = rule(fieldAt("id"))
	payloadID = rule(Source{Kind: KindFormJSON, Field: "payload", Path: "id"})
)

// formTable is source form, urlencoded.
var formTable = []extraction{
	{"field", formID, form("id=evt_1"), "evt_1"},
	{"among others", formID, form("a=1&id=evt_1&b=2"), "evt_1"},
	{"with a charset", formID, typed("application/x-www-form-urlencoded; charset=UTF-8", "id=x"), "x"},
	{"type in upper case", formID, typed("Application/X-WWW-Form-Urlencoded", "id=x"), "x"},
	{"plus is a space", formID, form("id=a+b"), "a%20b"},
	{"percent-encoded", formID, form("id=%C3%A9%26"), "%C3%A9%26"},
	{"raw UTF-8", formID, form("id=é"), "%C3%A9"},
	{"equals sign in the value", formID, form("id=a=b"), "a%3Db"},
	{"semicolon in the value", formID, form("id=a;id=b"), "a%3Bid%3Db"},
	{"encoded name", formID, form("i%64=x"), "x"},
	{"name with brackets", rule(fieldAt("data[id]")), form("type=a&data[id]=8a25&data%5Blist%5D=1"), "8a25"},
	{"brackets are part of another name", formID, form("id[]=a&id=x"), "x"},
	{"empty pairs", formID, form("&&id=x&"), "x"},
	{"line feed at the end", formID, form("id=x\n"), "! it holds a control character"},
	{"absent", formID, form("a=1"), `? the form has no "id"`},
	{"case matters", formID, form("ID=1"), `? the form has no "id"`},
	{"not in the query", formID, Input{Header: form("").Header, RawQuery: "id=1", Body: []byte("a=1")}, `? the form has no "id"`},
	{"empty body", formID, form(""), "? the body is empty"},
	{"empty body without a type", formID, Input{}, "? the body is empty"},
	{"empty value", formID, form("id=&a=1"), "! it is empty"},
	{"without equals sign", formID, form("id&a=1"), "! it is empty"},
	{"twice", formID, form("id=a&id=b"), `! the form holds "id" more than once`},
	{"twice, once encoded", formID, form("id=a&%69%64=b"), `! the form holds "id" more than once`},
	{"broken encoding", formID, form("id=%"), "! its percent-encoding is broken"},
	{"broken encoding in another value", formID, form("discount=100%&id=x"), "x"},
	{"broken encoding in another name", formID, form("100%=a&id=x"), "! the form holds a name whose percent-encoding is broken"},
	{"control character", formID, form("id=a%0Ab"), "! it holds a control character"},
	{"Latin-1", formID, form("id=%E9"), "! it is not valid UTF-8"},
	{"another charset", formID, typed("application/x-www-form-urlencoded; charset=windows-1252", "id=x"), "! the body is not in UTF-8 by its Content-Type"},
	{"JSON", formID, typed("application/json", `{"id":1}`), "! the body is no form by its Content-Type"},
	{"no type", formID, body("id=1"), "! the body is no form by its Content-Type"},
	{"too long", formID, form("id=" + long + "x"), "! the key is longer than 512 bytes altogether"},
	{"longest, encoded", formID, form("id=" + strings.Repeat("%78", MaxBytes)), long},
	{"as many pairs as n8n reads", formID, form(strings.Repeat("a=1&", 999) + "id=x"), "x"},
	{"more pairs than n8n reads", formID, form("id=x&" + strings.Repeat("a=1&", 1000)), "! the form has more than 1000 pairs"},
}

// multipartTable is source form, multipart.
var multipartTable = []extraction{
	{"field", formID, parts(field("id", "evt_1")), "evt_1"},
	{"among others", formID, parts(field("a", "1"), field("id", "evt_1"), file("f", "x")), "evt_1"},
	{"not decoded", formID, parts(field("id", "a+b%20c")), "a%2Bb%2520c"},
	{"UTF-8", formID, parts(field("id", "é")), "%C3%A9"},
	{"name without quotes", formID, parts("Content-Disposition: form-data; name=id||x"), "x"},
	{"header in lower case", formID, parts(`content-disposition: form-data; name="id"||x`), "x"},
	{"text with a type", formID, parts(`Content-Disposition: form-data; name="id"|Content-Type: text/plain||x`), "x"},
	{"eight bits", formID, parts(`Content-Disposition: form-data; name="id"|Content-Type: text/plain|Content-Transfer-Encoding: 8bit||x`), "x"},
	{"eight bits without a type", formID, parts(`Content-Disposition: form-data; name="id"|Content-Transfer-Encoding: 8bit||x`), "! the field is encoded for transfer"},
	{"Latin-1 by its encoding", formID, parts(`Content-Disposition: form-data; name="id"|Content-Transfer-Encoding: binary||x`), "! the field is encoded for transfer"},
	{"name with brackets", rule(fieldAt("a[b]")), parts(field("a[b]", "x"), field("a", "y")), "x"},
	{"preamble and epilogue", formID, typed("multipart/form-data; boundary=b", "preamble\r\n--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nx\r\n--b--\r\nepilogue"), "x"},
	{"boundary in quotes", formID, typed(`multipart/form-data; boundary="a b"`, "--a b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nx\r\n--a b--\r\n"), "x"},
	{"absent", formID, parts(field("a", "1")), `? the form has no "id"`},
	{"no parts", formID, parts(), `? the form has no "id"`},
	{"a file is no text", formID, parts(file("id", "x")), `? the form has no "id"`},
	{"a file of the same name", formID, parts(file("id", "x"), field("id", "y")), "y"},
	{"an empty file", formID, parts(`Content-Disposition: form-data; name="id"; filename=""|Content-Type: application/octet-stream||`), `? the form has no "id"`},
	{"a file without a type", formID, parts(`Content-Disposition: form-data; name="id"; filename="a"||x`), "! the field is a file without a type, which n8n reads as text"},
	{"another file without a type", formID, parts(`Content-Disposition: form-data; name="f"; filename="a"||x`, field("id", "x")), "x"},
	{"a name within a file's name", formID, parts(`Content-Disposition: form-data; filename="name=id"; name="f"|Content-Type: text/plain||x`), "! n8n reads the name of a part of the multipart form differently"},
	{"a space before the name", formID, parts(`Content-Disposition: form-data; name = "id"||x`), "! n8n reads the name of a part of the multipart form differently"},
	{"empty body", formID, typed("multipart/form-data; boundary=b", ""), "? the body is empty"},
	{"empty value", formID, parts(field("id", "")), "! it is empty"},
	{"twice", formID, parts(field("id", "a"), field("id", "a")), `! the form holds "id" more than once`},
	{"line breaks", formID, parts(field("id", "a|b")), "! it holds a control character"},
	{"Latin-1", formID, parts(field("id", "\xe9")), "! it is not valid UTF-8"},
	{"too long", formID, parts(field("id", long+"x")), "! the key is longer than 512 bytes altogether"},
	{"longest", formID, parts(field("id", long)), long},
	{"no boundary", formID, typed("multipart/form-data", "x"), "! the multipart form has no boundary"},
	{"another boundary", formID, typed("multipart/form-data; boundary=c", string(parts(field("id", "x")).Body)), "! the multipart form cannot be read"},
	{"cut short", formID, typed("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nx"), "! the multipart form cannot be read"},
	{"cut behind the field", formID, typed("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nx\r\n--b\r\n"), "! the multipart form cannot be read"},
	{"a part without a name", formID, parts("Content-Type: text/plain||x"), "! a part of the multipart form has 0 names"},
	{"a part with two names", formID, parts(`Content-Disposition: form-data; name="id"|Content-Disposition: form-data; name="a"||x`), "! a part of the multipart form has 2 names"},
	{"an unreadable name", formID, parts(`Content-Disposition: form-data; name="id"; name="a"||x`), "! the name of a part of the multipart form cannot be read"},
	{"an escaped name", formID, parts(`Content-Disposition: form-data; name="i\"d"||x`), "! n8n reads the name of a part of the multipart form differently"},
	{"an encoded name", formID, parts(`Content-Disposition: form-data; name*=utf-8''id||x`), "! n8n reads the name of a part of the multipart form differently"},
	{"another disposition", formID, parts(`Content-Disposition: attachment; name="id"||x`), "! the name of a part of the multipart form cannot be read"},
	{"encoded for transfer", formID, parts(`Content-Disposition: form-data; name="id"|Content-Transfer-Encoding: base64||eA==`), "! the field is encoded for transfer"},
	{"another field is encoded for transfer", formID, parts(`Content-Disposition: form-data; name="a"|Content-Transfer-Encoding: quoted-printable||=78`, field("id", "x")), "x"},
	{"another multipart type", formID, typed("multipart/mixed; boundary=b", string(parts(field("id", "x")).Body)), "! the body is no form by its Content-Type"},
	{"too many parts", formID, parts(append(repeated(field("a", "1"), 1000), field("id", "x"))...), "! the multipart form has more than 1000 parts"},
	{"as many parts as n8n reads", formID, parts(append(repeated(field("a", "1"), 999), field("id", "x"))...), "x"},
}

// formJSONTable is source form_json.
var formJSONTable = []extraction{
	{"member", payloadID, form("payload=%7B%22id%22%3A%22evt_1%22%7D"), "evt_1"},
	{"raw", payloadID, form(`a=1&payload={"id":7}`), "7"},
	{"integer keeps its digits", payloadID, form(`payload={"id":12345678901234567890}`), "12345678901234567890"},
	{"plus is a space", payloadID, form(`payload={"id":+"a"}`), "a"},
	{"nested", rule(Source{Kind: KindFormJSON, Field: "p", Path: "user.id"}), form(`p={"user":{"id":"U1"}}`), "U1"},
	{"multipart", payloadID, parts(field("payload", `{"id":"x"}`)), "x"},
	{"multipart, longer than a key", payloadID, parts(field("payload", `{"a":"`+long+`","id":"x"}`)), "x"},
	{"longer than a key", payloadID, form(`payload={"a":"` + long + `","id":"x"}`), "x"},
	{"absent field", payloadID, form("a=1"), `? the form has no "payload"`},
	{"absent member", payloadID, form(`payload={}`), `? the field has no member "id" there`},
	{"empty body", payloadID, form(""), "? the body is empty"},
	{"empty field", payloadID, form("payload="), "! the field is not valid JSON"},
	{"no JSON", payloadID, form("payload=x"), "! the field is not valid JSON"},
	{"two texts", payloadID, form("payload={}{}"), "! the field is not valid JSON"},
	{"field twice", payloadID, form(`payload={"id":1}&payload={"id":1}`), `! the form holds "payload" more than once`},
	{"member twice", payloadID, form(`payload={"id":1,"id":1}`), `! an object names the member "id" twice`},
	{"byte order mark", payloadID, form("payload=\xef\xbb\xbf{}"), "! the field begins with a byte order mark"},
	{"invalid UTF-8", payloadID, form(`payload={"id":"%FF"}`), "! the field is not valid UTF-8"},
	{"too deep", payloadID, form("payload=" + strings.Repeat("[", 2000)), "! the field is nested deeper than 1000 levels"},
	{"null", payloadID, form(`payload={"id":null}`), "! it is null, not a string or an integer"},
	{"fraction", payloadID, form(`payload={"id":1.5}`), "! it is a number with a fraction or an exponent"},
	{"string as field", payloadID, form(`payload="id"`), "! the field is a string, which has no members"},
	{"JSON body", payloadID, typed("application/json", `{"payload":{"id":1}}`), "! the body is no form by its Content-Type"},
}

// file is a file of a multipart form.
func file(name, content string) string {
	return `Content-Disposition: form-data; name="` + name + `"; filename="C:\\a.txt"|Content-Type: text/plain||` + content
}

func repeated(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}
