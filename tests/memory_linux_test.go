package tests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

const (
	mebibyte  = 1 << 20
	maxMemory = 128 * mebibyte
	crowd     = 1000
	// What the process may take beyond max_memory while a thousand deliveries are held:
	// Caddy itself, two connections, their buffers and 64 KiB of an answer for each of
	// them, and garbage that is not collected yet.
	beside = 384 * mebibyte

	piece = 64 << 10
)

// peak is the most memory that the process ever had.
func (g *gate) peak() int {
	g.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		g.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(after, " kB")
	kib, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		g.t.Fatalf("the process' peak: %v", err)
	}
	return kib << 10
}

func (g *gate) wantPeak(when string) {
	g.t.Helper()
	peak := g.peak()
	g.t.Logf("%s: max_memory is %d MiB, the peak %d MiB", when, maxMemory/mebibyte, peak/mebibyte)
	if peak > maxMemory+beside {
		g.t.Errorf("%s: the process took %d MiB, more than max_memory (%d MiB) and %d MiB", when, peak/mebibyte, maxMemory/mebibyte, beside/mebibyte)
	}
}

// startBounded starts what users get, with little memory.
func startBounded(t *testing.T, n *fake.N8N) *gate {
	t.Helper()
	g := newGate(t, n, config{app: fmt.Sprintf("max_memory %d", maxMemory), key: "key header X-Event-Id"})
	g.bin = released
	g.env = []string{fmt.Sprintf("GOMEMLIMIT=%d", maxMemory+256*mebibyte)} // as the README advises
	g.start()
	return g
}

func (g *gate) small(id string) answer {
	g.t.Helper()
	return g.post("/webhook/orders", event(id), "X-Event-Id: "+id)
}

// upload sends a large body but its last byte, slowly: piece by piece, as the gate
// takes it. It says on arrived when it waits with the last, or was answered before.
func (g *gate) upload(id string, size int, arrived *sync.WaitGroup, release <-chan struct{}) (a answer) {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", g.port))
	if err != nil {
		arrived.Done()
		return answer{err: err}
	}
	answers := make(chan answer, 1)
	go func() {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			answers <- answer{err: err}
		} else {
			answers <- read(res)
		}
		conn.Close()
	}()
	defer func() { a = <-answers }()
	_, err = fmt.Fprintf(conn, "POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX-Event-Id: %s\r\nContent-Length: %d\r\n\r\n", id, size)
	for sent := 0; sent < size-1 && err == nil; {
		var n int
		n, err = conn.Write(nothing[:min(piece, size-1-sent)])
		sent += n
	}
	arrived.Done()
	if err == nil {
		<-release
		_, _ = io.WriteString(conn, "x")
	}
	return a
}

var nothing = make([]byte, piece)

// A thousand slow uploads at once take no more than there is: some are held, the
// others are told to come again before anything is claimed, and whoever sends little
// is served beside them.
func TestManySlowUploads(t *testing.T) {
	long(t)
	n := fake.Start(t)
	g := startBounded(t, n)
	release := make(chan struct{})
	var arrived, done sync.WaitGroup
	answers := make([]answer, crowd)
	arrived.Add(crowd)
	for i := range crowd {
		done.Go(func() { answers[i] = g.upload(fmt.Sprintf("evt_%d", i), 16*mebibyte, &arrived, release) })
	}
	arrived.Wait()
	for i := range 100 {
		want(t, g.small(fmt.Sprintf("small_%d", i)), http.StatusOK, "new")
	}
	g.wantPeak("with uploads held")
	close(release)
	done.Wait()

	taken, broken := 0, 0
	for i, a := range answers {
		key := fmt.Sprintf("evt_%d", i)
		switch {
		case a.err != nil: // turned away, while it went on sending
			broken++
			wantActions(t, n, key, 0)
		case a.status == http.StatusOK:
			taken++
			wantActions(t, n, key, 1)
		default:
			wantTransient(t, a, "overloaded")
			wantActions(t, n, key, 0)
		}
	}
	t.Logf("of %d uploads %d were taken and %d turned away, %d of those without an answer", crowd, taken, crowd-taken, broken)
	if taken == 0 || taken > maxMemory/(16*mebibyte) {
		t.Errorf("%d uploads of 16 MiB were taken", taken)
	}
	if records := g.list(nil); len(records) != taken+100 {
		t.Errorf("%d records for %d deliveries: what was turned away was claimed", len(records), taken+100)
	}
	// All is given back.
	large := strings.Repeat("x", 16*mebibyte)
	for i := range 3 {
		id := fmt.Sprintf("large_%d", i)
		want(t, g.post("/webhook/orders", large, "X-Event-Id: "+id), http.StatusOK, "new")
	}
	g.wantPeak("after all")
}

// slowAnswer is a large answer of a workflow that comes piece by piece and ends when
// the test lets it.
func slowAnswer(size int, sent *sync.WaitGroup, release <-chan struct{}) fake.Behaviour {
	return func(x *fake.Exchange) {
		if x.Act() == 0 {
			return
		}
		x.Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n" +
			"Content-Security-Policy: " + n8n.SandboxCSP + "\r\n\r\n")
		chunk := fmt.Sprintf("%x\r\n%s\r\n", piece, nothing)
		for range size / piece {
			x.Write(chunk)
		}
		sent.Done()
		<-release
		x.Write("0\r\n\r\n")
		x.Drop()
	}
}

// A thousand slow answers at once, fifty of them of 16 MiB: what there is no memory
// for is answered without its body; nothing is lost and nobody else is held up.
func TestManySlowAnswers(t *testing.T) {
	long(t)
	n := fake.Start(t)
	g := startBounded(t, n)
	release := make(chan struct{})
	var sent, done sync.WaitGroup
	var number atomic.Int64
	answers := make([]answer, crowd)
	n.Usually(func(x *fake.Exchange) {
		switch {
		case !x.Receive():
		case strings.HasPrefix(x.Request.Key, "small_"):
			fake.Work(x)
		case number.Add(1)%20 == 0:
			slowAnswer(16*mebibyte, &sent, release)(x)
		default:
			slowAnswer(mebibyte, &sent, release)(x)
		}
	})
	sent.Add(crowd)
	for i := range crowd {
		done.Go(func() { answers[i] = g.small(fmt.Sprintf("evt_%d", i)) })
	}
	sent.Wait()
	for i := range 20 {
		want(t, g.small(fmt.Sprintf("small_%d", i)), http.StatusOK, "new")
	}
	g.wantPeak("with answers held")
	close(release)
	done.Wait()

	dropped := 0
	for i, a := range answers {
		key := fmt.Sprintf("evt_%d", i)
		want(t, a, http.StatusOK, "new")
		if a.header.Get("N8n-Gate-Body") == "dropped" {
			dropped++
		} else if len(a.body) != mebibyte && len(a.body) != 16*mebibyte {
			t.Errorf("%s: %d bytes came", key, len(a.body))
		}
		wantActions(t, n, key, 1)
	}
	t.Logf("%d of %d answers came without their bodies", dropped, crowd)
	if dropped == 0 || dropped == crowd {
		t.Errorf("%d of %d answers came without their bodies", dropped, crowd)
	}
	if records := g.list(map[string]string{"state": "completed"}); len(records) != crowd+20 {
		t.Errorf("%d records are completed, want %d", len(records), crowd+20)
	}
	n.Next(fake.Answer(http.StatusOK, strings.Repeat("x", 15*mebibyte)))
	if a := g.small("evt_large"); len(a.body) != 15*mebibyte {
		t.Errorf("afterwards a large answer came as %v", a)
	}
	g.wantPeak("after all")
}
