//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	startPatience = 30 * time.Second
	grace         = 10 * time.Second
)

// server is a database's own process. It dies with this one.
type server struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	ended  chan struct{}
}

// startServer starts cmd and returns when reachable says so.
func startServer(cmd *exec.Cmd, reachable func() error) (*server, error) {
	s := &server{cmd: cmd, ended: make(chan struct{})}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(s.ended)
	}()
	var err error
	for begin := time.Now(); time.Since(begin) < startPatience; time.Sleep(20 * time.Millisecond) {
		if err = reachable(); err == nil {
			return s, nil
		}
		select {
		case <-s.ended:
			return nil, fmt.Errorf("%s ended: %.1000s", cmd.Path, strings.TrimSpace(s.output.String()))
		default:
		}
	}
	return nil, errors.Join(fmt.Errorf("%s does not answer", cmd.Path), err, s.stop(syscall.SIGKILL))
}

// stop ends the server by that signal, or after some grace for certain.
func (s *server) stop(by syscall.Signal) error {
	_ = s.cmd.Process.Signal(by)
	select {
	case <-s.ended:
		return nil
	case <-time.After(grace):
		_ = s.cmd.Process.Kill()
		<-s.ended
		return fmt.Errorf("%s did not end when it was asked to", s.cmd.Path)
	}
}
