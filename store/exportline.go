package store

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// recordLine is a record as one line of an export: every field, readable. Times are
// RFC 3339 with nanoseconds in UTC, hashes hexadecimal, bodies base64; what is empty
// is left out. The version is not in it: a store gives its own.
type recordLine struct {
	Operation   text        `json:"operation"`
	EventKey    text        `json:"event_key"`
	State       string      `json:"state"`
	Reason      text        `json:"reason,omitempty"`
	Holder      string      `json:"holder,omitempty"`
	Incarnation text        `json:"incarnation,omitempty"`
	Attempt     int         `json:"attempt,omitempty"`
	Refused     int         `json:"refused,omitempty"`
	Reported    int         `json:"reported,omitempty"`
	Generation  int         `json:"generation,omitempty"`
	MaxAttempts int         `json:"max_attempts,omitempty"`
	Retention   string      `json:"retention,omitempty"` // as Go writes durations
	FirstSeenAt time.Time   `json:"first_seen_at,omitzero"`
	ClaimedAt   time.Time   `json:"claimed_at,omitzero"`
	SettledAt   time.Time   `json:"settled_at,omitzero"`
	Deadline    time.Time   `json:"deadline,omitzero"`
	ExpiresAt   time.Time   `json:"expires_at,omitzero"`
	KeyedAt     time.Time   `json:"keyed_at,omitzero"`
	RepeatUntil time.Time   `json:"repeat_until,omitzero"`
	Unproven    text        `json:"unproven,omitempty"`
	Fingerprint hexHash     `json:"fingerprint,omitzero"`
	Covers      text        `json:"covers,omitempty"`
	TokenHash   hexHash     `json:"token_hash,omitzero"`
	HeaderHash  hexHash     `json:"header_hash,omitzero"`
	Execution   text        `json:"execution,omitempty"`
	Aliases     []aliasLine `json:"aliases,omitempty"`
	Evidence    string      `json:"evidence,omitempty"`
	ActionID    text        `json:"action_id,omitempty"`
	Receipt     *receiptLn  `json:"receipt,omitempty"`
	Doubt       bool        `json:"doubt,omitempty"`
	Prior       *recordLine `json:"prior,omitempty"`
	History     []moveLine  `json:"history,omitempty"`
	Payload     []byte      `json:"payload,omitempty"` // the body held beside the record
}

type aliasLine struct {
	Kind string `json:"kind"`
	Text text   `json:"text,omitempty"` // of an execution
	Hex  string `json:"hex,omitempty"`  // of everything else
}

type receiptLn struct {
	Status      int         `json:"status,omitempty"`
	Header      []fieldLine `json:"header,omitempty"`
	Body        []byte      `json:"body,omitempty"`
	BodyDropped bool        `json:"body_dropped,omitempty"`
	Result      []byte      `json:"result,omitempty"`
}

type fieldLine struct {
	Name  text `json:"name"`
	Value text `json:"value"`
}

type moveLine struct {
	At      time.Time `json:"at,omitzero"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Attempt int       `json:"attempt,omitempty"`
	Reason  text      `json:"reason,omitempty"`
	By      text      `json:"by,omitempty"`
	Note    text      `json:"note,omitempty"`
}

// The names of numbers; an index is the number.
var (
	holderNames   = []string{"", "forward", "receipt", "execution"}
	evidenceNames = []string{"", "response", "receipt", "person"}
	aliasNames    = []string{"", "token", "execution", "fingerprint", "event"}
)

func nameOf(names []string, n int) string {
	if n < len(names) {
		return names[n]
	}
	return strconv.Itoa(n) // of a later version
}

func numberOf(what string, names []string, name string) (int, error) {
	if i := slices.Index(names, name); i >= 0 {
		return i, nil
	}
	if n, err := strconv.Atoi(name); err == nil && n >= len(names) && n < 256 {
		return n, nil
	}
	return 0, fmt.Errorf("no %s: %q", what, name)
}

// text is a string that is kept to the byte: one that is not UTF-8 is written as
// {"base64":"…"}, where encoding/json would replace what it does not know.
type text string

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var raw struct {
			Base64 []byte `json:"base64"`
		}
		err := strictJSON(b, &raw)
		*t = text(raw.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

type hexHash Hash

// MarshalText implements encoding.TextMarshaler.
func (h hexHash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hexHash) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(h)) {
		return errors.New("a hash has 64 hexadecimal digits")
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// strictJSON decodes one value, and refuses members that it does not know: what a
// later version wrote must not be lost in silence.
func strictJSON(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the record")
	}
	return nil
}

// encodeLine is r as a line, without its end.
func encodeLine(r Record, payload []byte) ([]byte, error) {
	line := lineOf(r)
	line.Payload = payload
	return json.Marshal(line)
}

func lineOf(r Record) *recordLine {
	line := &recordLine{
		Operation: text(r.Operation), EventKey: text(r.EventKey), State: r.State.String(), Reason: text(r.Reason),
		Holder: nameOf(holderNames, int(r.Holder)), Incarnation: text(r.Incarnation),
		Attempt: r.Attempt, Refused: r.Refused, Reported: r.Reported, Generation: r.Generation, MaxAttempts: r.MaxAttempts,
		FirstSeenAt: r.FirstSeenAt, ClaimedAt: r.ClaimedAt, SettledAt: r.SettledAt, Deadline: r.Deadline, ExpiresAt: r.ExpiresAt,
		KeyedAt: r.KeyedAt, RepeatUntil: r.RepeatUntil,
		Fingerprint: hexHash(r.Fingerprint), Covers: text(r.Covers), TokenHash: hexHash(r.TokenHash), HeaderHash: hexHash(r.HeaderHash),
		Execution: text(r.Execution), Evidence: nameOf(evidenceNames, int(r.Evidence)), ActionID: text(r.ActionID), Doubt: r.Doubt, Unproven: text(r.Unproven),
	}
	if r.Retention != 0 {
		line.Retention = r.Retention.String()
	}
	for _, a := range r.Aliases {
		alias := aliasLine{Kind: nameOf(aliasNames, int(a.Kind))}
		if a.Kind == AliasExecution {
			alias.Text = text(a.Value)
		} else {
			alias.Hex = hex.EncodeToString([]byte(a.Value))
		}
		line.Aliases = append(line.Aliases, alias)
	}
	if r.Receipt != nil {
		line.Receipt = &receiptLn{
			Status: r.Receipt.Status, Body: r.Receipt.Body, BodyDropped: r.Receipt.BodyDropped, Result: r.Receipt.Result,
		}
		for _, f := range r.Receipt.Header {
			line.Receipt.Header = append(line.Receipt.Header, fieldLine{text(f.Name), text(f.Value)})
		}
	}
	if r.Prior != nil {
		line.Prior = lineOf(*r.Prior)
	}
	for _, m := range r.History {
		line.History = append(line.History, moveLine{
			m.At, m.From.String(), m.To.String(), m.Attempt, text(m.Reason), text(m.By), text(m.Note),
		})
	}
	return line
}

// decodeLine is the inverse of encodeLine.
func decodeLine(b []byte) (r Record, payload []byte, err error) {
	var line recordLine
	if err := strictJSON(b, &line); err != nil {
		return Record{}, nil, err
	}
	if r, err = line.record(); err != nil {
		return Record{}, nil, err
	}
	return r, line.Payload, nil
}

func (l *recordLine) record() (r Record, err error) {
	r = Record{
		ID: ID{string(l.Operation), string(l.EventKey)}, Reason: string(l.Reason), Incarnation: string(l.Incarnation),
		Attempt: l.Attempt, Refused: l.Refused, Reported: l.Reported, Generation: l.Generation, MaxAttempts: l.MaxAttempts,
		FirstSeenAt: l.FirstSeenAt, ClaimedAt: l.ClaimedAt, SettledAt: l.SettledAt, Deadline: l.Deadline, ExpiresAt: l.ExpiresAt,
		KeyedAt: l.KeyedAt, RepeatUntil: l.RepeatUntil,
		Fingerprint: Hash(l.Fingerprint), Covers: string(l.Covers), TokenHash: Hash(l.TokenHash), HeaderHash: Hash(l.HeaderHash),
		Execution: string(l.Execution), ActionID: string(l.ActionID), Doubt: l.Doubt, Unproven: string(l.Unproven),
	}
	var holder, evidence int
	if r.State, err = stateNamed(l.State); err != nil {
		return r, err
	}
	if holder, err = numberOf("holder", holderNames, l.Holder); err != nil {
		return r, err
	}
	if evidence, err = numberOf("evidence", evidenceNames, l.Evidence); err != nil {
		return r, err
	}
	r.Holder, r.Evidence = Holder(holder), Evidence(evidence)
	if l.Retention != "" {
		if r.Retention, err = time.ParseDuration(l.Retention); err != nil {
			return r, err
		}
	}
	for _, a := range l.Aliases {
		kind, err := numberOf("kind of alias", aliasNames, a.Kind)
		if err != nil {
			return r, err
		}
		value, err := hex.DecodeString(a.Hex)
		if err != nil || (a.Text != "") != (AliasKind(kind) == AliasExecution) || a.Text != "" && a.Hex != "" {
			return r, fmt.Errorf("an alias of kind %q has the wrong form", a.Kind)
		}
		r.Aliases = append(r.Aliases, Alias{AliasKind(kind), string(a.Text) + string(value)})
	}
	if l.Receipt != nil {
		r.Receipt = &Receipt{
			Status: l.Receipt.Status, Body: l.Receipt.Body, BodyDropped: l.Receipt.BodyDropped, Result: l.Receipt.Result,
		}
		for _, f := range l.Receipt.Header {
			r.Receipt.Header = append(r.Receipt.Header, Field{string(f.Name), string(f.Value)})
		}
	}
	if l.Prior != nil {
		if l.Prior.Prior != nil {
			return r, errors.New("a prior has no prior")
		}
		prior, err := l.Prior.record()
		if err != nil {
			return r, fmt.Errorf("prior: %w", err)
		}
		r.Prior = &prior
	}
	return r, l.moves(&r)
}

func (l *recordLine) moves(r *Record) error {
	for _, m := range l.History {
		from, err := stateNamed(m.From)
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		to, err := stateNamed(m.To)
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		r.History = append(r.History, Move{m.At, from, to, m.Attempt, string(m.Reason), string(m.By), string(m.Note)})
	}
	return nil
}

func stateNamed(name string) (State, error) {
	i := slices.Index(stateNames[:], name)
	if i < 0 {
		return 0, fmt.Errorf("no state: %q", name)
	}
	return State(i), nil
}
