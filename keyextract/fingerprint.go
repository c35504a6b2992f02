package keyextract

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strings"
	"sync"
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
	// Header is the request's; only a multipart body's type is read from it.
	Header http.Header
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

// What stands before the body's part of the fingerprint, and before a member's.
const (
	bodyRaw       = 0 // the bytes
	bodyCanonical = 1 // the canonical form
	bodyMembers   = 2 // each member
	bodyMultipart = 3 // each part
	memberAbsent  = 0
	memberPresent = 1 // its canonical form and memberEnd, which no form holds
	memberEnd     = 0
)

// Sum is SHA-256 over the method, the path, the query and the body: JSON in
// canonical form, or the members named, where one that is absent differs from
// one that is null; the parts of a multipart body, whose boundary is another with
// every try; and what is neither, or has no canonical form, as it stands. No two
// inputs run together: what comes first is preceded by its length, and the body's
// ways by different bytes.
func (f *Fingerprint) Sum(in FingerprintInput) (sum [sha256.Size]byte) {
	h := sums.Get().(hash.Hash)
	defer sums.Put(h)
	h.Reset()
	body := f.writeJSON
	if multipartType(in.Header) {
		body = func(h hash.Hash, body []byte) error { return writeMultipart(h, in.Header, body) }
	}
	if f.write(h, in, body) != nil {
		h.Reset() // a part may have been written
		_ = f.write(h, in, writeRaw)
	}
	h.Sum(sum[:0])
	return sum
}

// sums are hashes for use: one that is made for every delivery is garbage after it.
var sums = sync.Pool{New: func() any { return sha256.New() }}

func (f *Fingerprint) write(h hash.Hash, in FingerprintInput, body func(hash.Hash, []byte) error) error {
	start := make([]byte, 0, 3*8+len(in.Method)+len(in.Path)+len(in.RawQuery))
	for _, part := range [...]string{in.Method, in.Path, in.RawQuery} {
		start = binary.BigEndian.AppendUint64(start, uint64(len(part)))
		start = append(start, part...)
	}
	h.Write(start)
	return body(h, in.Body)
}

func writeRaw(h hash.Hash, body []byte) error {
	h.Write([]byte{bodyRaw})
	h.Write(body)
	return nil
}

func (f *Fingerprint) writeJSON(h hash.Hash, body []byte) error {
	if len(f.members) == 0 {
		h.Write([]byte{bodyCanonical})
		return writeCanonical(h, body)
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
		h.Write([]byte{memberPresent})
		if err := writeCanonical(h, body[at:afterValue(body, at)]); err != nil {
			return err
		}
		h.Write([]byte{memberEnd})
	}
	return nil
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
