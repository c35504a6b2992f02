package keyextract

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// Fingerprint tells whether two deliveries with one key are the same event. It
// is safe for concurrent use.
type Fingerprint struct {
	paths   []string // canonical
	members [][]segment
}

// FingerprintInput is what a fingerprint covers.
type FingerprintInput struct {
	// Method, Path and RawQuery are the request's, the path in canonical form.
	// Method and Path are left empty where several webhooks write one operation.
	Method, Path, RawQuery string
	// Body is the whole body, decoded by Decode; as it was sent, if it could
	// not be decoded.
	Body []byte
}

// CompileFingerprint makes a fingerprint of the JSON members that paths lead to,
// or of the whole body if there are none.
func CompileFingerprint(paths []string) (*Fingerprint, error) {
	members, err := parsePaths(paths)
	if err != nil {
		return nil, err
	}
	f := &Fingerprint{members: members}
	for _, path := range paths {
		f.paths = append(f.paths, canonicalPath(path))
	}
	return f, nil
}

// String is what the fingerprint covers of a JSON body, as one line: "" for all
// of it, or the paths. Fingerprints of rules that print differently cannot be
// compared.
func (f *Fingerprint) String() string {
	words := make([]string, len(f.paths))
	for i, path := range f.paths {
		words[i] = quoted(path)
	}
	return strings.Join(words, " ")
}

// What stands before the body's part of the fingerprint.
const (
	bodyRaw       = 0 // the bytes
	bodyCanonical = 1 // the canonical form
	bodyMembers   = 2 // each member: absent, or present and its canonical form
	memberAbsent  = 0
	memberPresent = 1
)

// Sum is SHA-256 over the method, the path, the query and the body: JSON in
// canonical form, or the members named, where one that is absent differs from
// one that is null; and what is no JSON, or has no canonical form, as it stands.
// Each part is preceded by its length, so no two inputs run together.
func (f *Fingerprint) Sum(in FingerprintInput) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, part := range []string{in.Method, in.Path, in.RawQuery} {
		writePart(h, []byte(part))
	}
	if f.writeJSON(h, in.Body) != nil {
		// writeJSON may have failed half-way: begin anew.
		h.Reset()
		for _, part := range []string{in.Method, in.Path, in.RawQuery} {
			writePart(h, []byte(part))
		}
		h.Write([]byte{bodyRaw})
		writePart(h, in.Body)
	}
	h.Sum(sum[:0])
	return sum
}

func (f *Fingerprint) writeJSON(h hash.Hash, body []byte) error {
	if len(f.members) == 0 {
		if tooDeep(body) {
			return errors.New("too deep")
		}
		return canonical(body, func(form []byte) {
			h.Write([]byte{bodyCanonical})
			writePart(h, form)
		})
	}
	if err := checkJSON("the body", body); err != nil {
		return err
	}
	h.Write([]byte{bodyMembers})
	for _, m := range f.members {
		at, err := locate("the body", body, m)
		if errors.Is(err, errAbsent) {
			h.Write([]byte{memberAbsent})
			continue
		}
		if err != nil {
			return err
		}
		err = canonical(body[at:afterValue(body, at)], func(form []byte) {
			h.Write([]byte{memberPresent})
			writePart(h, form)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writePart writes b preceded by its length.
func writePart(h hash.Hash, b []byte) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
	h.Write(b)
}

// parsePaths parses every path, each of which may stand once.
func parsePaths(paths []string) ([][]segment, error) {
	seen := make(map[string]bool)
	members := make([][]segment, len(paths))
	for i, path := range paths {
		segments, err := parsePath(path)
		if err != nil {
			return nil, fmt.Errorf("path %d (%s): %w", i+1, path, err)
		}
		if name := canonicalPath(path); seen[name] {
			return nil, fmt.Errorf("path %d (%s): stands twice", i+1, path)
		} else {
			seen[name] = true
		}
		members[i] = segments
	}
	return members, nil
}
