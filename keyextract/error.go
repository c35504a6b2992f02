package keyextract

import (
	"errors"
	"fmt"
)

// Error says why a request has no event key. Its text is for the operator: it
// names the part and never holds a value from the request.
type Error struct {
	// Where is the part, as "part 2 (json order.id)".
	Where string
	// Err is what is wrong there.
	Err error
	// Missing: the part is absent. Otherwise it is there and malformed.
	Missing bool
	// All: every part of the rule is absent, as in a ping.
	All bool
}

func (e *Error) Error() string { return e.Where + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// errAbsent marks every kind of absence.
var errAbsent = errors.New("absent")

// absence is an error that counts as errAbsent and has its own text.
type absence string

func (a absence) Error() string        { return string(a) }
func (a absence) Is(target error) bool { return target == errAbsent }

func absent(format string, args ...any) error    { return absence(fmt.Sprintf(format, args...)) }
func malformed(format string, args ...any) error { return fmt.Errorf(format, args...) }

func tooLong() error { return malformed("the key is longer than %d bytes altogether", MaxBytes) }
