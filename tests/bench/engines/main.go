//go:build linux

// Command engines lets another store do the work of tests/bench: a claim inserts a row
// if there is none, a receipt updates it, both durably. It is a module of its own, so
// that the gate's does not depend on any of these.
//
//	engines NAME DIR    on stdin and stdout it speaks as tests/bench/internal/work says
package main

import (
	"fmt"
	"os"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

var engines = map[string]func(dir string) (work.Store, error){
	"pebble":   openPebble,
	"sqlite":   openSQLite,
	"redis":    openRedis,
	"postgres": openPostgres,
}

func main() {
	if len(os.Args) != 3 || engines[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: engines pebble|sqlite|redis|postgres DIR")
		os.Exit(2)
	}
	work.Serve(func() (work.Store, error) { return engines[os.Args[1]](os.Args[2]) })
}

// errThere is the error of a claim whose event is not new: none here ever is.
func errThere(d work.Stored) error { return fmt.Errorf("%q is there already", d.Key) }
