package caddymodule

import (
	"errors"
	"fmt"

	"github.com/n8n-gate/n8n-gate/keyextract"
)

// What a suspicion leads to.
const (
	hold = "hold" // 409: a person looks at it
	warn = "flag" // a line in the log
	off  = "off"
)

func watches(mode string) bool { return mode == hold || mode == warn || mode == off }

// Fingerprint says how the content of a delivery is compared with that of the
// event that its key names.
type Fingerprint struct {
	// "hold": another content is answered 409, nothing is forwarded, and a person sees
	// it (default). "flag": it is taken as the same event, with a warning. "off".
	Mode string `json:"mode"`

	// The members of a JSON body that make up the content, for senders whose bodies
	// change from try to try. Default: method, path, query and the whole body.
	Members []string `json:"members,omitempty"`
}

func (f *Fingerprint) validate() error {
	switch {
	case f == nil:
		return nil
	case !watches(f.Mode):
		return fmt.Errorf("fingerprint %q: must be hold, flag or off", f.Mode)
	case f.Mode == off && len(f.Members) > 0:
		return errors.New("fingerprint off takes no members")
	}
	if _, err := keyextract.CompileFingerprint(f.Members); err != nil {
		return fmt.Errorf("fingerprint: %w", err)
	}
	return nil
}
