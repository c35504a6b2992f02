package keyextract

import (
	"net/http"
	"strings"
)

// headerTable is source header.
var headerTable = []extraction{
	{"header", eventHeader, xEvent("evt_1"), "evt_1"},
	{"header named in lower case", rule(headerAt("x-event")), xEvent("evt_1"), "evt_1"},
	{"header needs no body", eventHeader, with(xEvent("a"), "no json"), "a"},
	{"header with spaces around", eventHeader, xEvent(" \ta "), "a"},
	{"header with a comma", eventHeader, xEvent("a, b"), "a%2C%20b"},
	{"header in UTF-8", eventHeader, xEvent("é"), "%C3%A9"},
	{"header like a number", eventHeader, xEvent("1.0"), "1.0"},
	{"absent header", eventHeader, Input{Header: http.Header{"X-Other": {"a"}}}, "? the header is absent"},
	{"no headers", eventHeader, Input{}, "? the header is absent"},
	{"empty header", eventHeader, xEvent(""), "! it is empty"},
	{"blank header", eventHeader, xEvent("  "), "! it is empty"},
	{"header twice", eventHeader, xEvent("a", "b"), "! the header is there 2 times"},
	{"header twice alike", eventHeader, xEvent("a", "a"), "! the header is there 2 times"},
	{"header with a tab", eventHeader, xEvent("a\tb"), "! it holds a control character"},
	{"header in Latin-1", eventHeader, xEvent("\xe9"), "! it is not valid UTF-8"},
	{"header too long", eventHeader, xEvent(long + "x"), "! the key is longer than 512 bytes altogether"},
}

var queryID = rule(queryAt("id"))

// queryTable is source query, as qs reads it for n8n.
var queryTable = []extraction{
	{"parameter", queryID, query("id=evt_1"), "evt_1"},
	{"among others", queryID, query("a=1&id=evt_1&b=2"), "evt_1"},
	{"plus is a space", queryID, query("id=a+b"), "a%20b"},
	{"percent-encoded", queryID, query("id=a%2Bb%26c"), "a%2Bb%26c"},
	{"decoded once", queryID, query("id=%2541"), "%2541"},
	{"UTF-8", queryID, query("id=%C3%A9"), "%C3%A9"},
	{"raw UTF-8", queryID, query("id=é"), "%C3%A9"},
	{"equals sign in the value", queryID, query("id=a=b"), "a%3Db"},
	{"semicolon in the value", queryID, query("id=a;b"), "a%3Bb"},
	{"semicolon separates nothing", queryID, query("a=1;id=x"), `? the query has no "id"`},
	{"encoded name", queryID, query("%69d=x"), "x"},
	{"name with a dot", rule(queryAt("data.id")), query("data.id=5&type=payment"), "5"},
	{"name beyond ASCII", rule(queryAt("é")), query("%C3%A9=5"), "5"},
	{"empty pairs", queryID, query("&&id=x&"), "x"},
	{"brackets in the value", queryID, query("id=[1]"), "%5B1%5D"},
	{"brackets in another name", queryID, query("a[id]=1&id=x&ids[]=2"), "x"},
	{"case matters", queryID, query("ID=x"), `? the query has no "id"`},
	{"no query", queryID, Input{}, `? the query has no "id"`},
	{"absent", queryID, query("a=1"), `? the query has no "id"`},
	{"not in the body", queryID, form("id=1"), `? the query has no "id"`},
	{"empty", queryID, query("id="), "! it is empty"},
	{"without equals sign", queryID, query("id"), "! it is empty"},
	{"twice", queryID, query("id=a&id=b"), `! the query holds "id" more than once`},
	{"twice alike", queryID, query("id=a&id=a"), `! the query holds "id" more than once`},
	{"twice, once encoded", queryID, query("id=a&%69d=a"), `! the query holds "id" more than once`},
	{"as an array", queryID, query("id[]=a"), `! the query holds "id" in a form that n8n reads as nested`},
	{"as an object", queryID, query("id[x]=a"), `! the query holds "id" in a form that n8n reads as nested`},
	{"as an array beside", queryID, query("id=a&id[]=b"), `! the query holds "id" in a form that n8n reads as nested`},
	{"as an encoded array", queryID, query("id=a&id%5B%5D=b"), `! the query holds "id" in a form that n8n reads as nested`},
	{"name in brackets", queryID, query("id=a&[id]=b"), `! the query holds "id" in a form that n8n reads as nested`},
	{"name before a bracket", queryID, query("id]=b"), `! the query holds "id" in a form that n8n reads as nested`},
	{"qs cuts at the bracket", queryID, query("id=a]=b"), `! the query holds "id" in a form that n8n reads as nested`},
	{"qs may cut at the encoded bracket", queryID, query("id=a%5D=b"), `! the query holds "id" in a form that n8n reads as nested`},
	{"broken encoding", queryID, query("id=a%zz"), "! its percent-encoding is broken"},
	{"cut encoding", queryID, query("id=a%4"), "! its percent-encoding is broken"},
	{"broken encoding in another value", queryID, query("a=%zz&id=x"), "x"},
	{"broken encoding in another name", queryID, query("%zz=1&id=x"), "! the query holds a name whose percent-encoding is broken"},
	{"control character", queryID, query("id=a%00"), "! it holds a control character"},
	{"Latin-1", queryID, query("id=%E9"), "! it is not valid UTF-8"},
	{"too long", queryID, query("id=" + long + "x"), "! the key is longer than 512 bytes altogether"},
	{"as many pairs as n8n reads", queryID, query(strings.Repeat("a=1&", 999) + "id=x"), "x"},
	{"more pairs than n8n reads", queryID, query(strings.Repeat("a=1&", 1000) + "id=x"), "! the query has more than 1000 pairs"},
}

// hashTable is sources body_sha256 and canonical_json.
var hashTable = []extraction{
	{"body", rule(bodyHash), body("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"body is no text", rule(bodyHash), body("\x00\xff"), "06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8"},
	{"white space matters to the bytes", rule(bodyHash), body("[1, 2]"), "3a316d6d3226f84c1e46e4447fa8d5fd800bff4a1bc6498152523cd4a602b69b"},
	{"body of any charset", rule(bodyHash), typed("text/plain; charset=latin1", "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"empty body", rule(bodyHash), Input{}, "? the body is empty"},
	{"canonical", rule(canonicalHash()), body(`{"a":2,"b":1}`), "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772"},
	{"canonical, in another spelling", rule(canonicalHash()), body(` { "b" : 1.0, "\u0061" : 2 } `), "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772"},
	{"canonical scalar", rule(canonicalHash()), body(`1`), "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"},
	{"canonical, long integer", rule(canonicalHash()), body(`9007199254740993`), "a1c367c29158357e62a3ff5d3e800fb7698a22396439dbc0a9d4929322afd35d"},
	{"canonical, its neighbour", rule(canonicalHash()), body(`9007199254740992`), "c681da39d7273a6a24c15c9cac3a75526ff2ecf8ba4ee60346a0c70c8163bdb2"},
	{"canonical, empty body", rule(canonicalHash()), Input{}, "? the body is empty"},
	{"canonical, no JSON", rule(canonicalHash()), body(`a=1`), "! the body is not valid JSON"},
	{"canonical, not UTF-8 by its type", rule(canonicalHash()), typed("application/json; charset=latin1", `1`), "! the body is not in UTF-8 by its Content-Type"},
	{"canonical, duplicate anywhere", rule(canonicalHash()), body(`{"a":[{"b":1,"b":1}]}`), "! the body has no canonical form: an object has two members of one name"},
	{"canonical, lone surrogate anywhere", rule(canonicalHash()), body(`["\ud800"]`), "! the body has no canonical form: it holds half of a surrogate pair"},
	{"canonical, huge number", rule(canonicalHash()), body(`[1e999]`), "! the body has no canonical form: a number is too large for a float64"},
	{"members", rule(canonicalHash("a", "b")), body(`{"b":1, "a":2.0,"c":3}`), "af1a1fc110b6094c48582b0ef83553cb7908d7a4365424eef28e76ef6c88d630"},
	{"members in the other order", rule(canonicalHash("b", "a")), body(`{"b":1, "a":2.0}`), "49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684"},
	{"members with others changed", rule(canonicalHash("a", "b")), body(`{"c":4,"b":1,"a":2,"d":{"e":1,"e":2}}`), "af1a1fc110b6094c48582b0ef83553cb7908d7a4365424eef28e76ef6c88d630"},
	{"members of any type", rule(canonicalHash("a", "b.c")), body(`{"a":null,"b":{"c":{"y":[],"x":false}}}`), "3b6f8b47c686a58bb11d81faf38dd79aeb99c8fc0b7c9c3dc3de4b2de17a9154"},
	{"members, one absent", rule(canonicalHash("a", "b")), body(`{"a":1}`), `~ the body has no member "b" there`},
	{"members, all absent", rule(canonicalHash("a", "b")), body(`{}`), `? the body has no member "a" there`},
	{"members, empty body", rule(canonicalHash("a")), body(""), "? the body is empty"},
	{"members, one twice", rule(canonicalHash("a")), body(`{"a":1,"a":1}`), `! an object names the member "a" twice`},
	{"members, duplicate within", rule(canonicalHash("a")), body(`{"a":{"b":1,"b":2}}`), "! the member a has no canonical form: an object has two members of one name"},
	{"members of a batch", rule(canonicalHash("0.id")), body(`[{"id":1},{"id":2}]`), "! index 0 points into an array of more than one element, a batch"},
}

var bodyHash = Source{Kind: KindBodySHA256}

func canonicalHash(paths ...string) Source { return Source{Kind: KindCanonicalJSON, Paths: paths} }

// partsTable is rules of several parts.
var partsTable = []extraction{
	{"two parts", both, with(xEvent("paid"), `{"order":{"id":17}}`), "paid:17"},
	{"order of parts", rule(jsonAt("order.id"), headerAt("X-Event")), with(xEvent("paid"), `{"order":{"id":17}}`), "17:paid"},
	{"one part twice", rule(jsonAt("id"), jsonAt("id")), body(`{"id":"a"}`), "a:a"},
	{"first missing", both, body(`{"order":{"id":17}}`), "~ part 1 (header X-Event): the header is absent"},
	{"second missing", both, with(xEvent("paid"), `{}`), `~ part 2 (json order.id): the body has no member "order" there`},
	{"both missing names the first", both, Input{}, "? part 1 (header X-Event): the header is absent"},
	{"malformed outweighs missing", both, body(`{"order":{"id":null}}`), "! part 2 (json order.id): it is null, not a string or an integer"},
	{"broken body outweighs a missing header", both, body(`{`), "! part 2 (json order.id): the body is not valid JSON"},
	{"longest altogether", both, with(xEvent(long[2:]), `{"order":{"id":17}}`), long[2:] + ":17"},
	{"too long altogether", both, with(xEvent(long[1:]), `{"order":{"id":17}}`), "! part 2 (json order.id): the key is longer than 512 bytes altogether"},
	{"literal behind", rule(jsonAt("id"), literal("created")), body(`{"id":1}`), "1:created"},
	{"literal in front", rule(literal("a:b"), jsonAt("id")), body(`{"id":1}`), "a%3Ab:1"},
	{"literal with spaces", rule(literal(" é "), jsonAt("id")), body(`{"id":1}`), "%20%C3%A9%20:1"},
	{"literals do not count as there", rule(literal("a"), jsonAt("id"), literal("b")), body(`{}`), `? part 2 (json id): the body has no member "id" there`},
	{"literals do not hide what is malformed", rule(literal("a"), jsonAt("id")), body(`{"id":null}`), "! part 2 (json id): it is null, not a string or an integer"},
	{"literals count for the length", rule(literal("ab"), jsonAt("id")), body(`{"id":"` + long[1:] + `"}`), "! part 2 (json id): the key is longer than 512 bytes altogether"},
	{"all sources at once", rule(headerAt("X-Event"), queryAt("q"), literal("l"), jsonAt("id")), Input{Header: http.Header{"X-Event": {"h"}}, RawQuery: "q=q", Body: []byte(`{"id":1}`)}, "h:q:l:1"},
	{"form and query", rule(fieldAt("id"), queryAt("id")), Input{Header: form("").Header, RawQuery: "id=q", Body: []byte("id=f")}, "f:q"},
	{"form there, query not", rule(fieldAt("id"), queryAt("id")), form("id=f"), `~ part 2 (query id): the query has no "id"`},
	{"query twice, header missing", rule(headerAt("X-Event"), queryAt("id")), query("id=1&id=2"), `! part 2 (query id): the query holds "id" more than once`},
	{"a member there, the other not", rule(jsonAt("id"), jsonAt("type")), body(`{"type":"x"}`), `~ part 1 (json id): the body has no member "id" there`},
	{"hash of a part of the members, header missing", rule(headerAt("X-Event"), canonicalHash("a", "b")), body(`{"a":1}`), "~ part 1 (header X-Event): the header is absent"},
	{"hash of none of the members, header missing", rule(headerAt("X-Event"), canonicalHash("a", "b")), body(`{}`), "? part 1 (header X-Event): the header is absent"},
	{"json of a form", rule(jsonAt("id"), fieldAt("id")), form("id=1"), "! part 1 (json id): the body is not valid JSON"},
	{"form of JSON", rule(jsonAt("id"), fieldAt("id")), typed("application/json", `{"id":1}`), "! part 2 (form id): the body is no form by its Content-Type"},
}

// segmentsTable is segments of the path that wildcards matched.
var segmentsTable = []extraction{
	{"one", id, segments(body(`{"id":1}`), "acme"), "acme:1"},
	{"two", id, segments(body(`{"id":1}`), "acme", "eu"), "acme:eu:1"},
	{"encoded when printed", id, segments(body(`{"id":1}`), "a:b/c é"), "a%3Ab%2Fc%20%C3%A9:1"},
	{"before a literal alone", rule(literal("created")), segments(Input{}, "42"), "42:created"},
	{"seven and one part", id, segments(body(`{"id":1}`), "a", "b", "c", "d", "e", "f", "g"), "a:b:c:d:e:f:g:1"},
	{"do not count as there", id, segments(Input{}, "acme"), "? the body is empty"},
	{"empty", id, segments(body(`{"id":1}`), ""), "! path segment 1: it is empty"},
	{"control character", id, segments(body(`{"id":1}`), "a", "b\n"), "! path segment 2: it holds a control character"},
	{"not UTF-8", id, segments(body(`{"id":1}`), "\xff"), "! path segment 1: it is not valid UTF-8"},
	{"malformed outweighs a missing part", id, segments(Input{}, "\xff"), "! path segment 1: it is not valid UTF-8"},
	{"too long", id, segments(body(`{"id":1}`), long+"x"), "! path segment 1: the key is longer than 512 bytes altogether"},
	{"too long with the rest", id, segments(body(`{"id":1}`), long), "! the key is longer than 512 bytes altogether"},
	{"longest with the rest", id, segments(body(`{"id":1}`), long[1:]), long[1:] + ":1"},
}

func segments(in Input, segments ...string) Input { in.Segments = segments; return in }
