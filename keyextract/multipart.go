package keyextract

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
)

// writeMultipart writes the parts of a multipart body, each with its headers and
// its content as they are, without the boundary between them.
func writeMultipart(h hash.Hash, header http.Header, body []byte) error {
	if len(header["Content-Type"]) != 1 {
		return malformed("Content-Type is there %d times", len(header["Content-Type"]))
	}
	kind, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || parameters["boundary"] == "" {
		return malformed("the multipart body has no boundary")
	}
	h.Write([]byte{bodyMultipart})
	writeWord(h, kind)
	parts := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for count := 0; ; count++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) && closed(body, parameters["boundary"]) {
			return nil
		}
		if err != nil || count == maxFormParts {
			return malformed("the multipart body cannot be read")
		}
		writeCount(h, len(part.Header))
		for _, name := range slices.Sorted(maps.Keys(part.Header)) {
			writeWord(h, name)
			writeCount(h, len(part.Header[name]))
			for _, value := range part.Header[name] {
				writeWord(h, value)
			}
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return malformed("the multipart body cannot be read")
		}
		writeWord(h, string(content))
	}
}

// writeWord writes s behind its length, so that no two lists of words run together.
func writeWord(h hash.Hash, s string) {
	writeCount(h, len(s))
	_, _ = io.WriteString(h, s)
}

func writeCount(h hash.Hash, n int) {
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}
