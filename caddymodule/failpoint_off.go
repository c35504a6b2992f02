//go:build !failpoints

package caddymodule

// stopAt does nothing in a release; see failpoint_on.go.
func stopAt(string) {}
