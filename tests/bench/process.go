//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// grace is how long a process may take to end when it is asked to.
const grace = 20 * time.Second

// process is one that this run has started, and ends.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *bufio.Scanner
	stderr bytes.Buffer
	ended  chan error // of one that is waited for already, and asked by signals only
}

// command is one that dies with this process, and when the run is interrupted.
func (b *bench) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return cmd
}

// start runs cmd. It is told things on stdin and answers on stdout.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd}
	cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(stdout)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// child starts this program again, as a child that does one thing.
func (b *bench) child(args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(b.command(self, append([]string{"child"}, args...)...))
}

// read decodes the next line that the process prints.
func (p *process) read(v any) error {
	if !p.lines.Scan() {
		err := errors.Join(errors.New("the process ended without an answer"), p.lines.Err())
		_ = p.stop()
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(p.stderr.String()))
	}
	return json.Unmarshal(p.lines.Bytes(), v)
}

// ready waits until the process says that it is.
func (p *process) ready() error {
	var m work.Measured
	if err := p.read(&m); err != nil {
		return err
	}
	if m.Err != "" {
		_ = p.stop()
		return errors.New(m.Err)
	}
	return nil
}

// ask has the process carry out c.
func (p *process) ask(c work.Command) (m work.Measured, err error) {
	if err := json.NewEncoder(p.stdin).Encode(c); err != nil {
		return m, err
	}
	err = p.read(&m)
	return m, err
}

// pid is the process' own.
func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process: its input ends, and with that its work.
func (p *process) stop() error {
	if p == nil || p.cmd.ProcessState != nil {
		return nil
	}
	_ = p.stdin.Close()
	kill := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for p.lines.Scan() { // all that it still wants to say, so that it can end
		continue
	}
	return p.cmd.Wait()
}

// terminate ends a process that is asked by a signal.
func (p *process) terminate() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.stop()
}
