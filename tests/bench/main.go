//go:build linux

// Command bench measures the gate and its store and prints a report in Markdown: the
// goals, what was measured, and how much the rounds differed. tests/bench/run.sh builds
// what it needs and runs it.
//
// Only ratios within one run mean something, and times in units of one small durable
// write on the same disk. So the variants of a comparison take turns, round by round,
// and a turn that other work on the machine disturbed is void and repeated.
//
//	main.go      flags, and the order of things
//	report.go    rows, goals and tables
//	turns.go     rounds, turns, and what makes one void
//	machine.go   what others do on this machine meanwhile; facts about it
//	process.go   processes that are measured, and their end
//	disk.go      the unit: one small durable write
//	fill.go      stores with a million records, kept for the next run
//	stores.go    the gate's store, and plain bbolt, as children of this process
//	probe.go     opening a store in a child: time and memory
//	caddy.go     the measured Caddys
//	backend.go   what plays n8n
//	senders.go   what plays the senders
//	row_*.go     how the rows come about
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// bench is one run.
type bench struct {
	ctx     context.Context
	root    string // of the repository
	dir     string // of what is kept between runs; on the disk that is measured
	scratch string // of this run alone
	caddy   string // binaries
	engines string

	rounds   int
	lasts    time.Duration // one turn
	patience time.Duration // left to wait for a quiet machine, over the whole run
	records  int           // "a million"
	large    int           // "five million"
	fresh    bool          // fill stores anew
	unit     float64       // F in milliseconds, once it was measured
	quickest float64       // median of small writes, in milliseconds, that was seen so far

	report report
}

// parts of the report, in their order.
var parts = []struct {
	name    string
	measure func(*bench) error
}{
	{"caddy", (*bench).caddyRows},
	{"store", (*bench).storeRows},
	{"open", (*bench).openRows},
	{"expiry", (*bench).expiryRow},
	{"allocs", (*bench).allocRows},
	{"engines", (*bench).engineRows},
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		child(os.Args[2:])
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	var b bench
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	quick := flag.Bool("quick", false, "short turns, few rounds, a tenth of the records: whether it works, not how fast it is")
	rows := flag.String("rows", strings.Join(names, ","), "which parts of the report")
	flag.IntVar(&b.rounds, "rounds", 3, "turns of every variant")
	flag.DurationVar(&b.lasts, "lasts", 3*time.Second, "one turn")
	flag.DurationVar(&b.patience, "patience", 2*time.Minute, "how long to wait for a quiet machine, over the whole run")
	flag.IntVar(&b.records, "records", 1_000_000, "records in the store")
	flag.IntVar(&b.large, "large", 5_000_000, "records in the large store")
	flag.BoolVar(&b.fresh, "fresh", false, "fill the stores anew")
	flag.StringVar(&b.root, "root", ".", "the repository")
	flag.StringVar(&b.dir, "dir", filepath.Join(os.TempDir(), "n8n-gate-bench"), "where to work: on the disk that is to be measured")
	flag.StringVar(&b.caddy, "caddy", "", "a Caddy with the gate")
	flag.StringVar(&b.engines, "engines", "", "the program of tests/bench/engines")
	flag.Parse()
	if *quick {
		given := map[string]bool{}
		flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
		set := func(name string, to func()) {
			if !given[name] {
				to()
			}
		}
		set("rounds", func() { b.rounds = 2 })
		set("lasts", func() { b.lasts = time.Second })
		set("patience", func() { b.patience = 10 * time.Second })
		set("records", func() { b.records = 100_000 })
		set("large", func() { b.large = 500_000 })
	}
	if b.rounds < 1 || b.lasts <= 0 || b.records < 10*little || b.large < b.records {
		return fmt.Errorf("rounds and lasts must be positive, records at least %d and at most large", 10*little)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b.ctx = ctx
	for _, dir := range []*string{&b.root, &b.dir} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = abs
	}
	// PostgreSQL does not run as root: whoever it runs as must get to its directory.
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return err
	}
	b.scratch = scratch
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o755); err != nil {
		return err
	}
	return b.measure(strings.Split(*rows, ","), names)
}

// measure makes the parts that are wanted. One that fails says so in the report, and
// the others are made all the same.
func (b *bench) measure(wanted, known []string) error {
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no rows %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	begin := time.Now()
	for _, p := range parts {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		started := time.Now()
		if err := p.measure(b); err != nil {
			b.report.fault(p.name, err)
			say("%s: %v", p.name, err)
		}
		if b.ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err := b.dropCopies(); err != nil {
			return err
		}
		say("%s took %s", p.name, time.Since(started).Round(time.Second))
	}
	b.report.facts = append(b.facts(), fmt.Sprintf("%d rounds of %s a turn, %s in all; %s of patience were left",
		b.rounds, b.lasts, time.Since(begin).Round(time.Second), b.patience.Round(time.Second)))
	return b.report.write(os.Stdout)
}

// dropCopies removes the stores of a part that is over: they have gigabytes. The copy
// of the large one stays for the next part.
func (b *bench) dropCopies() error {
	copies, err := filepath.Glob(filepath.Join(b.scratch, "*.db"))
	for _, path := range copies {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// say tells on stderr how things go.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}
