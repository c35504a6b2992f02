package keyextract

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// ErrTooLarge says that a body is, decoded, larger than the limit.
var ErrTooLarge = errors.New("the decoded body is too large")

// Decode undoes the body's Content-Encoding as n8n does before it reads it:
// "gzip", "deflate" (with zlib's header; n8n refuses raw deflate) or "identity",
// to the letter, and never for multipart bodies, which n8n reads as they come.
// The result is at most limit bytes (else ErrTooLarge), whatever the body claims,
// and may share memory with body. What has to be decoded takes limit bytes of memory
// from the start: who does not know how large it becomes tries small limits first. Other errors mean a body that n8n could not
// read either; their text holds nothing of it.
func Decode(header http.Header, body []byte, limit int64) ([]byte, error) {
	encoding := ""
	switch values := header["Content-Encoding"]; len(values) {
	case 0:
	case 1:
		encoding = strings.Trim(values[0], " \t")
	default:
		return nil, malformed("Content-Encoding is there %d times", len(values))
	}
	var decoded []byte
	var err error
	switch encoding {
	case "", "identity":
		if int64(len(body)) > limit {
			return nil, ErrTooLarge
		}
		return body, nil
	case "gzip":
		decoded, err = gunzip(body, limit)
	case "deflate":
		decoded, err = inflate(body, limit)
	default:
		return nil, malformed("the Content-Encoding is none that n8n decodes (gzip and deflate, in lower case)")
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, err
	case err != nil:
		return nil, malformed("the body cannot be decoded by its Content-Encoding, %s", encoding)
	case multipartType(header):
		return nil, malformed("n8n does not decode multipart bodies")
	}
	return decoded, nil
}

func multipartType(header http.Header) bool {
	for _, value := range header["Content-Type"] {
		if len(value) >= 10 && strings.EqualFold(value[:10], "multipart/") {
			return true
		}
	}
	return false
}

// Readers are kept because each holds some 40 KiB.
var gzipReaders, zlibReaders sync.Pool

func gunzip(body []byte, limit int64) ([]byte, error) {
	// Node's zlib refuses reserved flags, Go's ignores them.
	if len(body) > 3 && body[3]&0xe0 != 0 {
		return nil, gzip.ErrHeader
	}
	source := bytes.NewReader(body)
	r, _ := gzipReaders.Get().(*gzip.Reader)
	var err error
	if r == nil {
		r, err = gzip.NewReader(source)
	} else {
		err = r.Reset(source)
	}
	if err != nil {
		return nil, err
	}
	defer gzipReaders.Put(r)
	return readLimited(r, limit)
}

func inflate(body []byte, limit int64) ([]byte, error) {
	source := bytes.NewReader(body)
	r, _ := zlibReaders.Get().(io.ReadCloser)
	var err error
	if r == nil {
		r, err = zlib.NewReader(source)
	} else {
		err = r.(zlib.Resetter).Reset(source, nil)
	}
	if err != nil {
		return nil, err
	}
	defer zlibReaders.Put(r)
	return readLimited(r, limit)
}

// readLimited reads r to its end, where checksums are compared.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	var out bytes.Buffer
	// At once, so that nothing is copied: callers account for the limit and no more.
	out.Grow(int(limit) + 1 + bytes.MinRead)
	n, err := out.ReadFrom(io.LimitReader(r, limit+1))
	if n > limit {
		return nil, ErrTooLarge
	}
	return out.Bytes(), err
}
