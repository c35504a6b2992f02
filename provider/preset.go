package provider

import (
	"time"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/signature"
)

// Preset is what the gate knows of one sender.
type Preset struct {
	// Name is lower snake_case, as `provider NAME` has it.
	Name string

	// Title is how the sender calls itself, About what the preset is for.
	Title, About string

	// Links lead to the sender's documentation.
	Links []string

	// Ways are how the sender proves who it is. Those of one option are alternatives,
	// the first whose Header is there; those of different options exclude each other.
	Ways []Way

	// Options are what `provider NAME { … }` takes.
	Options []Option

	// Methods beside POST by which events arrive.
	Methods []string

	// Shapes are the kinds of deliveries and what names their events. None: the user
	// says it with `key`.
	Shapes []Shape

	// EventType are the headers that say what kind of event a delivery carries: with
	// them one body may be two events.
	EventType []string

	// Fingerprint is what stays the same when the sender tries again.
	Fingerprint Fingerprint

	// Handshakes are the sender's challenges.
	Handshakes []Handshake

	// Batch is where a delivery carries several events. Batches are not built yet:
	// until then a delivery with more than one is refused as malformed.
	Batch *Batch

	// Deadline is how long the sender waits for an answer. 0: unknown.
	Deadline time.Duration

	// Answers are sent instead of the gate's own, by decision, as `respond` has them.
	// None is a 2xx.
	Answers map[string]Answer

	// RetryAfter is what transient answers ask for, where the sender heeds another value
	// than the gate's. 0: the gate's.
	RetryAfter time.Duration

	// Acknowledge is the answer to an event that was settled without a response. Zero:
	// 200 empty.
	Acknowledge Answer

	// Retries are what the sender does after a failed delivery.
	Retries Retries

	// GivesUp says what makes the sender drop the webhook altogether.
	GivesUp string

	// Retention is the least that completed events should be remembered.
	Retention time.Duration

	// Advice is what to set up at the sender, and what to beware of.
	Advice []string

	// Facts are what all this rests on.
	Facts []Fact
}

// Way is one way in which a sender proves who it is.
type Way struct {
	// Option holds the secrets.
	Option string

	// Header chooses this way of several with one option: it is there.
	Header string

	// Proof is what the sender does, without secrets.
	Proof signature.Config
}

// Option is one line of a provider block.
type Option struct {
	Name string

	// Secret: its values are placeholders, resolved when the configuration is loaded.
	Secret bool

	// Many: several values, while a secret is rotated.
	Many bool

	// Required: without it the preset cannot work. An option that Ways name is required
	// in any case, one of them.
	Required bool

	// About is a sentence for the documentation.
	About string
}

// Fingerprint tells whether two deliveries with one key are the same event.
type Fingerprint struct {
	// Members of the JSON body that stay the same over all tries. None: method, path,
	// query and the whole body.
	Members []string

	// Off: nothing is compared.
	Off bool

	// Why, where it is not the whole body.
	Why string
}

// Batch is where a delivery carries several events.
type Batch struct {
	// Path leads to the items, as `batch` has it; "@this" is the body itself.
	Path string

	// Key are the parts of an item's key, read in the item.
	Key []keyextract.Source

	// Refused says what the sender does with a refused batch.
	Refused string
}

// Retries are what a sender does after a failed delivery.
type Retries struct {
	// None: it never tries again, so that what failed waits for a person at once.
	None bool

	// Window is how long after the first delivery the last try comes. 0: unknown, or
	// none.
	Window time.Duration

	// Signed is what is known of a retry's signature.
	Signed Signed

	// Schedule in words.
	Schedule string
}

// Signed says whether a sender signs its retries anew.
type Signed int

const (
	// SignedUnknown: nobody knows. The tolerance is wide then: an old delivery meets
	// its record anyway.
	SignedUnknown Signed = iota
	// SignedAnew: with the time of the try.
	SignedAnew
	// SignedNoTime: no time is signed. How long events are remembered is then how long
	// a replay is known.
	SignedNoTime
)

// Fact is one statement about a sender.
type Fact struct {
	// About is one of the Topics.
	About Topic

	Text string

	// Source is where it was read.
	Source string

	// Unconfirmed: the source is no primary one, or there is none.
	Unconfirmed bool
}

// Topic is what a fact is about.
type Topic string

// The topics, in the order of the documentation.
const (
	Identity  Topic = "identity"
	Signature Topic = "authentication"
	Handshook Topic = "handshake"
	Deadlines Topic = "deadline"
	Retrying  Topic = "retries"
	GivingUp  Topic = "giving up"
	Bodies    Topic = "body"
)

// Topics are all of them in order.
var Topics = []Topic{Identity, Signature, Handshook, Deadlines, Retrying, GivingUp, Bodies}

// longestWait bounds how long a duplicate is held: each holds a connection.
const longestWait = 10 * time.Second

// Wait is how long a duplicate may wait for the attempt in flight: two thirds of the
// sender's own deadline, at most 10s. 0: the gate's default.
func (p *Preset) Wait() time.Duration { return min(p.Deadline*2/3, longestWait) }
