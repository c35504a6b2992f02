package caddymodule

import (
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// A scrape sees one count or the next, never what lies between: neither nothing nor a
// part.
func TestSnapshotIsWholeForEveryScrape(t *testing.T) {
	s := newSnapshot("stranded", "help", "operation")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	counts := []map[string]int{{}, {}}
	for i := range 50 {
		counts[0][fmt.Sprint("a", i)], counts[1][fmt.Sprint("b", i)] = 1, 2
	}
	if got, err := registry.Gather(); err != nil || len(got) != 0 {
		t.Fatalf("before the first count: %v, %v", got, err)
	}
	s.set(counts[0])
	stop := make(chan struct{})
	var setting sync.WaitGroup
	setting.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				s.set(counts[i%2])
			}
		}
	})
	for range 500 {
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 50 {
			t.Fatalf("a scrape saw %v, %v", families, err)
		}
		first := families[0].GetMetric()[0].GetGauge().GetValue()
		for _, m := range families[0].GetMetric() {
			if m.GetGauge().GetValue() != first {
				t.Fatal("a scrape saw parts of two counts")
			}
		}
	}
	close(stop)
	setting.Wait()
	s.set(map[string]int{})
	if got, err := registry.Gather(); err != nil || len(got) != 0 {
		t.Fatalf("after all are gone: %v, %v", got, err)
	}
}
