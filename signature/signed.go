package signature

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

// signed is a signature over a message that the request holds, in a header.
type signed struct {
	headers         []string
	field           string
	require         map[string]string
	prefix, version string
	decode          func(string) ([]byte, error)

	sign          template
	id, publicURL string
	secret        string // where the message has it

	timestamp Timestamp
	tolerance time.Duration

	// matches compares the signatures that were sent with the message.
	matches func(sent [][]byte, message [][]byte) bool
}

func newSigned(c Config, encoding string, matches func(sent, message [][]byte) bool) (*signed, error) {
	sign, err := compileTemplate(c.template())
	if err != nil {
		return nil, err
	}
	if c.Encoding != "" {
		encoding = c.Encoding
	}
	return &signed{
		headers: append([]string{c.Header}, c.Also...), field: c.Field, require: c.Require, prefix: c.Prefix, version: c.Version, decode: decoder(encoding),
		sign: sign, id: c.ID, publicURL: c.PublicURL, timestamp: c.Timestamp, tolerance: c.Tolerance, matches: matches,
	}, nil
}

func (s *signed) verify(r *http.Request, body []byte, now time.Time) error {
	for name, want := range s.require {
		if value, err := one(r, name); err != nil || value != want {
			return ErrMalformed
		}
	}
	doc := &document{raw: body}
	sent, at, err := s.read(r, doc)
	if err != nil {
		return err
	}
	message, err := s.message(r, doc, at)
	if err != nil {
		return err
	}
	// The time is looked at only when it is known to be signed: a stale signature is one
	// that was right.
	if !s.matches(sent, message) {
		return ErrMismatch
	}
	if s.timestamp == (Timestamp{}) {
		return nil
	}
	return fresh(at, s.timestamp.Unit, s.tolerance, now)
}

// read finds the signatures, and the time as it is written.
func (s *signed) read(r *http.Request, body *document) (sent [][]byte, at string, err error) {
	switch {
	case s.timestamp.Header != "":
		at, err = one(r, s.timestamp.Header)
	case s.timestamp.Field != "":
		at, err = body.text(s.timestamp.Field)
	}
	if err != nil {
		return nil, "", err
	}
	if s.field != "" {
		value, err := body.text(s.field)
		if err != nil {
			return nil, "", err
		}
		if sent, _, err = s.split(nil, value); value == "" {
			err = ErrMissing
		}
		return sent, at, err
	}
	reason := ErrMissing
	for _, header := range s.headers {
		value, err := one(r, header)
		if err == nil {
			var item string
			if sent, item, err = s.split(sent, value); item != "" {
				at = item
			}
		}
		if err != nil && !errors.Is(err, ErrMissing) {
			reason = err
		}
	}
	if len(sent) == 0 {
		return nil, "", reason
	}
	return sent, at, nil
}

// split adds a header's signatures to sent.
func (s *signed) split(sent [][]byte, value string) (all [][]byte, at string, err error) {
	if s.version == "" {
		text, ok := strings.CutPrefix(value, s.prefix)
		mac, err := s.decode(text)
		if !ok || err != nil || len(mac) == 0 {
			return sent, "", ErrMalformed
		}
		return append(sent, mac), "", nil
	}
	seen := 0
	for item := range strings.FieldsFuncSeq(value, func(c rune) bool { return c == ',' || c == ';' }) {
		name, text, _ := strings.Cut(strings.Trim(item, " \t"), "=")
		switch {
		case name == s.timestamp.Item && name != "":
			if at != "" {
				return sent, "", ErrRepeated
			}
			at = text
		case name == s.version && seen < maxSignatures:
			seen++
			if mac, err := s.decode(text); err == nil && len(mac) > 0 {
				sent = append(sent, mac)
			}
		}
	}
	if len(sent) == 0 || s.timestamp.Item != "" && at == "" {
		return nil, "", ErrMalformed
	}
	return sent, at, nil
}
