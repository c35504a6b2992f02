//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// otherStores are those that tests/bench/engines knows: those with a server of their
// own write elsewhere than in the process that is asked.
var otherStores = []struct {
	name, title string
	server      bool
}{
	{"pebble", "Pebble", false},
	{"sqlite", "SQLite, WAL, synchronous=FULL", false},
	{"redis", "Redis, appendfsync always", true},
	{"postgres", "PostgreSQL", true},
}

// engineRows let other stores do the same work. What cannot run here says why.
func (b *bench) engineRows() error {
	if b.engines == "" {
		return errors.New("the other stores were not built: --engines")
	}
	type running struct {
		name   string
		p      *process
		server bool
	}
	var all []running
	defer func() {
		for _, r := range all {
			_ = r.p.stop()
		}
	}()
	run := func(name string, server bool, p *process, err error) {
		if err == nil {
			err = p.ready()
		}
		if err != nil {
			b.report.fault(name, err)
			return
		}
		all = append(all, running{name, p, server})
	}
	p, err := b.child("store", filepath.Join(b.scratch, "empty.db"))
	run("n8n-gate", false, p, err)
	p, err = b.child("plain", filepath.Join(b.scratch, "empty-plain.db"))
	run("bbolt, one `db.Update` each", false, p, err)
	for _, other := range otherStores {
		dir := filepath.Join(b.scratch, other.name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		p, err := start(b.command(b.engines, other.name, dir))
		run(other.title, other.server, p, err)
	}
	var variants []variant
	for _, clients := range []int{many, 1} {
		for _, r := range all {
			variants = append(variants, variant{
				name: fmt.Sprintf("%s, %d clients", r.name, clients), pid: r.p.pid(),
				take: func() (work.Measured, error) {
					m, err := r.p.ask(work.Command{Clients: clients, Lasts: b.lasts})
					if r.server {
						m.Written = 0
					}
					return m, err
				},
			})
		}
	}
	taken, err := b.turns(variants)
	if err != nil {
		return err
	}
	for i, v := range variants {
		b.report.others = append(b.report.others, detail{v.name, taken[i]})
	}
	return nil
}
