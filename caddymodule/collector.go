package caddymodule

import (
	"os"
	"runtime/debug"
	gometrics "runtime/metrics"
	"slices"
	"sync"
	"time"
)

// By default Go's collector lets garbage grow to what is alive, bodies included: with
// max_memory held, the process would take twice as much. So the gate limits Go's
// memory: to max_memory and, for all else that is in the process, twice what is alive
// of it, as Go would give it without the gate, and at least leastBeside. What is
// alive is below the limit by 128 MiB or more, so that the collector runs seldom
// however much Caddy's other modules hold.
type collector struct {
	mu     sync.Mutex
	users  int   // apps that are started
	former int64 // the limit before the gate's
	ours   int64
	beside int64
	cycles uint64   // those of the collector, when beside was found
	alive  [6]int64 // beside the bodies, as found last; the oldest is overwritten
	next   int
	stop   chan struct{}
	done   chan struct{}
}

var collecting collector

const (
	// For Caddy, the gate's own garbage, and two thousand connections.
	leastBeside = 256 << 20
	// Other modules whose needs grow make the collector work for six times that.
	measureEvery = 5 * time.Second
)

// use keeps Go's limit in place until the last user lets go. GOMEMLIMIT is the user's
// word, and nothing is done then; a lower limit, such as Caddy's own in a small
// container, stays as well.
func (c *collector) use() (release func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	if c.users == 1 {
		c.former = debug.SetMemoryLimit(-1)
		c.ours, c.beside = c.former, leastBeside
		c.stop, c.done = make(chan struct{}), make(chan struct{})
		go c.watch(c.stop, c.done)
	}
	c.adjust()
	return sync.OnceFunc(c.release)
}

func (c *collector) release() {
	c.mu.Lock()
	c.users--
	last, stop, done := c.users == 0, c.stop, c.done
	if last && debug.SetMemoryLimit(-1) == c.ours {
		debug.SetMemoryLimit(c.former)
	}
	c.mu.Unlock()
	if last {
		close(stop)
		<-done
	}
}

func (c *collector) watch(stop, done chan struct{}) {
	defer close(done)
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		c.mu.Lock()
		if c.stop == stop && c.users > 0 {
			c.adjust()
		}
		c.mu.Unlock()
	}
}

// adjust sets the limit, unless somebody else has set another meanwhile.
func (c *collector) adjust() {
	if debug.SetMemoryLimit(-1) != c.ours {
		return
	}
	found := []gometrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
	}
	gometrics.Read(found)
	limit := memory.max()
	// What is alive is known of the last cycle, so bodies are looked at over the same time.
	if cycles := found[0].Value.Uint64(); cycles != c.cycles {
		c.cycles = cycles
		c.alive[c.next] = int64(found[1].Value.Uint64()+found[2].Value.Uint64()) - memory.peak()
		c.next = (c.next + 1) % len(c.alive)
		// Bodies that are dropped while the collector looks are alive to it once.
		c.beside = max(leastBeside, 2*slices.Min(c.alive[:]))
	}
	c.ours = min(c.former, limit+c.beside)
	debug.SetMemoryLimit(c.ours)
}
