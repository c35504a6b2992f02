package fake

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
)

// Request is what arrived, to the byte.
type Request struct {
	Method string
	Target string // as it stood in the request line
	Head   string // request line and headers as they came
	Header http.Header
	Body   []byte
	Key    string // N8n-Gate-Event-Key
	Conn   int    // which connection, from 1
}

// Exchange is one request and what n8n does about it.
type Exchange struct {
	Request Request

	n        *N8N
	conn     net.Conn
	br       *bufio.Reader
	number   int
	headRead bool
	bodyRead bool
	acted    int
	done     bool // the connection is of no use any more
}

// ReceiveHead reads request line and headers; false if they did not come.
func (x *Exchange) ReceiveHead() bool {
	if x.headRead {
		return !x.done
	}
	x.headRead = true
	var head bytes.Buffer
	for {
		line, err := x.br.ReadString('\n')
		head.WriteString(line)
		if err != nil {
			return x.broken()
		}
		if line == "\r\n" {
			break
		}
	}
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head.Bytes())))
	if err != nil {
		return x.broken()
	}
	// http.ReadRequest takes these two out of the header.
	if len(req.TransferEncoding) > 0 {
		req.Header["Transfer-Encoding"] = req.TransferEncoding
	}
	req.Header["Host"] = []string{req.Host}
	x.Request = Request{
		Method: req.Method, Target: req.RequestURI, Head: head.String(), Header: req.Header,
		Key: req.Header.Get("N8n-Gate-Event-Key"), Conn: x.number,
	}
	x.n.change(func() { x.n.got = append(x.n.got, x.Request) })
	return true
}

// Receive reads the whole request; false if it did not come.
func (x *Exchange) Receive() bool {
	if !x.ReceiveHead() {
		return false
	}
	if x.bodyRead {
		return true
	}
	var body []byte
	var err error
	if x.Request.Header.Get("Transfer-Encoding") != "" {
		if body, err = io.ReadAll(httputil.NewChunkedReader(x.br)); err == nil {
			_, err = x.br.ReadString('\n') // the blank line after the last chunk
		}
	} else if length, _ := strconv.Atoi(x.Request.Header.Get("Content-Length")); length > 0 {
		body = make([]byte, length)
		_, err = io.ReadFull(x.br, body)
	}
	if err != nil {
		return x.broken()
	}
	x.bodyRead = true
	x.Request.Body = body
	x.n.change(func() {
		for i := range x.n.got {
			if r := &x.n.got[i]; r.Conn == x.number && r.Body == nil && r.Head == x.Request.Head {
				r.Body = body
			}
		}
	})
	return true
}

// Act carries the action out, once for this request, and counts it. It returns
// its number among all actions, or 0 if the request did not arrive whole.
func (x *Exchange) Act() int {
	if x.acted > 0 {
		return x.acted
	}
	if !x.Receive() {
		return 0
	}
	x.n.change(func() {
		x.n.acted++
		x.acted = x.n.acted
		x.n.actions[x.Request.Key]++
	})
	return x.acted
}

// Write sends bytes as they are.
func (x *Exchange) Write(s string) {
	if _, err := io.WriteString(x.conn, s); err != nil {
		x.broken()
	}
}

// AwaitHangUp returns when the other side has closed the connection, or at the test's end.
func (x *Exchange) AwaitHangUp() {
	_, err := x.br.ReadByte()
	for err == nil {
		_, err = x.br.ReadByte()
	}
	x.broken()
}

// Reset ends the connection with a TCP reset.
func (x *Exchange) Reset() {
	x.done = true
	reset(x.conn)
}

// Drop ends the connection in the regular way, as a process does that exits.
func (x *Exchange) Drop() {
	x.done = true
	x.conn.Close()
}

func (x *Exchange) broken() bool {
	x.done = true
	return false
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		if err := tcp.SetLinger(0); err != nil && !errors.Is(err, net.ErrClosed) {
			panic(err)
		}
	}
	c.Close()
}

// HeaderLines returns the lines of a raw head whose header has that name.
func (r Request) HeaderLines(name string) []string {
	var lines []string
	for line := range strings.SplitSeq(r.Head, "\r\n") {
		if n, _, ok := strings.Cut(line, ":"); ok && strings.EqualFold(n, name) {
			lines = append(lines, line)
		}
	}
	return lines
}
