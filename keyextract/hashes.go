package keyextract

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// readBodySHA256 hashes the body as it is after decoding: a sender, or a proxy
// on the way, may compress the same event anew for every try.
func readBodySHA256(r *request) (string, error) {
	if len(r.Body) == 0 {
		return "", absent("the body is empty")
	}
	sum := sha256.Sum256(r.Body)
	return hex.EncodeToString(sum[:]), nil
}

// canonicalReader hashes the canonical form of the body or, if there are paths,
// of the array of the members that they lead to, all of which must be there.
func canonicalReader(paths []string) (reader, error) {
	members, err := parsePaths(paths)
	if err != nil {
		return nil, err
	}
	return func(r *request) (string, error) {
		if len(r.Body) == 0 {
			return "", absent("the body is empty")
		}
		if r.jsonErr != nil {
			return "", r.jsonErr
		}
		hash := sha256.New()
		if len(members) == 0 {
			if err := writeCanonical(hash, r.Body); err != nil {
				return "", malformed("the body has no canonical form: %w", err)
			}
			return hex.EncodeToString(hash.Sum(nil)), nil
		}
		var missing error
		present := 0
		separator := byte('[')
		for i, m := range members {
			at, err := locate("the body", r.Body, m)
			switch {
			case errors.Is(err, errAbsent):
				if missing == nil {
					missing = err
				}
				continue
			case err != nil:
				return "", err
			}
			present++
			hash.Write([]byte{separator})
			separator = ','
			if err := writeCanonical(hash, r.Body[at:afterValue(r.Body, at)]); err != nil {
				return "", malformed("the member %s has no canonical form: %w", quoted(paths[i]), err)
			}
		}
		switch {
		case missing != nil && present > 0:
			return "", partlyAbsent("%s", missing)
		case missing != nil:
			return "", missing
		}
		hash.Write([]byte{']'})
		return hex.EncodeToString(hash.Sum(nil)), nil
	}, nil
}
