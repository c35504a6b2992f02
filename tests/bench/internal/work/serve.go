package work

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Store is what is measured, in a process of its own: so that neither the memory nor
// the collector of one store burdens another.
type Store interface {
	// Claim stores the n-th event's claim durably, if there is none: an error, if
	// there is. What it returns stores the receipt in its place.
	Claim(client int, n uint64) (receipt func() error, err error)
	Close() error
}

// Expirer is a Store that can also forget.
type Expirer interface {
	// Expire deletes up to limit records that are older than now says.
	Expire(now time.Time, limit int) (int, error)
}

// Command is one line that a process reads: a cell to measure.
type Command struct {
	Clients int
	Lasts   time.Duration
	// Expire lets so many records expire meanwhile, as if it were ExpireAt.
	Expire   int
	ExpireAt time.Time
}

// Serve measures what it is told on stdin, a JSON line each, and answers each with a
// JSON line, until stdin ends. The first line says that it is ready, or why not.
func Serve(open func() (Store, error)) {
	answer := json.NewEncoder(os.Stdout)
	s, err := open()
	if err != nil {
		_ = answer.Encode(Measured{Err: err.Error()})
		os.Exit(1)
	}
	_ = answer.Encode(Measured{})
	if err := serve(s, os.Stdin, answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "closing:", err)
		os.Exit(1)
	}
}

func serve(s Store, commands io.Reader, answer *json.Encoder) error {
	var next atomic.Uint64
	next.Store(FirstNew())
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		var c Command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		before := written()
		m := c.carryOut(s, &next)
		m.Written = written() - before
		if err := answer.Encode(m); err != nil {
			return err
		}
	}
	return lines.Err()
}

// carryOut measures one cell. Where records expire, deliveries go on as long as that takes.
func (c Command) carryOut(s Store, next *atomic.Uint64) Measured {
	if c.Expire == 0 {
		return Loop(c.Clients, c.Lasts, next, s.Claim)
	}
	e, able := s.(Expirer)
	if !able {
		return Measured{Err: "this store cannot expire records"}
	}
	type outcome struct {
		n   int
		err error
	}
	done := make(chan outcome, 1)
	var over atomic.Bool
	go func() {
		n, err := e.Expire(c.ExpireAt, c.Expire)
		over.Store(true)
		done <- outcome{n, err}
	}()
	m := Loop(c.Clients, c.Lasts, next, func(client int, n uint64) (func() error, error) {
		if over.Load() {
			return nil, errOver
		}
		return s.Claim(client, n)
	})
	select {
	case o := <-done:
		m.Expired = o.n
		if o.err != nil {
			m.Err = o.err.Error()
		}
	case <-time.After(c.Lasts):
		m.Err = fmt.Sprintf("%d records did not expire within %s", c.Expire, 2*c.Lasts)
	}
	return m
}

// written is what this process has passed to write so far. Counted is what the program
// wrote: /proc's write_bytes counts whole folios of the page cache, up to 1 MiB for a
// write of 4 KiB. Memory that is mapped for writing would be missed; no store here does that.
func written() int64 {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if value, found := strings.CutPrefix(line, "wchar: "); found {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}
