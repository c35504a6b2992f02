//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is the unit of /proc, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// machine is what all processors have done so far, in ticks.
type machine struct {
	at    time.Time
	busy  int64 // for any process, or lost to other guests of the host
	ours  int64 // this process and all that come of it
	inner int64 // the kernel's own threads: mostly write-back of what is measured
}

// machineNow reads it.
func machineNow() machine {
	m := machine{at: time.Now()}
	if stat, err := os.ReadFile("/proc/stat"); err == nil {
		line, _, _ := strings.Cut(string(stat), "\n")
		// user nice system idle iowait irq softirq steal
		for i, field := range strings.Fields(line)[1:] {
			if n, err := strconv.ParseInt(field, 10, 64); err == nil && (i < 3 || i == 7) {
				m.busy += n
			}
		}
	}
	for _, p := range processes() {
		switch {
		case p.comesOf(os.Getpid()):
			m.ours += p.ticks
		case p.comesOf(kthreadd):
			m.inner += p.ticks
		}
	}
	return m
}

// kthreadd is the parent of the kernel's threads.
const kthreadd = 2

// seen is a process at one moment.
type seen struct {
	pid    int
	parent *seen // nil: nobody's child
	ticks  int64 // its time, and that of children it has waited for
}

func (p *seen) comesOf(ancestor int) bool {
	for ; p != nil; p = p.parent {
		if p.pid == ancestor {
			return true
		}
	}
	return false
}

// processes are all that run.
func processes() map[int]*seen {
	all, parents := map[int]*seen{}, map[int]int{}
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, entry := range entries {
		b, err := os.ReadFile(entry)
		if err != nil {
			continue // it has ended
		}
		head, rest, _ := strings.Cut(string(b), " ")
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
		if len(fields) < 15 {
			continue
		}
		p := new(seen)
		p.pid, _ = strconv.Atoi(head)
		parents[p.pid], _ = strconv.Atoi(fields[1])
		for _, field := range fields[11:15] { // utime stime cutime cstime
			n, _ := strconv.ParseInt(field, 10, 64)
			p.ticks += n
		}
		all[p.pid] = p
	}
	for pid, p := range all {
		p.parent = all[parents[pid]]
	}
	return all
}

// othersSince is the share of all processors that others have used since then.
func (m machine) othersSince(then machine) float64 {
	total := m.at.Sub(then.at).Seconds() * ticksPerSecond * float64(runtime.NumCPU())
	others := float64((m.busy - then.busy) - (m.ours - then.ours) - (m.inner - then.inner))
	return max(others/total, 0)
}

// cpuOf is the CPU time that a process and all that come of it have used.
func cpuOf(pid int) (used time.Duration) {
	if pid == 0 {
		return 0
	}
	for _, p := range processes() {
		if p.comesOf(pid) {
			used += time.Duration(p.ticks) * time.Second / ticksPerSecond
		}
	}
	return used
}

// facts about the machine, for the report's head.
func (b *bench) facts() []string {
	facts := []string{
		fmt.Sprintf("%s: %d CPUs (%s), %s, Linux %s, %s", time.Now().UTC().Format("2006-01-02 15:04 MST"),
			runtime.NumCPU(), cpuModel(), memoryTotal(), kernel(), runtime.Version()),
		"disk of " + b.dir + ": " + fileSystem(b.dir),
	}
	if b.unit > 0 {
		facts = append(facts, fmt.Sprintf("F, one 4 KiB overwrite + fdatasync there: p50 %.3f ms in the middle of the run", b.unit))
	}
	return facts
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func memoryTotal() string {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%.0f GiB", float64(info.Totalram)*float64(info.Unit)/(1<<30))
}

func kernel() string {
	b, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(b))
}

// fileSystem is the type and the device of the mount that dir is on.
func fileSystem(dir string) string {
	b, _ := os.ReadFile("/proc/self/mounts")
	best, said := "", "unknown"
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		inside := len(f) > 3 && (f[1] == "/" || dir == f[1] || strings.HasPrefix(dir, f[1]+"/"))
		if inside && len(f[1]) >= len(best) {
			best, said = f[1], f[2]+" on "+f[0]+" ("+f[3]+")"
		}
	}
	if strings.HasPrefix(said, "tmpfs") || strings.HasPrefix(said, "ramfs") {
		said += ". **This is no disk: durable writes cost nothing here; give --dir another place**"
	}
	return said
}
