// Package fake is a scripted n8n: a TCP listener that reads requests to the
// byte, counts on its own side which of them led to an action, and then behaves
// as a test says, well or badly.
package fake

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Patience is how long anything here waits for what must come. Nothing that
// works takes that long; it only bounds a failing test.
const Patience = 60 * time.Second

// Behaviour is what n8n does with one request.
type Behaviour func(*Exchange)

// N8N is one fake n8n.
type N8N struct {
	// Addr is host:port, the same after Close and Open.
	Addr string

	t       testing.TB
	mu      sync.Mutex
	ln      net.Listener
	conns   map[net.Conn]struct{}
	opened  int
	usual   Behaviour
	script  []Behaviour
	rude    bool // reset every connection on accept
	got     []Request
	actions map[string]int
	acted   int
	changed chan struct{} // closed and replaced whenever something arrives
	stopped chan struct{}
	wg      sync.WaitGroup
}

// Start listens on a loopback port until the test ends. Unless told otherwise
// it answers every request as a workflow that did its work.
func Start(t testing.TB) *N8N {
	t.Helper()
	n := &N8N{
		t: t, conns: map[net.Conn]struct{}{}, actions: map[string]int{},
		usual: Work, changed: make(chan struct{}), stopped: make(chan struct{}),
	}
	n.Open()
	t.Cleanup(func() {
		close(n.stopped)
		n.Close()
		n.wg.Wait()
	})
	return n
}

// Open listens (again), on the address it had before.
func (n *N8N) Open() {
	n.t.Helper()
	addr := n.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		n.t.Fatalf("fake n8n: %v", err)
	}
	n.mu.Lock()
	n.ln, n.Addr = ln, ln.Addr().String()
	n.mu.Unlock()
	n.wg.Add(1)
	go n.accept(ln)
}

// Close ends everything: new connections are refused, open ones are closed.
func (n *N8N) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ln.Close()
	for c := range n.conns {
		c.Close()
	}
}

// Usually sets what happens to requests for which nothing is scripted.
func (n *N8N) Usually(b Behaviour) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.usual = b
}

// Next scripts the next requests, in order.
func (n *N8N) Next(bs ...Behaviour) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.script = append(n.script, bs...)
}

// ResetOnAccept makes n8n reset every connection before it reads a byte.
func (n *N8N) ResetOnAccept(rude bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rude = rude
}

// Actions says how often the action of the event with that key was carried out.
func (n *N8N) Actions(key string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.actions[key]
}

// AllActions is the number of actions of all events.
func (n *N8N) AllActions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.acted
}

// Keys lists the events that were acted on.
func (n *N8N) Keys() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var keys []string
	for k := range n.actions {
		keys = append(keys, k)
	}
	return keys
}

// Connections is how many connections were opened to it.
func (n *N8N) Connections() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opened
}

// Requests returns the requests whose head arrived, with or without an action.
func (n *N8N) Requests() []Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Request(nil), n.got...)
}

// Sends says how often a request with that key arrived, with or without an action.
func (n *N8N) Sends(key string) int {
	sends := 0
	for _, r := range n.Requests() {
		if r.Key == key {
			sends++
		}
	}
	return sends
}

// Last is the newest request.
func (n *N8N) Last() Request {
	n.t.Helper()
	got := n.Requests()
	if len(got) == 0 {
		n.t.Fatal("nothing arrived at n8n")
	}
	return got[len(got)-1]
}

// AwaitActions returns when the event was acted on that often.
func (n *N8N) AwaitActions(key string, want int) {
	n.t.Helper()
	n.await(fmt.Sprintf("%d actions for %q", want, key), func() bool { return n.actions[key] >= want })
}

// AwaitConnections returns when that many connections were opened.
func (n *N8N) AwaitConnections(want int) {
	n.t.Helper()
	n.await(fmt.Sprintf("%d connections", want), func() bool { return n.opened >= want })
}

func (n *N8N) await(what string, holds func() bool) {
	n.t.Helper()
	deadline := time.After(Patience)
	for {
		n.mu.Lock()
		ok, changed := holds(), n.changed
		n.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			n.t.Fatalf("n8n waited in vain for %s", what)
		}
	}
}

// change runs do under the lock and wakes who waits.
func (n *N8N) change(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *N8N) accept(ln net.Listener) {
	defer n.wg.Done()
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		var rude bool
		var number int
		n.change(func() {
			n.opened++
			n.conns[c] = struct{}{}
			rude, number = n.rude, n.opened
			select {
			case <-n.stopped:
				rude = true
			default:
			}
		})
		if rude {
			reset(c)
			n.forget(c)
			continue
		}
		n.wg.Add(1)
		go n.serve(c, number)
	}
}

func (n *N8N) forget(c net.Conn) {
	c.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// tlsHandshake begins a TLS connection; n8n speaks plain HTTP here, and Node
// answers such a request so.
const tlsHandshake = 0x16

func (n *N8N) serve(c net.Conn, number int) {
	defer n.wg.Done()
	defer n.forget(c)
	br := bufio.NewReader(c)
	for {
		first, err := br.Peek(1)
		if err != nil {
			return
		}
		if first[0] == tlsHandshake {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
			return
		}
		n.mu.Lock()
		b := n.usual
		if len(n.script) > 0 {
			b, n.script = n.script[0], n.script[1:]
		}
		n.mu.Unlock()
		x := &Exchange{n: n, conn: c, br: br, number: number}
		b(x)
		if x.done || !x.Receive() || x.Request.Header.Get("Connection") == "close" {
			return
		}
	}
}

// Forget drops what is scripted and has not happened.
func (n *N8N) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.script = nil
}
