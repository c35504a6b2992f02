//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// otherStores are those that tests/bench/engines knows.
var otherStores = []string{"pebble", "sqlite", "redis", "postgres"}

// engineRows let other stores do the same work. What cannot run here says why.
func (b *bench) engineRows() error {
	if b.engines == "" {
		return errors.New("the other stores were not built: --engines")
	}
	type running struct {
		name string
		p    *process
	}
	var all []running
	defer func() {
		for _, r := range all {
			_ = r.p.stop()
		}
	}()
	run := func(name string, p *process, err error) {
		if err == nil {
			err = p.ready()
		}
		if err != nil {
			b.report.fault(name, err)
			return
		}
		all = append(all, running{name, p})
	}
	for _, kind := range []string{"store", "plain"} {
		p, err := b.child(kind, filepath.Join(b.scratch, "empty-"+kind+".db"))
		run(map[string]string{"store": "n8n-gate", "plain": "bbolt, one `db.Update` each"}[kind], p, err)
	}
	for _, kind := range otherStores {
		dir := filepath.Join(b.scratch, kind)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		p, err := start(b.command(b.engines, kind, dir))
		run(kind, p, err)
	}
	var variants []variant
	for _, clients := range []int{many, 1} {
		for _, r := range all {
			variants = append(variants, variant{
				name: fmt.Sprintf("%s, %d clients", r.name, clients), pid: r.p.pid(),
				take: func() (work.Measured, error) { return r.p.ask(work.Command{Clients: clients, Lasts: b.lasts}) },
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
