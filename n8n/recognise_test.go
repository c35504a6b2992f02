package n8n

import (
	"net/http"
	"strings"
	"testing"
)

func TestClass(t *testing.T) {
	want := map[Class]string{Refused: "refused", Rejected: "rejected", Filtered: "filtered", NoData: "no_data", Doubtful: "doubtful", 0: "class 0"}
	for class, name := range want {
		if class.String() != name {
			t.Errorf("%d = %q, want %q", class, class, name)
		}
	}
}

// What is not one of n8n's answers, or echoes another request, is none.
func TestRecogniseNothing(t *testing.T) {
	for _, e := range []Exchange{
		{},
		{Status: 200, Header: http.Header{}},
		{Status: 204, Header: header()},
		ofJSON(200, `{"message":"Workflow was started"}`),
		ofJSON(404, `null`),
		ofJSON(404, `{`),
		ofJSON(404, `{"code":404,"message":`),
		ofJSON(404, strings.Repeat(`{"a":`, 20000)),
		ofJSON(404, `{"code":404,"message":"The requested webhook \"POST nope\" is not registered.",`+hint+`}`),
		ofJSON(404, `{"code":404,"message":"This webhook is not registered for POST requests. Did you mean to make a TRACE request?"}`),
		ofJSON(404, `{"code":404,"message":"This webhook is not registered for POST requests. Did you mean to make a GET, PUT request?"}`),
		ofJSON(404, `{"code":404,"message":"This webhook is not registered for POST requests. Did you mean to make a  request?"}`),
		// A lone surrogate is not the U+FFFD of the path.
		with(ofJSON(404, `{"code":404,"message":"The requested webhook \"POST \ud800\" is not registered.",`+hint+`}`), "POST", "/webhook", "\uFFFD"),
		with(ofJSON(404, "{\"code\":404,\"message\":\"The requested webhook \\\"POST \xff\\\" is not registered.\","+hint+"}"), "POST", "/webhook", "\uFFFD"),
		// Somebody else's refusal.
		answer(401, "Unauthorized", "Content-Type", typeHTML, "WWW-Authenticate", "Basic"),
	} {
		if row, ok := Recognise(e); ok {
			t.Errorf("%d %.80q is found as %s", e.Status, e.Body, row.Name)
		}
	}
}

// FuzzRecognise: no answer makes the table panic; what matches has no sandbox
// CSP and is in no other row; and what proves something has not a byte more.
func FuzzRecognise(f *testing.F) {
	for _, e := range examples {
		f.Add(e.Method, e.Prefix, e.Path, e.Status, e.Header.Get("Content-Type"), e.Header.Get(cspHeader), e.Header.Get(challengeHeader), e.Body)
	}
	f.Add("POST", "/webhook", "x", 200, typeJSON, SandboxCSP, "", []byte(`{"message":"Webhook call received"}`))
	f.Add("", "", "", 0, "", "", "", []byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, method, prefix, path string, status int, contentType, policy, challenge string, body []byte) {
		e := Exchange{Method: method, Prefix: prefix, Path: path, Status: status, Header: header(), Body: body}
		for name, value := range map[string]string{"Content-Type": contentType, cspHeader: policy, challengeHeader: challenge, "X-Content-Type-Options": "nosniff"} {
			if value != "" {
				e.Header.Set(name, value)
			}
		}
		ShowsSandbox(e)
		FormNotFound(e)
		row, ok := Recognise(e)
		if !ok {
			return
		}
		if FromWorkflow(e.Header) || sandboxed(e.Header) {
			t.Fatalf("%s is found with the policy %q", row.Name, policy)
		}
		for _, other := range rows {
			if other.Name != row.Name && other.match(&e) {
				t.Fatalf("%q is %s and %s", body, row.Name, other.Name)
			}
		}
		if row.Class == Doubtful {
			return
		}
		for _, more := range []string{"}", "\n", "!"} {
			e.Body = append(body[:len(body):len(body)], more...)
			if row, ok := Recognise(e); ok {
				t.Fatalf("%q is found with %q behind it, as %s", body, more, row.Name)
			}
		}
	})
}
