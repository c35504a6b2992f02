package provider

import (
	"time"

	"github.com/n8n-gate/n8n-gate/signature"
)

var (
	twilioToken    = fromHeader("I-Twilio-Idempotency-Token")
	twilioMessage  = fromForm("MessageStatus")
	twilioSMS      = fromForm("SmsStatus")
	twilioCall     = fromForm("CallStatus")
	twilioSequence = fromForm("SequenceNumber")
	twilioRecorded = fromForm("RecordingStatus")
)

var twilio = Preset{
	Name: "twilio", Title: "Twilio",
	About:   "Incoming messages, calls, and status callbacks, as form-encoded POST. Not Event Streams, which sends batches of JSON.",
	Links:   []string{"https://www.twilio.com/docs/usage/webhooks/webhooks-security", "https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides"},
	Ways:    []Way{{Option: "secret", Proof: signature.Config{Kind: signature.KindTwilio}}},
	Options: []Option{secret("the account's auth token; while it is rotated, both"), publicURL},
	Shapes: []Shape{
		{Name: "callback", When: []Condition{there(twilioToken)}, Key: []keySource{literal("token"), twilioToken}},
		{
			Name: "message status", When: []Condition{absent(twilioToken), there(twilioMessage)},
			Key: []keySource{literal("message"), fromForm("MessageSid"), twilioMessage},
		}, {
			Name: "incoming message", When: []Condition{absent(twilioToken), absent(twilioMessage), there(twilioSMS)},
			Key: []keySource{literal("message"), fromForm("MessageSid"), twilioSMS},
		}, {
			Name: "recording", When: []Condition{absent(twilioToken), there(twilioRecorded)},
			Key: []keySource{literal("recording"), fromForm("RecordingSid"), twilioRecorded},
		}, {
			Name: "call status", When: []Condition{absent(twilioToken), absent(twilioRecorded), there(twilioCall), there(twilioSequence)},
			Key: []keySource{literal("call"), fromForm("CallSid"), twilioCall, twilioSequence},
		}, {
			Name: "call", When: []Condition{absent(twilioToken), absent(twilioRecorded), there(twilioCall), absent(twilioSequence)},
			Key: []keySource{literal("call"), fromForm("CallSid"), twilioCall},
		},
	},
	Deadline:    15 * time.Second,
	Acknowledge: Answer{Status: 200, ContentType: "text/xml", Body: "<Response/>"},
	Retries:     Retries{None: true, Signed: SignedNoTime, Schedule: "once, if the connection failed; after an answer only if the URL asks for it (#rc=…&rp=…)"},
	GivesUp:     "Never; a fallback URL is asked instead.",
	Retention:   30 * day,
	Advice: []string{
		"Twilio acts on the answer (TwiML): let the workflow answer it. Replays repeat it.",
		"Put `#rc=3&rp=all` behind the URL at Twilio: then it tries again when the gate asks it to.",
		"Twilio signs neither the token nor the borders between the fields: who could read a delivery could send it again under a token of their own. Where that matters more than calls do, write the signed identity out: `key form MessageSid`, `key form MessageStatus`.",
		"A caller who presses the same key twice sends the same body twice: where several steps of a call come to one URL, give the webhook `reused_body off`, or `mode pass`.",
	},
	Facts: []Fact{
		fact(Identity, "I-Twilio-Idempotency-Token is the same over the tries of one callback. It is not signed.", "Twilio's Agent Connect documentation; Pipedream's Twilio component"),
		fact(Identity, "MessageSid and CallSid name the object: each status repeats them.", "twilio.com/docs"),
		unconfirmed(Identity, "Without the token: the Sid with its status, for calls with SequenceNumber. Steps of a call without one have one key; if their contents differ, a person is asked.", "no source"),
		fact(Signature, "X-Twilio-Signature: HMAC-SHA1 in base64 of the public URL and the sorted form fields, or of the URL that holds bodySHA256; without a time.", "twilio-go client/request_validator_test.go; published vectors"),
		fact(Deadlines, "15 s altogether.", "twilio.com/docs/usage/webhooks/webhooks-connection-overrides"),
		fact(Retrying, "One try more (rc), by default after failed connections only (rp).", "twilio.com/docs/usage/webhooks/webhooks-connection-overrides; hookdeck.com"),
		unconfirmed(Bodies, "An empty answer of type JSON raises error 12300, so what was settled without a response is answered with an empty TwiML document.", "no source"),
	},
}
