package caddymodule

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGoIsLimitedWhileTheGateRuns(t *testing.T) {
	const high = 1 << 40
	before := debug.SetMemoryLimit(high)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "")
	var c collector
	now := func() int64 { return debug.SetMemoryLimit(-1) }

	first := c.use()
	if got, want := now(), memory.max()+leastBeside; got < want || got == high {
		t.Errorf("the limit is %d, want %d", got, want)
	}
	second := c.use() // a reload
	first()
	first()
	if now() == high {
		t.Error("the limit is gone before the last app")
	}
	second()
	if now() != high {
		t.Errorf("the limit is %d after the last app", now())
	}

	debug.SetMemoryLimit(1 << 20) // a small container
	release := c.use()
	if now() != 1<<20 {
		t.Errorf("a lower limit became %d", now())
	}
	debug.SetMemoryLimit(high + 1) // somebody else's word
	c.mu.Lock()
	c.adjust()
	c.mu.Unlock()
	release()
	if now() != high+1 {
		t.Errorf("another's limit became %d", now())
	}

	t.Setenv("GOMEMLIMIT", "off")
	debug.SetMemoryLimit(math.MaxInt64)
	c.use()()
	release = c.use()
	if now() != math.MaxInt64 {
		t.Errorf("the user's word became %d", now())
	}
	release()
}

// Other modules' needs are believed when they last.
func TestWhatElseIsAliveMovesTheLimit(t *testing.T) {
	before := debug.SetMemoryLimit(1 << 40)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "")
	var c collector
	defer c.use()()
	alive := make([]byte, 200<<20)
	adjust := func() int64 {
		runtime.GC()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.adjust()
		return c.beside
	}
	for i := range len(c.alive) - 2 { // use looked once
		if beside := adjust(); beside != leastBeside {
			t.Fatalf("after %d cycles %d bytes are left to others", i+1, beside)
		}
	}
	if adjust(); adjust() < 400<<20 {
		t.Errorf("%d bytes are left to others, of which %d are alive", c.beside, len(alive))
	}
	runtime.KeepAlive(alive)
	if beside := adjust(); beside != leastBeside {
		t.Errorf("%d bytes are left to others when they need no more", beside)
	}
}
