package signature

import (
	"crypto"
	"net/http"
	"regexp"
	"time"
)

// sns is how Amazon SNS signs: RSA over some members of the message, each with its name,
// and the certificate's URL in it. Source: docs.aws.amazon.com/sns, "Verifying the
// signatures of Amazon SNS messages"; sns-validator (index.js).
type sns struct {
	certificates *certificates
	tolerance    time.Duration
}

// snsCertificate is where Amazon publishes the certificates.
var snsCertificate = regexp.MustCompile(`^https://sns\.[a-z0-9-]{1,40}\.amazonaws\.com(\.cn)?/SimpleNotificationService-[A-Za-z0-9]{1,64}\.pem$`)

func newSNS(c Config, w World) proof {
	return sns{certificates: &certificates{allowed: snsCertificate, fetch: w.fetcher()}, tolerance: c.Tolerance}
}

// Which members are signed, in that order, by the message's type.
var snsMembers = map[string][]string{
	"Notification":             {"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"},
	"SubscriptionConfirmation": {"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"},
	"UnsubscribeConfirmation":  {"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"},
}

func (s sns) verify(r *http.Request, body []byte, now time.Time) error {
	tree, err := parse(body)
	if err != nil {
		return err
	}
	object, _ := tree.(map[string]any)
	members := make(map[string]string, len(object))
	for name, value := range object {
		if text, ok := value.(string); ok {
			members[name] = text
		}
	}
	names, ok := snsMembers[members["Type"]]
	if !ok {
		return ErrMalformed
	}
	var message [][]byte
	for _, name := range names {
		value, there := members[name]
		if !there {
			if name == "Subject" {
				continue
			}
			return ErrMalformed
		}
		message = append(message, []byte(name), []byte("\n"), []byte(value), []byte("\n"))
	}
	hash := crypto.SHA1
	switch members["SignatureVersion"] {
	case "1":
	case "2":
		hash = crypto.SHA256
	default:
		return ErrMalformed
	}
	sig, err := decodeBase64(members["Signature"])
	if err != nil || len(sig) == 0 {
		return ErrMissing
	}
	certificate, err := s.certificates.find(r.Context(), members["SigningCertURL"], now)
	if err != nil {
		return err
	}
	if err := rsaVerify(certificate, hash, message, sig); err != nil {
		return err
	}
	return fresh(members["Timestamp"], "rfc3339", s.tolerance, now)
}
