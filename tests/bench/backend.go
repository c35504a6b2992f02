//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// serveBackend plays n8n, as cheaply as it can: what is measured is what stands before
// it. It prints its address, and ends when its input does.
func serveBackend() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(ln.Addr().String())
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go serveConn(conn)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// The answer of a workflow, with n8n's mark.
var workflowAnswer = func(connection string) []byte {
	body := work.ResponseBody(1)
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Security-Policy: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"+
		"ETag: W/\"4f-BX3eyzmqsPZ9zDBKvRgZ5v1gTyM\"\r\nVary: Accept-Encoding\r\nDate: Mon, 05 Jan 2026 10:00:00 GMT\r\nConnection: %s\r\n\r\n%s",
		n8n.SandboxCSP, work.ResponseType, len(body), connection, body)
}

// serveConn answers whatever comes as a workflow would.
func serveConn(conn net.Conn) {
	defer conn.Close()
	closing, keeping := workflowAnswer("close"), workflowAnswer("keep-alive\r\nKeep-Alive: timeout=5")
	br := bufio.NewReader(conn)
	for {
		length, last := 0, false
		for {
			line, err := br.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) <= 2 {
				break
			}
			if value, found := header(line, "Content-Length"); found {
				length, _ = strconv.Atoi(value)
			} else if value, found := header(line, "Connection"); found && value == "close" {
				last = true
			}
		}
		if _, err := br.Discard(length); err != nil {
			return
		}
		answer := keeping
		if last {
			answer = closing
		}
		if _, err := conn.Write(answer); err != nil || last {
			return
		}
	}
}

// header is the value of a header line that has that name.
func header(line []byte, name string) (string, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return "", false
	}
	return string(bytes.TrimSpace(line[len(name)+1:])), true
}
