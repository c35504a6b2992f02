package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// An export is JSON Lines: a header, one line a record, a trailer.
//
//	{"header":{"format":1,"written_by":"…","at":"…"}}
//	{"operation":"create_invoice","event_key":"evt_1","state":"completed",…}
//	{"trailer":{"records":1,"sha256":"…"}}
//
// The trailer counts the records and hashes their lines, each with its newline, so
// that a file that was cut short, or changed, is known. It holds bodies of receipts:
// whoever can read it can read them. Of tokens it has hashes, as the store has.

// exportFormat is the number of this form; files of another one are refused.
const exportFormat = 1

// maxLine bounds one line: a record with the largest body that a gate holds, in base64.
const maxLine = 64 << 20

// ExportHeader is the first line of an export.
type ExportHeader struct {
	Format    int       `json:"format"`
	WrittenBy string    `json:"written_by,omitempty"`
	At        time.Time `json:"at"`
}

type exportTrailer struct {
	Records int    `json:"records"`
	SHA256  string `json:"sha256"`
}

// ErrTruncated: the export has no trailer, so nobody knows what is missing.
var ErrTruncated = errors.New("the export is cut short: its last line, the trailer, is missing")

// LineError says where an export is wrong.
type LineError struct {
	Line int // from 1, the header
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Export writes all records of s to w, the gate's own ones of the operations own too,
// and returns how many. It turns pages, so a slow w holds nothing up; and so it is no
// snapshot: a record that changes meanwhile is written as it is when its page is
// read (a backup is one). Each line is read back before it is written.
func Export(ctx context.Context, s Store, w io.Writer, writtenBy string, own ...string) (int, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	if err := writeLine(out, map[string]ExportHeader{"header": {exportFormat, writtenBy, now}}); err != nil {
		return 0, err
	}
	e := &exporter{store: s, sum: sha256.New()}
	e.to = io.MultiWriter(out, e.sum)
	for _, operation := range append([]string{""}, own...) {
		if err := e.pages(ctx, operation); err != nil {
			return e.n, err
		}
	}
	if err := writeLine(out, map[string]exportTrailer{"trailer": {e.n, hex.EncodeToString(e.sum.Sum(nil))}}); err != nil {
		return e.n, err
	}
	return e.n, out.Flush()
}

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

type exporter struct {
	store Store
	to    io.Writer
	sum   hash.Hash
	n     int
}

func (e *exporter) pages(ctx context.Context, operation string) error {
	query := Query{Operation: operation, Limit: 1000}
	for more := true; more; more = query.After != "" {
		page, err := e.store.Scan(ctx, query)
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			if err := e.record(ctx, r); err != nil {
				return fmt.Errorf("exporting record %q of operation %q: %w", r.EventKey, r.Operation, err)
			}
		}
		query.After = page.Next
	}
	return nil
}

func (e *exporter) record(ctx context.Context, r Record) error {
	payload, err := e.store.Payload(ctx, r.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	line, err := encodeLine(r, payload)
	if err != nil {
		return err
	}
	back, body, err := decodeLine(line)
	if err != nil {
		return fmt.Errorf("reading its line back: %w", err)
	}
	if !same(back, r) || !bytes.Equal(body, payload) {
		return errors.New("its line does not say all of it")
	}
	e.n++
	_, err = e.to.Write(append(line, '\n'))
	return err
}

// same reports whether a and b differ in their versions at most: those are a store's own.
func same(a, b Record) bool {
	return bytes.Equal(AppendRecord(nil, unversioned(a)), AppendRecord(nil, unversioned(b)))
}

func unversioned(r Record) Record {
	r.Version = 0
	if r.Prior != nil {
		prior := *r.Prior
		prior.Version = 0
		r.Prior = &prior
	}
	return r
}

// readExport calls do with every record of an export, and returns their number when
// it has seen the trailer. Errors are *LineError; do's own too.
func readExport(in io.Reader, do func(line int, r Record, payload []byte) error) (n int, err error) {
	lines := bufio.NewReaderSize(in, 1<<20)
	sum := sha256.New()
	for number := 1; ; number++ {
		line, err := nextLine(lines)
		if err == nil {
			var done bool
			done, err = exportLine(number, line, n, sum, do)
			switch {
			case err == nil && done:
				if _, err = lines.ReadByte(); errors.Is(err, io.EOF) {
					return n, nil
				}
				err = errors.New("something follows the trailer")
			case err == nil && number > 1:
				n++
			}
		}
		var known *LineError
		if err != nil && !errors.As(err, &known) {
			err = &LineError{number, err}
		}
		if err != nil {
			return n, err
		}
	}
}

// nextLine reads one line without its end; one without an end is cut short.
func nextLine(lines *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF):
			return nil, ErrTruncated
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// exportLine takes one line; done says that it was the trailer.
func exportLine(number int, line []byte, n int, sum hash.Hash, do func(int, Record, []byte) error) (done bool, err error) {
	switch {
	case number == 1:
		return false, checkHeader(line)
	case bytes.HasPrefix(line, []byte(`{"trailer":`)):
		var end struct{ Trailer exportTrailer }
		if err := strictJSON(line, &end); err != nil {
			return true, err
		}
		if end.Trailer.Records != n || end.Trailer.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
			return true, fmt.Errorf("the trailer speaks of %d other records than the %d lines before it: the file was changed", end.Trailer.Records, n)
		}
		return true, nil
	}
	sum.Write(line)
	sum.Write([]byte{'\n'})
	r, payload, err := decodeLine(line)
	if err == nil {
		err = r.Validate()
	}
	if err != nil {
		return false, err
	}
	return false, do(number, r, payload)
}

func checkHeader(line []byte) error {
	var first struct{ Header ExportHeader }
	switch err := strictJSON(line, &first); {
	case err != nil:
		return fmt.Errorf("no export of n8n-gate: %w", err)
	case first.Header.Format != exportFormat:
		return fmt.Errorf("an export of format %d: this version reads %d", first.Header.Format, exportFormat)
	}
	return nil
}
