package n8n

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCanonical(t *testing.T) {
	type want struct {
		path       string
		inside, ok bool
	}
	outside := want{}
	refused := want{inside: true}
	webhook := func(path string) want { return want{path, true, true} }

	tests := []struct {
		name, path string
		want       want
	}{
		// facts/n8n.md 1.3: what n8n runs.
		{"plain", "/webhook/x", webhook("x")},
		{"prefix in other case", "/WebHook/x", webhook("x")},
		{"prefix in upper case", "/WEBHOOK/probe", webhook("probe")},
		{"trailing slash", "/webhook/x/", webhook("x")},
		{"encoded letter", "/webhook/%78", webhook("x")},
		{"encoded letter inside", "/webhook/%70robe", webhook("probe")},
		{"encoded slash separates", "/webhook/a%2Fb", webhook("a/b")},
		{"encoded slash, lower-case hex", "/webhook/a%2fb", webhook("a/b")},
		// What n8n reads literally, so that no webhook is there.
		{"the name keeps its case", "/webhook/Probe", webhook("Probe")},
		{"double slash behind the prefix", "/webhook//x", webhook("/x")},
		{"dot segments stay", "/webhook/a/../x", webhook("a/../x")},
		{"single dot stays", "/webhook/./x", webhook("./x")},
		// What Express answers without asking n8n.
		{"encoded prefix", "/%77ebhook/x", refused},
		{"leading double slash", "//webhook/x", refused},
		{"prefix alone", "/webhook", refused},
		{"prefix and slash", "/webhook/", refused},
		{"broken escape", "/webhook/%", refused},
		{"broken escape behind a name", "/webhook/x%2", refused},
		{"escape without hex", "/webhook/%zz", refused},

		{"several segments", "/webhook/5f0c/webhook", webhook("5f0c/webhook")},
		{"two trailing slashes lose one", "/webhook/x//", webhook("x/")},
		{"encoded trailing slash is cut", "/webhook/x%2F", webhook("x")},
		{"encoded and plain trailing slash lose one", "/webhook/x%2F/", webhook("x/")},
		{"slashes only", "/webhook//", refused},
		{"more slashes only", "/webhook///", webhook("/")},
		{"encoded slash only", "/webhook/%2F", refused},
		{"double encoding is decoded once", "/webhook/%2578", webhook("%78")},
		{"double encoded slash", "/webhook/a%252Fb", webhook("a%2Fb")},
		{"encoded percent", "/webhook/100%25", webhook("100%")},
		{"semicolon", "/webhook/x;a=b", webhook("x;a=b")},
		{"encoded semicolon", "/webhook/x%3Ba", webhook("x;a")},
		{"encoded backslash", "/webhook/a%5Cb", webhook(`a\b`)},
		{"encoded dots", "/webhook/%2e%2e/x", webhook("../x")},
		{"encoded question mark", "/webhook/x%3Fy", webhook("x?y")},
		{"encoded hash", "/webhook/x%23y", webhook("x#y")},
		{"plus is no space", "/webhook/a+b", webhook("a+b")},
		{"space", "/webhook/a%20b", webhook("a b")},
		{"NUL", "/webhook/x%00", webhook("x\x00")},
		{"line feed", "/webhook/x%0Ay", webhook("x\ny")},
		{"UTF-8", "/webhook/%C3%A9", webhook("é")},
		{"beyond the BMP", "/webhook/%F0%9F%98%80", webhook("😀")},
		{"overlong slash", "/webhook/a%C0%AFb", refused},
		{"overlong letter", "/webhook/%C1%B8", refused},
		{"encoded surrogate", "/webhook/%ED%A0%80", refused},
		{"beyond Unicode", "/webhook/%F4%90%80%80", refused},
		{"Latin-1", "/webhook/%E9", refused},
		{"UTF-8 split by a slash", "/webhook/%C3/%A9", refused},
		{"asterisk", "/webhook/*", webhook("*")},
		{"test behind the prefix", "/webhook/webhook-test/x", webhook("webhook-test/x")},

		{"test webhook", "/webhook-test/x", refused},
		{"test webhook in other case", "/Webhook-Test/x", refused},
		{"test webhook, encoded", "/webhook%2Dtest/x", refused},
		{"test webhook alone", "/webhook-test", refused},
		{"test webhook, double slash", "//webhook-test/x", refused},

		{"encoded slash behind the prefix", "/webhook%2Fx", refused},
		{"encoded slash before the prefix", "/%2Fwebhook/x", refused},
		{"encoded slash before the prefix only", "%2Fwebhook/x", refused},
		{"no leading slash", "webhook/x", refused},
		{"many leading slashes", "////WEBHOOK/x", refused},
		{"dot segment before the prefix", "/./webhook/x", refused},
		{"dot segments before the prefix", "/rest/../webhook/x", refused},
		{"encoded dot segments before the prefix", "/rest/%2E%2e/webhook/x", refused},
		{"slash and dot before the prefix", "//.//webhook/x", refused},
		{"backslash before the prefix", "/%5Cwebhook/x", refused},
		{"backslash behind the prefix", "/webhook%5Cx", refused},
		{"dot segments out of the prefix", "/webhook/../rest", webhook("../rest")},
		{"encoded prefix with a broken escape", "/%77ebhook/%", refused},

		{"waiting", "/webhook-waiting/17", outside},
		{"waiting for Slack", "/webhook-waiting-slack/17", outside},
		{"longer word", "/webhooks/x", outside},
		{"longer word, encoded", "/webhook%73/x", outside},
		{"prefix twice encoded", "/%2577ebhook/x", outside},
		{"semicolon in the prefix", "/webhook;a/x", outside},
		{"deeper", "/rest/webhook/x", outside},
		{"encoded question mark ends no prefix", "/webhook%3Fx", outside},
		{"dot segments into elsewhere", "/rest/../webhooks", outside},
		{"form", "/form/x", outside},
		{"root", "/", outside},
		{"empty", "", outside},
		{"asterisk form", "*", outside},
		{"Kelvin sign", "/webhoo%E2%84%AA/x", outside},
		{"NUL before the slash", "/webhook%00/x", outside},
		{"broken escape elsewhere", "/%", outside},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path, inside, ok := Canonical(DefaultPrefix, tt.path)
			if got := (want{path, inside, ok}); got != tt.want {
				t.Errorf("Canonical(%q) = %+v, want %+v", tt.path, got, tt.want)
			}
		})
	}
}

func TestCanonicalOtherPrefixes(t *testing.T) {
	tests := []struct {
		prefix, path, want string
		inside, ok         bool
	}{
		{"/hooks/in", "/Hooks/IN/x", "x", true, true},
		{"/hooks/in", "/hooks/in", "", true, false},
		{"/hooks/in", "/hooks//in/x", "", true, false},
		{"/hooks/in", "/hooks%2Fin/x", "", true, false},
		{"/hooks/in", "/hooks/in-test/x", "", true, false},
		{"/hooks/in", "/hooks/x", "", false, false},
		{"/hooks/in", "/webhook/x", "", false, false},
		{"/n8n/webhook", "/n8n/webhook/x", "x", true, true},
	}
	for _, tt := range tests {
		path, inside, ok := Canonical(tt.prefix, tt.path)
		if path != tt.want || inside != tt.inside || ok != tt.ok {
			t.Errorf("Canonical(%q, %q) = %q, %v, %v, want %q, %v, %v",
				tt.prefix, tt.path, path, inside, ok, tt.want, tt.inside, tt.ok)
		}
	}
}

func TestRebuild(t *testing.T) {
	tests := []struct{ path, want string }{
		{"x", "/webhook/x"},
		{"a/b", "/webhook/a/b"},
		{"a b", "/webhook/a%20b"},
		{"100%", "/webhook/100%25"},
		{"%78", "/webhook/%2578"},
		{"x?y#z", "/webhook/x%3Fy%23z"},
		{`a\b`, "/webhook/a%5Cb"},
		{"é", "/webhook/%C3%A9"},
		{"x\x00", "/webhook/x%00"},
		{"x;y", "/webhook/x%3By"},
		{"../rest", "/webhook/../rest"},
		{"/x", "/webhook//x"},
		// One slash more than the name has: n8n cuts one off.
		{"x/", "/webhook/x//"},
		{"/", "/webhook///"},
	}
	for _, tt := range tests {
		got := Rebuild(DefaultPrefix, tt.path)
		if got != tt.want {
			t.Errorf("Rebuild(%q) = %q, want %q", tt.path, got, tt.want)
		}
		if back, _, ok := Canonical(DefaultPrefix, got); back != tt.path || !ok {
			t.Errorf("Canonical(%q) = %q, %v, want %q again", got, back, ok, tt.path)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	for _, prefix := range []string{"/webhook", "/hooks/in", "/n8n_hooks-1.2~a", "/..."} {
		if err := CheckPrefix(prefix); err != nil {
			t.Errorf("CheckPrefix(%q) = %v", prefix, err)
		}
	}
	for prefix, want := range map[string]string{
		"":              `prefix "": it must begin with '/'`,
		"webhook":       `prefix "webhook": it must begin with '/'`,
		"/":             `prefix "/": it must name n8n's webhook path, or everything would be a webhook`,
		"/webhook/":     `prefix "/webhook/": it must not end with '/'`,
		"//webhook":     `prefix "//webhook": "" is no plain path segment`,
		"/a//b":         `prefix "/a//b": "" is no plain path segment`,
		"/a/../b":       `prefix "/a/../b": ".." is no plain path segment`,
		"/.":            `prefix "/.": "." is no plain path segment`,
		"/web hook":     `prefix "/web hook": "web hook" is no plain path segment`,
		"/web%68ook":    `prefix "/web%68ook": "web%68ook" is no plain path segment`,
		"/webhook/*":    `prefix "/webhook/*": "*" is no plain path segment`,
		"/webhöok":      `prefix "/webhöok": "webhöok" is no plain path segment`,
		"/{env.PREFIX}": `prefix "/{env.PREFIX}": "{env.PREFIX}" is no plain path segment`,
	} {
		if err := CheckPrefix(prefix); err == nil || err.Error() != want {
			t.Errorf("CheckPrefix(%q) = %v, want %q", prefix, err, want)
		}
	}
}

// route is n8n's router, modelled on its own code and independent of paths.go:
// Express 5 matches ^/webhook/([^]+)$ without regard to case, path-to-regexp
// splits at '/' and decodes each part (400 if one cannot be), n8n joins them and
// findWebhook cuts one trailing slash off.
func route(escapedPath string) (webhook string, reached bool) {
	const mount = "/webhook/"
	if len(escapedPath) <= len(mount) || asciiLower(escapedPath[:len(mount)]) != mount {
		return "", false
	}
	parts := strings.Split(escapedPath[len(mount):], "/")
	for i, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil || !utf8.ValidString(decoded) {
			return "", false
		}
		parts[i] = decoded
	}
	joined := strings.Join(parts, "/")
	if joined[len(joined)-1:] == "/" {
		joined = joined[:len(joined)-1]
	}
	return joined, joined != ""
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// FuzzCanonical: whatever n8n would route to webhook x, the gate owns and reads
// as x; what the gate forwards n8n reads as x; and what is outside has no
// reading, however careless, below the prefix.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		"/webhook/x", "/WEBHOOK/%78/", "/webhook//x", "/webhook/a%2Fb/", "/webhook/x%2F/", "/webhook/%",
		"/%77ebhook/x", "//webhook/x", "/webhook", "/webhook-test/x", "/webhook-waiting/1", "/webhook/%C0%AF",
		"/webhook/x%00", "/webhook/a/../x", "/rest/../webhook/x", "/webhook/%2578", "/webhook/x;y", "/webhook///",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, escapedPath string) {
		path, inside, ok := Canonical(DefaultPrefix, escapedPath)
		webhook, reached := route(escapedPath)
		if reached != ok || webhook != path && ok {
			t.Fatalf("%q: n8n reads %q (%v), the gate %q (%v)", escapedPath, webhook, reached, path, ok)
		}
		if ok && !inside {
			t.Fatalf("%q: a webhook outside the gate", escapedPath)
		}
		if !ok && path != "" {
			t.Fatalf("%q: path %q without ok", escapedPath, path)
		}
		if ok {
			rebuilt := Rebuild(DefaultPrefix, path)
			if again, reached := route(rebuilt); !reached || again != path {
				t.Fatalf("%q is forwarded as %q, which n8n reads as %q (%v), not %q", escapedPath, rebuilt, again, reached, path)
			}
			u := &url.URL{RawPath: rebuilt}
			if u.Path, _ = url.PathUnescape(rebuilt); u.EscapedPath() != rebuilt {
				t.Fatalf("net/url sends %q instead of %q", u.EscapedPath(), rebuilt)
			}
		}
		if !inside {
			squeezed := "/" + strings.TrimLeft(escapedPath, "/")
			for _, reading := range []string{squeezed, decodeLoosely(squeezed)} {
				lower := asciiLower(reading) + "/"
				if strings.HasPrefix(lower, "/webhook/") || strings.HasPrefix(lower, "/webhook-test/") {
					t.Fatalf("%q is outside though it reads as %q", escapedPath, reading)
				}
			}
		}
	})
}

func TestIsTest(t *testing.T) {
	tests := []struct {
		path string
		want bool
	}{
		{"/webhook-test/x", true},
		{"/Webhook-TEST/x/", true},
		{"/webhook-test/%78", true},
		{"/webhook-test/a/../b", true},
		{"/webhook-test/5f0c/webhook", true},
		{"/webhook-test", false},
		{"/webhook-test/", false},
		{"/webhook-test/%", false},
		{"/webhook-test/%C0%AF", false},
		{"/webhook-tests/x", false},
		{"/webhook/x", false},
		{"/webhook/webhook-test/x", false},
		{"/form-test/x", false},
		// n8n does not read these so.
		{"//webhook-test/x", false},
		{"/webhook%2Dtest/x", false},
		{"/./webhook-test/x", false},
		// Somebody on the way may find a production webhook.
		{"/webhook-test/../webhook/x", false},
		{"/webhook-test/..%2Fwebhook/x", false},
		{"/webhook-test/%2e%2e/WEBHOOK/x", false},
		{`/webhook-test/..\webhook/x`, false},
		{"/webhook-test/..%5Cwebhook/x", false},
		{"/webhook-test/a/../../webhook", false},
	}
	for _, tt := range tests {
		if got := IsTest(DefaultPrefix, tt.path); got != tt.want {
			t.Errorf("IsTest(%q) = %v, want %v", tt.path, got, tt.want)
		}
		if _, inside, ok := Canonical(DefaultPrefix, tt.path); tt.want && (!inside || ok) {
			t.Errorf("Canonical(%q): inside %v, ok %v", tt.path, inside, ok)
		}
	}
	if !IsTest("/n8n/hooks", "/n8n/hooks-test/x") || IsTest("/n8n/hooks", "/webhook-test/x") {
		t.Error("the prefix counts for nothing")
	}
}
