//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

const (
	page       = 4096
	unitPages  = 16_384 // 64 MiB, so that no two writes in a row meet
	unitWrites = 300

	// glanceWrites tell whether others keep the disk busy: when their median is more
	// than slowDisk times the least that was seen in this run.
	glanceWrites = 20
	slowDisk     = 2
)

// diskIsBusy looks whether a small write takes much longer than it can.
func (b *bench) diskIsBusy() bool {
	times, err := b.smallWrites(glanceWrites)
	if err != nil {
		return false // whoever measures meets that error too
	}
	if b.quickest == 0 || times.P50 < b.quickest {
		b.quickest = times.P50
	}
	return times.P50 > slowDisk*b.quickest
}

// smallWrites measures F, in milliseconds: overwriting one page of a file that has
// all its blocks, and making that durable. It is the unit of latencies: disks differ
// by orders of magnitude, and one disk does from hour to hour.
func (b *bench) smallWrites(n int) (work.Times, error) {
	f, err := os.OpenFile(filepath.Join(b.scratch, "unit"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return work.Times{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < unitPages*page {
		if _, err := f.WriteAt(make([]byte, unitPages*page), 0); err != nil {
			return work.Times{}, err
		}
		if err := f.Sync(); err != nil {
			return work.Times{}, err
		}
	}
	content := make([]byte, page)
	var took []time.Duration
	for i := range n {
		content[0] = byte(i)
		begin := time.Now()
		if _, err := f.WriteAt(content, page*rand.Int64N(unitPages)); err != nil {
			return work.Times{}, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return work.Times{}, fmt.Errorf("fdatasync: %w", err)
		}
		took = append(took, time.Since(begin))
	}
	return work.Quantiles(took), nil
}

// forget has the kernel drop what it has in memory of a file, so that the next one
// who opens it must read the disk.
func forget(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // what is not on disk yet is not dropped
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
