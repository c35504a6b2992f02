//go:build failpoints

package caddymodule

import (
	"os"
	"syscall"
)

// stopAt kills the process, as a power cut would, when a delivery first comes to
// the place that N8N_GATE_FAILPOINT names. Only binaries for tests have it:
//
//	before_claim    the delivery is authentic and has a key
//	after_claim     the claim is durable, nothing is sent
//	after_send      the request is written, no answer was read
//	after_response  the answer was read, nothing is stored of it
//	after_settle    the receipt is durable, the sender was not answered
func stopAt(place string) {
	if os.Getenv("N8N_GATE_FAILPOINT") == place {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
