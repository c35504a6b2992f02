//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// opened is what it took to open a store in a process that has just begun.
type opened struct {
	Seconds float64 // until it had read a record and stored a claim
	Records int64
	Heap    int64 // live bytes that it keeps
	Read    int64 // bytes that came from the disk
	Err     string
}

// openStore measures itself. Memory is the live heap: the file is mapped, and its pages
// are the kernel's to keep or drop.
func openStore(path string) (opened, error) {
	heap, read := liveHeap(), readBytes()
	ctx, begin := context.Background(), time.Now()
	s, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		return opened{}, err
	}
	have, err := s.Get(ctx, store.ID{Operation: work.Operation, EventKey: work.EventKey(0)})
	if err == nil && have[0].State != store.Completed {
		err = fmt.Errorf("the first event is %s", have[0].State)
	}
	if err == nil {
		_, err = s.Apply(ctx, store.Change{Now: work.Claim(work.FirstNew(), s.Incarnation(), time.Now())})
	}
	o := opened{Seconds: time.Since(begin).Seconds(), Read: readBytes() - read}
	if err != nil {
		return o, err
	}
	o.Heap = liveHeap() - heap
	stats, err := s.Stats(ctx)
	if err != nil {
		return o, err
	}
	for _, states := range stats.Records {
		for _, n := range states {
			o.Records += n
		}
	}
	return o, s.Close()
}

func liveHeap() int64 {
	var m runtime.MemStats
	for range 3 { // pools give up what they hold in the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// readBytes is what this process has had read from the disk.
func readBytes() int64 {
	b, _ := os.ReadFile("/proc/self/io")
	_, rest, _ := strings.Cut(string(b), "\nread_bytes: ")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseInt(line, 10, 64)
	return n
}
