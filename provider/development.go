package provider

import "time"

var github = Preset{
	Name: "github", Title: "GitHub",
	About:     "Webhooks of repositories, organisations and apps, JSON or form-encoded.",
	Links:     []string{"https://docs.github.com/en/webhooks/using-webhooks/best-practices-for-using-webhooks", "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries"},
	Ways:      []Way{{Option: "secret", Proof: githubProof}},
	Options:   []Option{secret("the webhook's secret; while it is changed, both")},
	Shapes:    only(fromHeader("X-GitHub-Delivery")),
	EventType: []string{"X-GitHub-Event"},
	Deadline:  10 * time.Second,
	Retries:   Retries{None: true, Signed: SignedNoTime, Schedule: "none; a person or a script may ask for a redelivery within 3 days"},
	GivesUp:   "GitHub does not drop webhooks that fail.",
	Retention: 30 * day,
	Advice: []string{
		"What failed is not tried again: redeliver it from the webhook's page or by the API.",
		"A repository, its organisation and an app may each have a webhook for one event: each delivers it under an id of its own, and with the same body. Point only one of them at a URL.",
		"The ping on creation is an ordinary delivery: the workflow sees it, with X-GitHub-Event: ping.",
	},
	Facts: []Fact{
		fact(Identity, "X-GitHub-Delivery stays the same over redeliveries.", "github/docs, best-practices-for-using-webhooks.md"),
		unconfirmed(Identity, "Each hook that one event reaches has a delivery id of its own.", "no source"),
		fact(Signature, "X-Hub-Signature-256: sha256= and HMAC-SHA256 in hex of the raw body, without a time. The headers are not signed.", "github/docs, validating-webhook-deliveries.md; published vectors"),
		fact(Deadlines, "10 s on github.com (30 s on Enterprise Server).", "github/docs, best-practices-for-using-webhooks.md"),
		fact(Retrying, "None by itself.", "github/docs, best-practices-for-using-webhooks.md"),
		fact(Bodies, "JSON, or form-encoded with the JSON in payload; the signature is over the raw body either way.", "github/docs, validating-webhook-deliveries.md"),
	},
}

var gitlab = Preset{
	Name: "gitlab", Title: "GitLab",
	About: "Webhooks of projects, groups and systems, from GitLab 17.4.",
	Links: []string{"https://docs.gitlab.com/user/project/integrations/webhooks/"},
	Ways: []Way{
		{Option: "secret", Proof: standardProof("webhook")},
		{Option: "token", Proof: tokenProof("X-Gitlab-Token")},
	},
	Options: []Option{
		secret("the signing token (whsec_…), GitLab 19"),
		{Name: "token", Secret: true, Many: true, About: "the secret token of older webhooks, which GitLab sends as it is. Not beside secret: who strips a signature must not get in by the token"},
	},
	// One value by two names. Where a signature is checked, only the signed name is
	// there for sure, and it is the one that counts.
	Shapes: []Shape{
		{Name: "signed", When: []Condition{there(fromHeader("Webhook-Id"))}, Key: []keySource{fromHeader("Webhook-Id")}},
		{Name: "unsigned", When: []Condition{absent(fromHeader("Webhook-Id"))}, Key: []keySource{fromHeader("Idempotency-Key")}},
	},
	EventType: []string{"X-Gitlab-Event"},
	Deadline:  10 * time.Second,
	Retries:   Retries{None: true, Signed: SignedAnew, Schedule: "none of failures; the same job may run twice, under one id"},
	GivesUp:   "On gitlab.com 4 failures in a row disable a webhook for a minute, then for longer, up to a day; 40 disable it for good. Elsewhere the administrator decides.",
	Retention: 30 * day,
	Advice:    []string{"What failed is not tried again: use \"Resend request\" in the webhook's log."},
	Facts: []Fact{
		fact(Identity, "Idempotency-Key stays over re-runs of the job and equals webhook-id; X-Gitlab-Webhook-UUID is new with every delivery, X-Gitlab-Event-UUID is shared by different events.", "gitlabhq, app/services/web_hook_service.rb, lib/gitlab/web_hooks/recursion_detection/uuid.rb"),
		unconfirmed(Identity, "\"Resend request\" keeps the id.", "a comment in a third party's code"),
		fact(Signature, "Signing token: Standard Webhooks' headers. Secret token: X-Gitlab-Token, plain.", "GitLab merge requests 230944 and 231325"),
		unconfirmed(Signature, "Signing tokens are there from GitLab 19.0.", "secondary"),
		unconfirmed(Deadlines, "10 s, unless the administrator set another.", "issues of third parties"),
		unconfirmed(Retrying, "Failures are not tried again.", "secondary"),
		fact(GivingUp, "4 failures in a row disable for a while, 40 for good; on by default on gitlab.com only.", "GitLab merge request 166329, issue 462719"),
	},
}

var jira = Preset{
	Name: "jira", Title: "Jira Cloud",
	About:    "Webhooks of Jira's administration that have a secret. Not those of Connect and OAuth apps, which carry a JWT.",
	Links:    []string{"https://developer.atlassian.com/cloud/jira/platform/webhooks/"},
	Ways:     []Way{{Option: "secret", Proof: jiraProof}},
	Options:  []Option{secret("the webhook's secret; Jira shows it only once")},
	Shapes:   only(fromHeader("X-Atlassian-Webhook-Identifier")),
	Deadline: 20 * time.Second,
	Answers:  retriedInstead,
	Retries:  Retries{Window: 2 * time.Hour, Signed: SignedNoTime, Schedule: "up to 5 times, 5 to 15 minutes apart, after 408, 409, 425, 429, 5xx, timeouts and failed connections only"},
	GivesUp:  "After about half an hour of failures Jira makes one try an event only.",

	Retention: 30 * day,
	Advice:    []string{"Other answers than those that Jira tries again lose the event, so what the gate refuses is answered 503 here."},
	Facts: []Fact{
		unconfirmed(Identity, "X-Atlassian-Webhook-Identifier is unique within a site and the same over retries.", "documentation quoted by jira.js and others, and a capture of a real delivery"),
		unconfirmed(Signature, "X-Hub-Signature: sha256= and HMAC-SHA256 in hex of the raw body. Another method than sha256 may come some day. The headers are not signed.", "hookdeck.com, skills.sh; confluence.atlassian.com says the same of Jira Data Center"),
		unconfirmed(Deadlines, "5 s to connect, 20 s for the answer.", "hookdeck.com/webhooks/platforms/guide-to-jira-webhooks-features-and-best-practices"),
		unconfirmed(Retrying, "Up to 5 times, 5 to 15 minutes apart, after some answers only; not after 400 or 404.", "quotation of developer.atlassian.com in a third party's guide"),
		unconfirmed(GivingUp, "One try an event after half an hour of failures.", "quotation of developer.atlassian.com in a third party's guide"),
	},
}
