package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"html"
	"strings"
)

var hashes = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// sum is the MAC of the parts one behind the other.
func sum(h hash.Hash, parts ...[]byte) []byte {
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

func newHMAC(c Config, secret string) (proof, error) {
	key, err := keyOf(c.Key, secret)
	if err != nil {
		return nil, err
	}
	return newSigned(c, "", func(sent, message [][]byte) bool {
		return anyOf(sent, sum(hmac.New(hashes[c.Hash], key), message...))
	})
}

// newDigest checks a plain hash in which the secret stands. Who has a delivery can append
// to it and knows the hash of that (length extension), so it is for bodies that have an end.
func newDigest(c Config, secret string) (proof, error) {
	s, err := newSigned(c, "", func(sent, message [][]byte) bool {
		return anyOf(sent, sum(hashes[c.Hash](), message...))
	})
	if s != nil {
		s.secret = secret
	}
	return s, err
}

// keyOf decodes a key.
func keyOf(encoding, secret string) (key []byte, err error) {
	switch encoding {
	case Hex:
		key, err = hex.DecodeString(secret)
	case Base64:
		key, err = decodeBase64(secret)
	case Whsec:
		key, err = decodeBase64(strings.TrimPrefix(secret, "whsec_"))
	case SHA1:
		hashed := sha1.Sum([]byte(secret))
		key = hashed[:]
	case HTML:
		key = []byte(html.UnescapeString(secret))
	default:
		key = []byte(secret)
	}
	if err != nil || len(key) == 0 {
		return nil, errors.New("is not written in " + encoding)
	}
	return key, nil
}

// joined is the message in one piece, for signatures that are not taken of a hash.
func joined(message [][]byte) []byte { return bytes.Join(message, nil) }
