package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
)

// NewToken makes the fencing token of one attempt: 128 random bits, in
// base64url. Only its hash is stored.
func NewToken() (token string, hash Hash) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	token = base64.RawURLEncoding.EncodeToString(b[:])
	return token, HashToken(token)
}

// HashToken is the hash under which the attempt that holds token is known.
func HashToken(token string) Hash { return sha256.Sum256([]byte(token)) }

func tokenAlias(h Hash) Alias { return Alias{AliasToken, string(h[:])} }

// EventAlias finds the record of an event, by its own key, that n8n has proven to be its
// sender's.
func EventAlias(event ID) Alias { return Alias{AliasEvent, event.Operation + "\x00" + event.EventKey} }

// IdempotencyKey is stable per event, operation and generation: the key that a
// workflow passes on to the system it acts on. 32 hex digits.
func (r Record) IdempotencyKey() string {
	h := sha256.New()
	for _, s := range []string{"n8n-gate-idempotency-key", r.Operation, r.EventKey, strconv.Itoa(r.Generation)} {
		// Each part is preceded by its length, so that no two records hash alike.
		h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
