//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// openRows measure what it takes until a large store serves, and the memory it keeps.
func (b *bench) openRows() error {
	path, err := b.largeCopy()
	if err != nil {
		return err
	}
	ways := []struct {
		name   string
		before func() error
	}{
		{"in the page cache", func() error { return nil }},
		{"after kill -9", func() error { return b.killAtWork(path) }},
		{"from the disk", func() error { return forget(path) }},
	}
	// The first opening also reads what the copy left out of the cache.
	if _, err := b.open(path); err != nil {
		return err
	}
	seconds, turns := make([][]float64, len(ways)), make([][]turn, len(ways))
	var reads, memory []float64
	for range b.rounds {
		for i, way := range ways {
			var o opened
			t, err := b.turn(variant{name: "opening " + way.name, take: func() (work.Measured, error) {
				if err := way.before(); err != nil {
					return work.Measured{}, err
				}
				var err error
				o, err = b.open(path)
				return work.Measured{Seconds: o.Seconds}, err
			}})
			if err != nil {
				return fmt.Errorf("opening the store %s: %w", way.name, err)
			}
			say("opening %s records %s: %.3f s, %.1f bytes of memory a record, %s MB from the disk",
				thousands(b.large), way.name, o.Seconds, float64(o.Heap)/float64(o.Records), number(float64(o.Read)/1e6))
			seconds[i], turns[i] = append(seconds[i], o.Seconds), append(turns[i], t)
			memory = append(memory, float64(o.Heap)/float64(o.Records))
			if i == len(ways)-1 {
				reads = append(reads, float64(o.Read)/1e6)
			}
		}
	}
	for i, way := range ways {
		r := row{
			what: "open and ready with " + thousands(b.large) + " records, " + way.name, unit: "s",
			goal: goal{least: 6, aim: 2, atMost: true}, values: seconds[i], disturbed: disturbed(turns[i]),
		}
		if i == len(ways)-1 {
			r.remark = number(median(reads)) + " MB came from the disk"
		}
		b.report.rows = append(b.report.rows, r)
	}
	b.report.rows = append(b.report.rows, row{
		what: "memory that the open store keeps, per record", unit: "B", goal: goal{least: 64, aim: 63, atMost: true}, values: memory,
		remark: "live heap with " + thousands(b.large) + " records",
	})
	return nil
}

// open opens the store in a new process.
func (b *bench) open(path string) (o opened, err error) {
	p, err := b.child("open", path)
	if err != nil {
		return o, err
	}
	if err := p.read(&o); err != nil {
		return o, err
	}
	if o.Err != "" {
		err = errors.New(o.Err)
	}
	return o, errors.Join(err, p.stop())
}

// killAtWork kills a process that has the store open and is writing to it.
func (b *bench) killAtWork(path string) error {
	p, err := b.child("store", path)
	if err != nil {
		return err
	}
	if err := p.ready(); err != nil {
		return err
	}
	defer p.kill()
	if err := json.NewEncoder(p.stdin).Encode(work.Command{Clients: many, Lasts: time.Hour}); err != nil {
		return err
	}
	select {
	case <-time.After(b.lasts / 3): // in the middle of it
	case <-b.ctx.Done():
	}
	return b.ctx.Err()
}
