package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

// logBook collects what a gate writes to stderr, over all its restarts.
type logBook struct {
	mu      sync.Mutex
	lines   []logLine
	changed chan struct{} // closed and replaced at every line
}

// logLine is one line: as it came, and its members if it is JSON.
type logLine struct {
	raw    string
	fields map[string]any
}

func newLogBook() *logBook { return &logBook{changed: make(chan struct{})} }

// text returns a member that is a string, or "".
func (l logLine) text(name string) string {
	s, _ := l.fields[name].(string)
	return s
}

func (b *logBook) read(r io.Reader) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		raw, err := lines.ReadString('\n')
		if raw != "" {
			l := logLine{raw: strings.TrimRight(raw, "\n")}
			_ = json.Unmarshal([]byte(raw), &l.fields) // what is no JSON stays raw
			b.mu.Lock()
			b.lines = append(b.lines, l)
			close(b.changed)
			b.changed = make(chan struct{})
			b.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

func (b *logBook) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.lines)
}

// since returns the lines from the given place on.
func (b *logBook) since(from int) []logLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]logLine(nil), b.lines[from:]...)
}

// await returns when a line from the given place on fits; an error if the
// process exits before.
func (b *logBook) await(from int, exited <-chan struct{}, what string, fits func(logLine) bool) error {
	deadline := time.After(fake.Patience)
	last := false
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		for _, l := range b.since(from) {
			from++
			if fits(l) {
				return nil
			}
		}
		if last {
			return fmt.Errorf("waited for %s, but the process exited:\n%s", what, b.tail(30))
		}
		select {
		case <-changed:
		case <-exited:
			last = true // one more look: everything it wrote has been read
		case <-deadline:
			return fmt.Errorf("waited in vain for %s:\n%s", what, b.tail(30))
		}
	}
}

// deliveries returns the gate's own lines, one for every delivery.
func (b *logBook) deliveries() []logLine {
	var own []logLine
	for _, l := range b.since(0) {
		if l.text("decision") != "" {
			own = append(own, l)
		}
	}
	return own
}

// faults returns what a sound process never writes.
func (b *logBook) faults() string {
	lines := b.since(0)
	for i, l := range lines {
		for _, bad := range []string{"DATA RACE", "panic:", "panicked", "fatal error:", "goroutine 1 ["} {
			if strings.Contains(l.raw, bad) {
				return raw(lines[i:min(i+80, len(lines))])
			}
		}
	}
	return ""
}

func (b *logBook) tail(n int) string {
	lines := b.since(0)
	return raw(lines[max(0, len(lines)-n):])
}

func raw(lines []logLine) string {
	var s strings.Builder
	for _, l := range lines {
		s.WriteString(l.raw + "\n")
	}
	return s.String()
}
