package provider

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/n8n-gate/n8n-gate/keyextract"
)

// Handshake is a challenge by which a sender makes sure of its receiver. It claims
// nothing and carries no event.
type Handshake struct {
	Name string

	// Signed: it is known only after authentication. Otherwise before it, so that its
	// shape must be one that no event has.
	Signed bool

	// Method is the request's, to the letter.
	Method string

	// NoBody: the body is empty. Body: a regular expression that the whole body
	// matches. Neither: the body is not looked at as a whole.
	NoBody bool
	Body   string

	// When says, all of it, what else the request must have.
	When []Condition

	// EmptyList is the path of a list in the JSON body that must be there and empty; "@this"
	// is the body itself.
	EmptyList string

	// Proof is a word that only the sender knows. A handshake with a proof is known only
	// where the user set its option.
	Proof *Proof

	// Challenge is what is echoed: bounded in length and letters.
	Challenge *keyextract.Source

	Reply Reply
}

// Proof is a constant word, compared in constant time.
type Proof struct {
	keyextract.Source

	// Option holds the word.
	Option string
}

// Reply is the answer to a challenge.
type Reply struct {
	// Text: the challenge itself, text/plain.
	Text bool

	// Header: the challenge in the header so named, without a body.
	Header string

	// Members of a JSON object.
	Members []Member

	// Fixed is an answer without the challenge. Its status is also that of the others;
	// 0 is 200.
	Fixed Answer
}

// Member is one member of a reply: the challenge, or its MAC with the webhook's
// secret.
type Member struct {
	Name string

	// MAC: HMAC-SHA256 with the first value of the option so named. Only for signed
	// handshakes, and for challenges that could never be a message to sign.
	MAC string

	// Base64: the MAC is in base64 instead of hex. Prefix stands before it.
	Base64 bool
	Prefix string
}

// Answer is an answer of the gate.
type Answer struct {
	Status            int
	ContentType, Body string
	Header            map[string]string
}

// ErrProof says that a challenge does not come from the sender.
var ErrProof = errors.New("the challenge's word is wrong or missing")

// ErrChallenge says that a challenge cannot be echoed.
var ErrChallenge = errors.New("the challenge is missing, or not one to echo")

// Challenge is a handshake that was recognised.
type Challenge struct {
	handshake *handshake
	in        keyextract.Input
}

// Name is the handshake's.
func (c *Challenge) Name() string { return c.handshake.Name }

// handshake is a compiled Handshake with the user's words.
type handshake struct {
	Handshake
	body      *regexp.Regexp
	when      []condition
	list      place
	proof     place
	words     []string
	challenge place
	settings  Settings
}

func (h Handshake) compile(settings Settings) (*handshake, error) {
	ready := &handshake{Handshake: h, settings: settings}
	var err error
	if h.Body != "" {
		if ready.body, err = regexp.Compile(`^(?:` + h.Body + `)$`); err != nil {
			return nil, err
		}
	}
	for _, c := range h.When {
		compiled, err := c.compile()
		if err != nil {
			return nil, err
		}
		ready.when = append(ready.when, compiled)
	}
	if h.EmptyList != "" {
		path := h.EmptyList + ".0"
		if h.EmptyList == "@this" {
			path = "0"
		}
		if ready.list, err = compilePlace(keyextract.Source{Kind: keyextract.KindJSON, Path: path}); err != nil {
			return nil, err
		}
	}
	if h.Proof != nil {
		ready.words = settings[h.Proof.Option]
		if ready.proof, err = compilePlace(h.Proof.Source); err != nil {
			return nil, err
		}
	}
	if h.Challenge != nil {
		if ready.challenge, err = compilePlace(*h.Challenge); err != nil {
			return nil, err
		}
	}
	return ready, nil
}

// Unsigned is the handshake that a request is, if it is one that is known before
// authentication. The body is as it was sent.
func (s *Sender) Unsigned(method string, in keyextract.Input) (*Challenge, bool) {
	return s.recognise(method, in, false)
}

// Authenticated is the handshake that an authenticated request is, if it is one. The
// body is decoded.
func (s *Sender) Authenticated(method string, in keyextract.Input) (*Challenge, bool) {
	return s.recognise(method, in, true)
}

// HasUnsigned reports whether a request by that method can be a handshake before
// authentication.
func (s *Sender) HasUnsigned(method string) bool {
	for _, h := range s.handshakes {
		if !h.Signed && h.Method == method {
			return true
		}
	}
	return false
}

func (s *Sender) recognise(method string, in keyextract.Input, signed bool) (*Challenge, bool) {
	for _, h := range s.handshakes {
		if h.Signed == signed && h.Method == method && h.fits(in) {
			return &Challenge{handshake: h, in: in}, true
		}
	}
	return nil, false
}

// fits compares the shape. A wrong word fits: it is refused, not forwarded.
func (h *handshake) fits(in keyextract.Input) bool {
	if h.NoBody && len(in.Body) > 0 || h.body != nil && !h.body.Match(in.Body) {
		return false
	}
	for i := range h.when {
		if !h.when[i].holds(in) {
			return false
		}
	}
	return h.EmptyList == "" || h.emptyList(in)
}

// emptyList reports whether the list is there once and empty: keyextract would
// complain of a second one.
func (h *handshake) emptyList(in keyextract.Input) bool {
	var bad *keyextract.Error
	if _, err := h.list.text(in); !errors.As(err, &bad) || !bad.Missing {
		return false
	}
	value := json.RawMessage(in.Body)
	if h.EmptyList != "@this" {
		for name := range strings.SplitSeq(h.EmptyList, ".") {
			var members map[string]json.RawMessage
			if json.Unmarshal(value, &members) != nil {
				return false
			}
			value = members[name]
		}
	}
	var items []json.RawMessage
	return bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte{'['}) && json.Unmarshal(value, &items) == nil && len(items) == 0
}

// Answer is the reply. Its errors are ErrProof and ErrChallenge.
func (c *Challenge) Answer() (Answer, error) {
	h := c.handshake
	if h.Proof != nil && !proven(h.proof, h.words, c.in) {
		return Answer{}, ErrProof
	}
	a := h.Reply.Fixed
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	if h.Challenge == nil {
		return a, nil
	}
	challenge, err := h.challenge.text(c.in)
	if err != nil || !echoable.MatchString(challenge) {
		return Answer{}, ErrChallenge
	}
	return h.reply(a, challenge)
}

// echoable are the letters of a challenge: none that markup, quotes or headers are
// made of. Graph's holds blanks and colons.
var echoable = regexp.MustCompile(`^[A-Za-z0-9 ._~=+/:,@-]{1,512}$`)

// macable are challenges that are never a message to sign: those hold a '{' or '[', a
// '.' or ':' behind the time, or a '=' between a form's names and values.
var macable = regexp.MustCompile(`^[A-Za-z0-9_+/-]{1,128}={0,2}$`)

func (h *handshake) reply(a Answer, challenge string) (Answer, error) {
	switch {
	case h.Reply.Text:
		a.ContentType, a.Body = "text/plain; charset=utf-8", challenge
		a.Header = map[string]string{"X-Content-Type-Options": "nosniff"}
	case h.Reply.Header != "":
		a.Header = map[string]string{h.Reply.Header: challenge}
	case len(h.Reply.Members) > 0:
		members := make(map[string]string, len(h.Reply.Members))
		for _, m := range h.Reply.Members {
			value, err := h.member(m, challenge)
			if err != nil {
				return Answer{}, err
			}
			members[m.Name] = value
		}
		body, err := json.Marshal(members)
		if err != nil {
			return Answer{}, err
		}
		a.ContentType, a.Body = "application/json", string(body)
		a.Header = map[string]string{"X-Content-Type-Options": "nosniff"}
	}
	return a, nil
}

func (h *handshake) member(m Member, challenge string) (string, error) {
	if m.MAC == "" {
		return m.Prefix + challenge, nil
	}
	secrets := h.settings[m.MAC]
	if len(secrets) == 0 {
		return "", fmt.Errorf("%s: no %s to answer with", h.Name, m.MAC)
	}
	if !macable.MatchString(challenge) {
		return "", ErrChallenge
	}
	mac := hmac.New(sha256.New, []byte(secrets[0]))
	mac.Write([]byte(challenge))
	if m.Base64 {
		return m.Prefix + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
	}
	return m.Prefix + hex.EncodeToString(mac.Sum(nil)), nil
}

// proven compares sums, which have one length, with every word.
func proven(at place, words []string, in keyextract.Input) bool {
	text, err := at.text(in)
	if err != nil {
		return false
	}
	sent := sha256.Sum256([]byte(text))
	match := 0
	for _, word := range words {
		sum := sha256.Sum256([]byte(word))
		match |= subtle.ConstantTimeCompare(sent[:], sum[:])
	}
	return match == 1
}
