package n8n

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// matcher compares an answer as a whole. Recognise has looked at the CSP's
// sandbox, the size and Content-Encoding before.
type matcher func(*Exchange) bool

// text compares one text of an answer, with regard to what was sent.
type text func(e *Exchange, got string) bool

func is(texts ...string) text {
	return func(_ *Exchange, got string) bool { return slices.Contains(texts, got) }
}

// like takes what an expression matches from beginning to end.
func like(expression string) text {
	re := regexp.MustCompile(`\A(?:` + expression + `)\z`)
	return func(_ *Exchange, got string) bool { return re.MatchString(got) }
}

// either takes what one of them takes.
func either(texts ...text) text {
	return func(e *Exchange, got string) bool {
		return slices.ContainsFunc(texts, func(t text) bool { return t(e, got) })
	}
}

// absent says that a framework error has no hint.
var absent text

// success are the statuses that a person who sets up a webhook may choose for
// "it worked" and that carry a body.
func success(status int) bool {
	return 200 <= status && status < 300 && status != http.StatusNoContent && status != http.StatusResetContent
}

// framework is an error that passed through n8n's sendErrorResponse: code and
// message, a hint where the error has one, and a stack trace unless NODE_ENV is
// "production". It never has a CSP.
//
// Source: n8n 2.40.7, dist/response-helper.js and
// dist/errors/http-error-serializers.js.
func framework(status int, code string, message, hint text) matcher {
	return func(e *Exchange) bool {
		if e.Status != status {
			return false
		}
		o, ok := ownJSON(e)
		if !ok || !o.only([]string{"code", "message"}, []string{"hint", "stacktrace"}) || !o.is("code", code) {
			return false
		}
		got, ok := o.text("message")
		return ok && message(e, got) && o.hints(e, hint) && o.traces(got)
	}
}

// hints reports whether the object's hint is the one that is expected.
func (o jsonObject) hints(e *Exchange, want text) bool {
	if _, ok := o["hint"]; !ok || want == nil {
		return !ok && want == nil
	}
	got, ok := o.text("hint")
	return ok && want(e, got)
}

// traces reports whether the object has no stack trace, or that of an error with
// this message.
func (o jsonObject) traces(message string) bool {
	if _, ok := o["stacktrace"]; !ok {
		return true
	}
	stack, ok := o.text("stacktrace")
	if !ok {
		return false
	}
	name, rest, ok := strings.Cut(stack, ": ")
	return ok && name != "" && strings.Trim(name, letters) == "" && strings.HasPrefix(rest, message+"\n    at ")
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// fixed is a JSON object with nothing but a message, which n8n sends past
// sendErrorResponse. status says which statuses it may have.
func fixed(status func(int) bool, message text) matcher {
	return func(e *Exchange) bool {
		if !status(e.Status) {
			return false
		}
		o, ok := ownJSON(e)
		if !ok || !o.only([]string{"message"}, nil) {
			return false
		}
		got, ok := o.text("message")
		return ok && message(e, got)
	}
}

func exactly(status int) func(int) bool { return func(got int) bool { return got == status } }

// ownJSON reads the object of an answer in JSON that no workflow wrote.
func ownJSON(e *Exchange) (jsonObject, bool) {
	if !has(e.Header, "Content-Type", typeJSON) || !hasNone(e.Header, cspHeader) {
		return nil, false
	}
	return parseObject(e.Body)
}

// sent is a text that n8n gives to Express' send, which calls it HTML.
func sent(status int, body text) matcher {
	return func(e *Exchange) bool {
		return e.Status == status && has(e.Header, "Content-Type", typeHTML) && hasNone(e.Header, cspHeader) &&
			hasNone(e.Header, challengeHeader) && body(e, string(e.Body))
	}
}

// written is a text that a node writes to Node's response itself, past Express:
// it has no type. challenge is its WWW-Authenticate, absent for none.
func written(status int, challenge, body text) matcher {
	return func(e *Exchange) bool {
		if e.Status != status || !hasNone(e.Header, "Content-Type") || !hasNone(e.Header, cspHeader) {
			return false
		}
		got, ok := one(e.Header, challengeHeader)
		if challenge == nil {
			return hasNone(e.Header, challengeHeader) && body(e, string(e.Body))
		}
		return ok && challenge(e, got) && body(e, string(e.Body))
	}
}

// page is a page of Express itself.
//
// Source: finalhandler 2.1.0, index.js (Express 5.1.0).
func page(status int, message func(*Exchange) string) matcher {
	return func(e *Exchange) bool {
		return e.Status == status && has(e.Header, "Content-Type", typeHTML) &&
			has(e.Header, cspHeader, "default-src 'none'") && has(e.Header, "X-Content-Type-Options", "nosniff") &&
			string(e.Body) == pageStart+escapeHTML(message(e))+pageEnd
	}
}

const (
	pageStart = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Error</title>\n</head>\n<body>\n<pre>"
	pageEnd   = "</pre>\n</body>\n</html>\n"
)

// escapeHTML is escape-html 1.0.3; html.EscapeString writes quotes otherwise.
var escapeHTML = strings.NewReplacer(`"`, "&quot;", "&", "&amp;", "'", "&#39;", "<", "&lt;", ">", "&gt;").Replace
