package tests

import (
	"os/exec"
	"syscall"
)

// dieWithParent: a test run that is killed leaves no server behind.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
