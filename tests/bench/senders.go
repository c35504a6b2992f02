//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

const (
	webhookPath  = "/webhook/orders"
	webhookToken = "not a secret"
	bodySize     = 850
	// answerPatience bounds the wait for one answer: a server that hangs ends the cell.
	answerPatience = 30 * time.Second
)

// senders deliver events in a closed loop, each over one connection that is kept.
type senders struct {
	addr     string
	clients  int
	lasts    time.Duration
	number   func() uint64 // of the next event; 0: there are no more
	decision string        // what every answer must say that the gate did; empty: no gate is there
}

// run delivers until the time is over.
func (s senders) run() work.Measured {
	var all sync.WaitGroup
	took, errs := make([][]time.Duration, s.clients), make([]error, s.clients)
	begin := time.Now()
	for client := range s.clients {
		all.Go(func() { took[client], errs[client] = s.client(begin) })
	}
	all.Wait()
	m := work.Measured{Seconds: time.Since(begin).Seconds()}
	var deliveries []time.Duration
	for _, t := range took {
		deliveries = append(deliveries, t...)
	}
	m.Deliveries, m.Delivery = len(deliveries), work.Quantiles(deliveries)
	if err := errors.Join(errs...); err != nil {
		m.Err = fmt.Sprintf("%.300s", err.Error())
	}
	return m
}

func (s senders) client(begin time.Time) (took []time.Duration, err error) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	br := bufio.NewReader(conn)
	padding := strings.Repeat("x", bodySize)
	var request []byte
	for time.Since(begin) < s.lasts {
		number := s.number()
		if number == 0 {
			break
		}
		body := fmt.Sprintf(`{"id":%q,"type":"order.created","note":"%s`, work.EventKey(number), padding)[:bodySize-2] + `"}`
		request = fmt.Appendf(request[:0], "POST %s HTTP/1.1\r\nHost: hooks.example.com\r\nUser-Agent: sender/1.0\r\nAccept: */*\r\n"+
			"Content-Type: application/json\r\nX-Shop-Token: %s\r\nContent-Length: %d\r\n\r\n%s", webhookPath, webhookToken, len(body), body)
		start := time.Now()
		if err := conn.SetDeadline(start.Add(answerPatience)); err != nil {
			return took, err
		}
		if _, err := conn.Write(request); err != nil {
			return took, err
		}
		if err := s.readAnswer(br); err != nil {
			return took, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// readAnswer reads one answer and checks that it is the right one.
func (s senders) readAnswer(br *bufio.Reader) error {
	status, decision, length := "", "", -1
	for first := true; ; first = false {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if first {
			status = string(line)
		} else if value, found := header(line, "Content-Length"); found {
			length, _ = strconv.Atoi(value)
		} else if value, found := header(line, "N8n-Gate-Decision"); found {
			decision = value
		}
	}
	if !strings.HasPrefix(status, "HTTP/1.1 200 ") || decision != s.decision || length != len(work.ResponseBody(1)) {
		return fmt.Errorf("a wrong answer: %s, decision %q instead of %q, %d bytes", strings.TrimSpace(status), decision, s.decision, length)
	}
	_, err := br.Discard(length)
	return err
}

// fresh numbers events that nobody has seen.
func fresh() func() uint64 {
	var next atomic.Uint64
	next.Store(work.FirstNew())
	return func() uint64 { return next.Add(1) }
}

// upTo numbers so many events from first on, once.
func upTo(first uint64, events int) func() uint64 {
	var next atomic.Uint64
	return func() uint64 {
		if n := next.Add(1) - 1; n < uint64(events) {
			return first + n
		}
		return 0
	}
}

// again numbers those of upTo over and over, out of their order.
func again(first uint64, events int) func() uint64 {
	var next atomic.Uint64
	return func() uint64 { return first + next.Add(7919)%uint64(events) }
}
