package provider

import "time"

var slack = Preset{
	Name: "slack", Title: "Slack Events API",
	About:   "Events that an app subscribed to. Buttons, modals and shortcuts come to slack_interactivity, commands to slack_command.",
	Links:   []string{"https://docs.slack.dev/apis/events-api/", "https://docs.slack.dev/authentication/verifying-requests-from-slack/"},
	Ways:    []Way{{Option: "secret", Proof: slackEventsProof}},
	Options: []Option{slackSecret},
	Shapes:  only(fromJSON("event_id")),
	Fingerprint: Fingerprint{
		Members: []string{"type", "team_id", "api_app_id", "event", "event_time"},
		Why:     "whether authorizations and event_context stay the same is not documented",
	},
	Handshakes: []Handshake{{
		Name: "url_verification", Signed: true, Method: "POST",
		When:      []Condition{is(fromJSON("type"), "url_verification"), absent(fromJSON("event_id"))},
		Challenge: source(fromJSON("challenge")), Reply: Reply{Text: true},
	}},
	Deadline: 3 * time.Second,
	Retries:  Retries{Window: 10 * time.Minute, Signed: SignedUnknown, Schedule: "3 times: at once, after 1 minute, after 5 minutes; the first may come while the first delivery is still at work"},
	GivesUp:  "Slack disables an app's events when more than 95 % fail within an hour.",

	Retention: 7 * day,
	Advice: []string{
		"X-Slack-No-Retry is never sent: while an attempt is in flight or waits for n8n, the retry is what brings the event through.",
		"app_rate_limited has no event id and is refused; `missing_key pass` lets it through.",
	},
	Facts: []Fact{
		fact(Identity, "event_id is the same over the retries; one event that reaches several authorizations is sent once.", "docs.slack.dev"),
		fact(Signature, "X-Slack-Signature: v0= and HMAC-SHA256 in hex of v0:, X-Slack-Request-Timestamp, a colon and the raw body.", "docs.slack.dev; slack-go security_test.go; published vector"),
		unconfirmed(Signature, "Whether retries are signed anew is not documented. Since the last comes after 6 minutes, 15 are allowed instead of Slack's 5; an older delivery meets its record.", "no source"),
		fact(Handshook, "url_verification: a signed POST whose challenge is sent back.", "docs.slack.dev"),
		fact(Deadlines, "3 s.", "docs.slack.dev"),
		fact(Retrying, "3 times: at once, after 1 and after 5 minutes.", "docs.slack.dev"),
		unconfirmed(GivingUp, "More than 95 % failures within 60 minutes disable the subscription.", "no source"),
	},
}

var slackSecret = secret("the app's signing secret")

var slackInteractivity = Preset{
	Name: "slack_interactivity", Title: "Slack interactivity",
	About:   "Buttons, menus, modals, shortcuts and message actions. Menus that load their options from outside have no identity: give them a webhook with `mode pass`.",
	Links:   []string{"https://docs.slack.dev/interactivity/"},
	Ways:    []Way{{Option: "secret", Proof: slackProof}},
	Options: []Option{slackSecret},
	Shapes: []Shape{
		{Name: "action", When: []Condition{isNot(fromFormJSON("payload", "type"), "view_closed")}, Key: []keySource{fromFormJSON("payload", "trigger_id")}},
		{
			Name: "closed", When: []Condition{is(fromFormJSON("payload", "type"), "view_closed")},
			Key: []keySource{literal("view_closed"), fromFormJSON("payload", "view.id")},
		},
	},
	Deadline:  3 * time.Second,
	Retries:   Retries{None: true, Signed: SignedAnew, Schedule: "none; the user sees an error"},
	GivesUp:   "Never.",
	Retention: day,
	Advice:    []string{"Slack shows what the workflow answers: let it answer within 3 seconds, or at once with an empty body."},
	Facts: []Fact{
		unconfirmed(Identity, "trigger_id is another one with every action of a user.", "docs.slack.dev, which does not promise it in these words"),
		unconfirmed(Identity, "view_closed has no trigger_id; a view is closed once.", "no source"),
		fact(Signature, "As for events, over the form-encoded raw body.", "docs.slack.dev"),
		fact(Deadlines, "3 s.", "docs.slack.dev"),
		unconfirmed(Retrying, "Slack does not repeat them.", "no source"),
		fact(Bodies, "A form with JSON in payload.", "docs.slack.dev"),
	},
}

var slackCommand = Preset{
	Name: "slack_command", Title: "Slack slash commands",
	About:   "Slash commands, as POST.",
	Links:   []string{"https://docs.slack.dev/interactivity/implementing-slash-commands/"},
	Ways:    []Way{{Option: "secret", Proof: slackProof}},
	Options: []Option{slackSecret},
	Shapes:  only(fromForm("trigger_id")),
	Handshakes: []Handshake{{
		Name: "ssl_check", Method: "POST",
		When: []Condition{is(fromForm("ssl_check"), "1"), absent(fromForm("command")), absent(fromForm("trigger_id"))},
	}},
	Deadline:  3 * time.Second,
	Retries:   Retries{None: true, Signed: SignedAnew, Schedule: "none; the user sees an error"},
	GivesUp:   "Never.",
	Retention: day,
	Facts: []Fact{
		unconfirmed(Identity, "trigger_id is another one with every command.", "docs.slack.dev, which does not promise it in these words"),
		fact(Signature, "As for events, over the form-encoded raw body.", "docs.slack.dev; its published vector is a command"),
		unconfirmed(Handshook, "Now and then a POST with ssl_check=1 and nothing else but a token, which wants 200; a GET of the kind gets 405.", "no source"),
		fact(Deadlines, "3 s.", "docs.slack.dev"),
		unconfirmed(Retrying, "Slack does not repeat them.", "no source"),
	},
}

var telegram = Preset{
	Name: "telegram", Title: "Telegram bots",
	About: "Updates of one bot. Two bots need two webhooks: their update ids are counted apart.",
	Links: []string{"https://core.telegram.org/bots/api#setwebhook"},
	Ways:  []Way{{Option: "token", Proof: tokenProof("X-Telegram-Bot-Api-Secret-Token")}},
	Options: []Option{
		{Name: "token", Secret: true, Many: true, About: "the secret_token that was given to setWebhook"},
	},
	Shapes:    only(fromJSON("update_id")),
	Retries:   Retries{Window: day, Signed: SignedNoTime, Schedule: "a reasonable number of times, within a day"},
	GivesUp:   "Updates are dropped after a day.",
	Retention: 2 * day,
	Advice: []string{
		"An update that is refused over and over may hold up those behind it: settle what is `ambiguous` soon.",
		"After a week without updates the ids begin anew at random. A retention of some days keeps them from meeting old ones; if they do, the contents differ and a person is asked.",
		"n8n's Telegram Trigger makes a secret of its own, which nobody sees: `auth upstream` is for that.",
	},
	Facts: []Fact{
		fact(Identity, "update_id grows by one, and lets receivers ignore repeats; after a week without updates the next is random.", "Bot API documentation, quoted in ten repositories"),
		fact(Signature, "X-Telegram-Bot-Api-Secret-Token is the secret_token of setWebhook.", "n8n, TelegramTrigger.node.ts"),
		unconfirmed(Deadlines, "Not documented: the gate's own wait holds.", "no source"),
		unconfirmed(Retrying, "\"A reasonable amount of attempts\"; updates are kept for 24 hours.", "Bot API documentation, by docs.rs/teloxide-core; the 24 hours without a source"),
	},
}

var line = Preset{
	Name: "line", Title: "LINE Messaging API",
	About:   "Events of one channel, one in a request.",
	Links:   []string{"https://developers.line.biz/en/docs/messaging-api/receiving-messages/"},
	Ways:    []Way{{Option: "secret", Proof: lineProof}},
	Options: []Option{secret("the channel secret")},
	Shapes:  only(fromJSON("events.0.webhookEventId")),
	Fingerprint: Fingerprint{
		Members: []string{"destination", "events.0.type", "events.0.timestamp", "events.0.source", "events.0.message", "events.0.postback"},
		Why:     "deliveryContext says whether it is a redelivery",
	},
	Handshakes: []Handshake{{Name: "verify", Signed: true, Method: "POST", EmptyList: "events"}},
	Batch: &Batch{
		Path: "events", Key: []keySource{fromJSON("webhookEventId")},
		Refused: "LINE sends it again only if redelivery is switched on, for a while; then the events are lost.",
	},
	Deadline:  2 * time.Second,
	Retries:   Retries{Window: day, Signed: SignedNoTime, Schedule: "only if webhook redelivery is switched on, for a short while"},
	GivesUp:   "LINE may stop sending to a server that fails for long.",
	Retention: 30 * day,
	Advice: []string{
		"Switch webhook redelivery on in the console: otherwise what failed is gone.",
		"A replyToken dies within a minute or so: a workflow that replies after a redelivery may have to push.",
	},
	Facts: []Fact{
		fact(Identity, "webhookEventId is a ULID, and the same on redelivery, when deliveryContext.isRedelivery is true.", "LINE's OpenAPI models on docs.rs"),
		fact(Signature, "X-Line-Signature: HMAC-SHA256 in base64 of the raw body, without a time.", "line-bot-sdk-python; published vectors"),
		fact(Handshook, "The console's Verify sends an empty list of events, which wants 200.", "line-bot-sdk-python"),
		unconfirmed(Deadlines, "2 s.", "no source"),
		fact(GivingUp, "LINE may stop sending to a server that fails for long.", "developers.line.biz/ja/docs/messaging-api/receiving-messages"),
		unconfirmed(Retrying, "For how long redelivery goes on is not documented; a day is assumed.", "no source"),
	},
}
