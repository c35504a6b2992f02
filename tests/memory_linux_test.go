package tests

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/n8n"
	"github.com/n8n-gate/n8n-gate/tests/internal/fake"
)

const (
	mebibyte  = 1 << 20
	maxMemory = 512 * mebibyte // the default
	crowd     = 1000
	bulk      = 16 * mebibyte
	// What the process may take beyond max_memory: the figure that the docs state.
	beside = 448 * mebibyte

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

// startCrowded starts what users get, as they get it: all that has to do with memory
// is at its default. What is held is held as long as the test wants.
func startCrowded(t *testing.T, n *fake.N8N) *gate {
	t.Helper()
	g := newGate(t, n, config{
		caddy: "servers {\ntimeouts {\nread_body_idle 10m\n}\n}",
		gate:  "max_in_flight 4096\ntimeout 10m", key: "key header X-Event-Id",
		forward: "transport http {\ndial_timeout 1m\n}", // the test keeps the machine busy
	})
	g.bin = released
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
		_, _ = conn.Write(nothing[:1])
	}
	return a
}

var nothing = make([]byte, piece)

// slowAnswer is a large answer of a workflow that comes piece by piece and ends when
// the test lets it. Every other one announces its length.
func slowAnswer(size int, announced bool, sent *sync.WaitGroup, release <-chan struct{}) fake.Behaviour {
	return func(x *fake.Exchange) {
		if x.Act() == 0 {
			return
		}
		framing, start, end := "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n", size), "\r\n0\r\n\r\n"
		if announced {
			framing, start, end = fmt.Sprintf("Content-Length: %d", size), "", ""
		}
		x.Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n" + framing + "\r\n" +
			"Content-Security-Policy: " + n8n.SandboxCSP + "\r\n\r\n" + start)
		for range size/piece - 1 {
			x.Write(pieceOfText)
		}
		sent.Done()
		<-release
		x.Write(pieceOfText + end)
		x.Drop()
	}
}

var pieceOfText = string(nothing)

// latencies are how long small deliveries take, one after the other, until enough
// says so; every one of them must be carried out.
func (g *gate) latencies(prefix string, enough func(done int) bool) (took []time.Duration) {
	g.t.Helper()
	for i := 0; !enough(i); i++ {
		begin := time.Now()
		a := g.small(fmt.Sprintf("small_%s_%d", prefix, i))
		took = append(took, time.Since(begin))
		want(g.t, a, http.StatusOK, "new")
	}
	slices.Sort(took)
	return took
}

func atLeast(n int) func(int) bool { return func(done int) bool { return done >= n } }

// A thousand slow uploads and a thousand slow answers at once, all of 16 MiB, take no
// more than there is: some uploads are held, the others are told to come again before
// anything is claimed; answers that there is no memory for come without their bodies;
// and whoever sends little is served beside them.
func TestManySlowUploadsAndAnswers(t *testing.T) {
	long(t)
	n := fake.Start(t)
	g := startCrowded(t, n)
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	var ready, done sync.WaitGroup
	var number atomic.Int64
	n.Usually(func(x *fake.Exchange) {
		switch {
		case !x.Receive():
		case strings.HasPrefix(x.Request.Key, "answer_"):
			slowAnswer(bulk, number.Add(1)%2 == 0, &ready, release)(x)
		default:
			fake.Work(x)
		}
	})
	alone := g.latencies("alone", atLeast(300))

	uploads, answers := make([]answer, crowd), make([]answer, crowd)
	ready.Add(2 * crowd)
	for i := range crowd {
		done.Go(func() { uploads[i] = g.upload(fmt.Sprintf("upload_%d", i), bulk, &ready, release) })
		done.Go(func() {
			key := fmt.Sprintf("answer_%d", i)
			if answers[i] = g.small(key); n.Actions(key) == 0 {
				ready.Done() // n8n never got it
			}
		})
	}
	var held atomic.Bool
	go func() {
		ready.Wait()
		held.Store(true)
	}()
	begin := time.Now()
	pressed := g.latencies("pressed", func(int) bool { return held.Load() })
	t.Logf("%s until all was held", time.Since(begin).Round(time.Second))
	idle := g.latencies("held", atLeast(300))
	for _, now := range []struct {
		when string
		took []time.Duration
	}{{"while bodies stream", pressed}, {"while bodies are held", idle}} {
		t.Logf("%d small deliveries %s: median %s, 99 of 100 within %s; that is %.1f and %.1f times what they take alone", len(now.took), now.when,
			at(now.took, 50), at(now.took, 99), ratio(now.took, alone, 50), ratio(now.took, alone, 99))
	}
	g.wantPeak("with all held")
	letGo()
	done.Wait()
	g.wantPeak("after all")

	taken, broken := 0, 0
	for i, a := range uploads {
		key := fmt.Sprintf("upload_%d", i)
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
	whole := 0
	for i, a := range answers {
		key := fmt.Sprintf("answer_%d", i)
		want(t, a, http.StatusOK, "new")
		if a.header.Get("N8n-Gate-Body") != "dropped" {
			whole++
			if len(a.body) != bulk {
				t.Errorf("%s: %d bytes came", key, len(a.body))
			}
		}
		wantActions(t, n, key, 1)
	}
	t.Logf("of %d answers %d came with their bodies", crowd, whole)
	if taken+whole == 0 || taken+whole > maxMemory/bulk {
		t.Errorf("%d uploads were taken and %d answers whole", taken, whole)
	}
	smalls := len(alone) + len(pressed) + len(idle)
	if records := g.list(map[string]string{"state": "completed"}); len(records) != taken+crowd+smalls {
		t.Errorf("%d records are completed, want %d", len(records), taken+crowd+smalls)
	}
	if records := g.list(nil); len(records) != taken+crowd+smalls {
		t.Errorf("%d records for %d deliveries: what was turned away was claimed", len(records), taken+crowd+smalls)
	}
	// All is given back.
	large := strings.Repeat("x", bulk)
	for i := range 3 {
		id := fmt.Sprintf("large_%d", i)
		want(t, g.post("/webhook/orders", large, "X-Event-Id: "+id), http.StatusOK, "new")
	}
	n.Next(fake.Answer(http.StatusOK, large))
	if a := g.small("evt_large"); len(a.body) != bulk {
		t.Errorf("afterwards a large answer came as %v", a)
	}
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100]
}

func ratio(sorted, to []time.Duration, percent int) float64 {
	return float64(at(sorted, percent)) / float64(at(to, percent))
}

// What is only announced takes nothing from others.
func TestAnnouncedBodiesReserveNothing(t *testing.T) {
	t.Parallel()
	n := fake.Start(t)
	g := startCrowded(t, n)
	for i := range 4 * maxMemory / bulk {
		c := g.dial()
		defer c.Close()
		if _, err := fmt.Fprintf(c, "POST /webhook/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Event-Id: idle_%d\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", i, bulk); err != nil {
			t.Fatal(err)
		}
		// net/http says so when the gate begins to read the body.
		if line, err := bufio.NewReader(c).ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
			t.Fatalf("sender %d was not let begin: %q, %v", i, line, err)
		}
	}
	want(t, g.post("/webhook/orders", strings.Repeat("x", bulk), "X-Event-Id: whole"), http.StatusOK, "new")
}
