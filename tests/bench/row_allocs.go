//go:build linux

package main

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// allocRows run the handler's own benchmark (caddymodule/bench_test.go) and compare
// what the gate allocates with what stands there without it.
func (b *bench) allocRows() error {
	var news, replays []float64
	for range b.rounds {
		var found map[string]float64
		_, err := b.turn(variant{name: "allocations", take: func() (work.Measured, error) {
			cmd := b.command("go", "test", "./caddymodule", "-run", "^$", "-bench", "^BenchmarkDelivery$", "-benchmem", "-benchtime", "10000x")
			cmd.Dir = b.root
			out, err := cmd.CombinedOutput()
			if err != nil {
				return work.Measured{}, fmt.Errorf("%w: %.2000s", err, out)
			}
			found = allocations(string(out))
			return work.Measured{}, nil
		}})
		if err != nil {
			return err
		}
		if len(found) != 4 {
			return fmt.Errorf("the benchmark of the handler has %d results: %v", len(found), found)
		}
		say("allocations: %v", found)
		news = append(news, found["new"]-found["proxy"])
		replays = append(replays, found["replay"]-found["empty"])
	}
	b.report.rows = append(b.report.rows,
		row{what: "allocations of a new delivery over the same proxy without the gate", unit: "allocs", goal: goal{least: 30, aim: 15, atMost: true},
			values: news, remark: "64 at a time, the store's commits included"},
		row{what: "allocations of a replay over an empty handler", unit: "allocs", goal: goal{least: 16, aim: 6, atMost: true},
			values: replays, remark: "64 at a time"})
	return nil
}

var benchmarkLine = regexp.MustCompile(`(?m)^BenchmarkDelivery/(\w+?)(?:-\d+)?\s.*?(\d+) allocs/op`)

// allocations reads what go test -benchmem printed.
func allocations(out string) map[string]float64 {
	found := map[string]float64{}
	for _, m := range benchmarkLine.FindAllStringSubmatch(out, -1) {
		found[m[1]], _ = strconv.ParseFloat(m[2], 64)
	}
	return found
}
