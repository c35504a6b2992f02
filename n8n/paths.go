package n8n

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// DefaultPrefix is where n8n serves production webhooks unless
// N8N_ENDPOINT_WEBHOOK says otherwise.
const DefaultPrefix = "/webhook"

// testSuffix makes the path of n8n's test webhooks from the prefix, as n8n's
// own defaults do ("/webhook-test").
const testSuffix = "-test"

// CheckPrefix reports why prefix cannot be the place of production webhooks: it
// begins with '/', does not end with one, and its segments are plain (letters,
// digits, '-', '_', '.', '~'; not "." or "..").
func CheckPrefix(prefix string) error {
	rest, ok := strings.CutPrefix(prefix, "/")
	if !ok {
		return fmt.Errorf("prefix %q: it must begin with '/'", prefix)
	}
	if rest == "" {
		return errors.New(`prefix "/": it must name n8n's webhook path, or everything would be a webhook`)
	}
	if strings.HasSuffix(rest, "/") {
		return fmt.Errorf("prefix %q: it must not end with '/'", prefix)
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsFunc(segment, notPlain) {
			return fmt.Errorf("prefix %q: %q is no plain path segment", prefix, segment)
		}
	}
	return nil
}

func notPlain(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_.~", r)
}

// Canonical reads a request's path as n8n's router does. escapedPath is the
// path as sent, still percent-encoded (url.URL's EscapedPath); prefix has passed
// CheckPrefix.
//
// inside: the path belongs to the gate and may reach n8n by nobody else's hand.
// That is n8n's whole production webhook subtree and, with it, whatever looks
// like it to a reader who decodes, squeezes slashes or resolves dots before
// matching, and the test webhooks below PREFIX-test.
//
// ok: n8n's router would look for a production webhook, under the name path.
// The prefix is matched as whole segments without regard to case, the rest is
// decoded once and loses one trailing slash; nothing else is normalised. What
// is inside and not ok finds no webhook in n8n and is to be refused.
//
// Source: n8n mounts `/${endpoint}/*path` on Express 5 (path-to-regexp's
// wildcard splits at '/', decodes each part by decodeURIComponent, and is not
// case-sensitive), joins the parts again, and findWebhook in
// packages/cli/src/webhooks/live-webhooks.ts cuts one trailing slash off.
func Canonical(prefix, escapedPath string) (path string, inside, ok bool) {
	if rest, found := cutPrefix(escapedPath, prefix); found && rest != "" {
		if path, ok = decode(rest[1:]); ok {
			return path, true, true
		}
	}
	return "", looksInside(prefix, escapedPath), false
}

// IsTest reports whether a path that Canonical finds inside is one of n8n's test
// webhooks, below PREFIX-test, and nothing else: n8n's router reads it so, and no
// careless reading takes it below prefix itself. Other paths that only look like
// test webhooks ("//webhook-test/x") are none, and so are refused by whoever lets
// test webhooks through.
func IsTest(prefix, escapedPath string) bool {
	rest, found := cutPrefix(escapedPath, prefix+testSuffix)
	if !found || rest == "" {
		return false
	}
	_, ok := decode(rest[1:])
	return ok && !readsBelow(escapedPath, prefix)
}

// decode reads what follows the prefix and its slash.
func decode(rest string) (string, bool) {
	// decodeURIComponent throws, and Express answers 400, where an escape is
	// broken or does not give UTF-8; overlong forms and surrogates included.
	decoded, err := url.PathUnescape(rest)
	if err != nil || !utf8.ValidString(decoded) {
		return "", false
	}
	// The slash is cut after decoding: "x%2F" names x as well.
	decoded = strings.TrimSuffix(decoded, "/")
	return decoded, decoded != ""
}

// looksInside is the careful answer for what n8n itself would not route:
// "/%77ebhook/x", "//webhook/x", "/./webhook/x" and their like are refused here,
// whatever a further proxy on the way to n8n would make of them.
func looksInside(prefix, escapedPath string) bool {
	return readsBelow(escapedPath, prefix, prefix+testSuffix)
}

// readsBelow reports whether a careless reader finds the path below a prefix.
func readsBelow(escapedPath string, prefixes ...string) bool {
	for _, p := range []string{escapedPath, decodeLoosely(escapedPath)} {
		for _, reading := range []string{
			"/" + strings.TrimLeft(p, "/"),
			path.Clean("/" + p),
			path.Clean("/" + strings.ReplaceAll(p, `\`, "/")),
		} {
			for _, prefix := range prefixes {
				if below(reading, prefix) {
					return true
				}
			}
		}
	}
	return false
}

func below(path, prefix string) bool {
	_, found := cutPrefix(path, prefix)
	return found
}

// cutPrefix cuts prefix, as whole segments and without regard to case, off the
// beginning of path. What is left is empty or begins with '/'.
func cutPrefix(path, prefix string) (rest string, found bool) {
	// The prefix is ASCII. EqualFold also folds two letters from beyond it
	// into ASCII ones, but those are longer and so never fill the same bytes.
	if len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
		return "", false
	}
	rest = path[len(prefix):]
	if rest != "" && rest[0] != '/' {
		return "", false
	}
	return rest, true
}

// decodeLoosely decodes every escape that can be decoded and keeps the rest.
func decodeLoosely(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Rebuild gives the escaped path under which n8n reads path, a result of
// Canonical: what is forwarded instead of the sender's own bytes. Every segment
// is escaped; slashes stay separators. Canonical of the result is path again.
// To set it on a url.URL, Path takes its decoded form and RawPath itself.
func Rebuild(prefix, path string) string {
	var b strings.Builder
	b.Grow(len(prefix) + len(path) + len("//"))
	b.WriteString(prefix)
	for segment := range strings.SplitSeq(path, "/") {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(segment))
	}
	if strings.HasSuffix(path, "/") {
		// n8n cuts one slash off. Without this one, "x//", in which no webhook
		// is, would arrive as "x/", which starts webhook x.
		b.WriteByte('/')
	}
	return b.String()
}
