package signature

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
)

// newEd25519 checks signatures as Discord makes them.
func newEd25519(c Config, key string) (proof, error) {
	public, err := keyOf(or(c.Key, Hex), key)
	if err != nil {
		return nil, err
	}
	if len(public) != ed25519.PublicKeySize {
		return nil, errors.New("is no ed25519 public key")
	}
	return newSigned(c, Hex, func(sent, message [][]byte) bool {
		whole := joined(message)
		return slices.ContainsFunc(sent, func(sig []byte) bool { return ed25519.Verify(public, whole, sig) })
	})
}

// newECDSA checks signatures as SendGrid makes them: ASN.1, over SHA-256, P-256.
func newECDSA(c Config, key string) (proof, error) {
	var der []byte
	if block, _ := pem.Decode([]byte(key)); block != nil {
		der = block.Bytes
	} else if text, err := keyOf(or(c.Key, Base64), key); err == nil {
		der = text
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	public, ok := parsed.(*ecdsa.PublicKey)
	if err != nil || !ok || public.Curve != elliptic.P256() {
		return nil, errors.New("is no P-256 public key (SubjectPublicKeyInfo)")
	}
	return newSigned(c, Base64, func(sent, message [][]byte) bool {
		digest := sum(sha256.New(), message...)
		return slices.ContainsFunc(sent, func(sig []byte) bool { return ecdsa.VerifyASN1(public, digest, sig) })
	})
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
