package keyextract

import (
	"errors"
	"fmt"
)

// Error says why a request has no event key. Its text is for the operator: it
// names the part and never holds a value from the request.
type Error struct {
	// Where is the part, as "part 2 (json order.id)" or "path segment 1".
	Where string
	// Err is what is wrong there.
	Err error
	// Missing: the part is absent. Otherwise it is there and malformed.
	Missing bool
	// All: every part that the rule takes from headers, body or query is
	// wholly absent, as in a ping. Literals and the path's segments, which
	// are always there, do not count.
	All bool
}

func (e *Error) Error() string { return e.Where + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// errAbsent marks every kind of absence, errPartly the absence of a part of
// which something is there.
var (
	errAbsent = errors.New("absent")
	errPartly = errors.New("partly absent")
)

// absence is an error that counts as errAbsent and has its own text.
type absence struct {
	text   string
	partly bool
}

func (a absence) Error() string { return a.text }

func (a absence) Is(target error) bool {
	return target == errAbsent || target == errPartly && a.partly
}

func absent(format string, args ...any) error {
	return absence{text: fmt.Sprintf(format, args...)}
}

func partlyAbsent(format string, args ...any) error {
	return absence{text: fmt.Sprintf(format, args...), partly: true}
}

func malformed(format string, args ...any) error { return fmt.Errorf(format, args...) }

func tooLong() error { return malformed("the key is longer than %d bytes altogether", MaxBytes) }
