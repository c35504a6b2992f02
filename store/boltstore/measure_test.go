package boltstore

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/n8n-gate/n8n-gate/store"
)

// measureEnv=10,1000,5000 runs TestMeasure with stores of so many thousand records.
// It judges nothing: it prints. Figures of one run may be compared with each other
// only. Stores that are found in measureDirEnv are used, and new ones left there.
const (
	measureEnv    = "BOLTSTORE_MEASURE"
	measureDirEnv = "BOLTSTORE_MEASURE_DIR"
)

// measureRounds is how often each cell is measured, in turn with the others.
const measureRounds = 5

const measured = "POST shop/orders"

// delivery makes the n-th event's claim, as the gate would.
func delivery(s *Store, n uint64) store.Record {
	token := store.HashToken(strconv.FormatUint(n, 16))
	r, err := store.Claim(store.Record{ID: store.ID{Operation: measured, EventKey: fmt.Sprintf("svix-id:msg_%024x", n)}}, store.Claimed{
		Token: token, Incarnation: s.Incarnation(), Holder: store.HolderForward, Lasts: 2 * time.Minute,
		Retention: 30 * 24 * time.Hour, Fingerprint: token, Covers: "body",
	}, time.Now())
	if err != nil {
		panic(err)
	}
	return r
}

// settled is r with a receipt of 100 bytes.
func settled(r store.Record) store.Record {
	r, err := store.Settle(r, store.Settlement{
		Token: r.TokenHash, To: store.Completed, Evidence: store.ByResponse, Reason: store.ReasonResponse,
		Receipt: &store.Receipt{Status: 200, Header: []store.Field{{Name: "Content-Type", Value: "application/json"}}, Body: make([]byte, 100)},
	}, time.Now())
	if err != nil {
		panic(err)
	}
	return r
}

func mustStore(s *Store, cs ...store.Change) []store.Record {
	stored, err := s.Apply(context.Background(), cs...)
	if err != nil {
		panic(err)
	}
	return stored
}

// eventNumber makes events that were never there before.
var eventNumber atomic.Uint64

func init() { eventNumber.Store(uint64(time.Now().UnixNano())) }

// fill stores n completed events; expired ones of long ago.
func fill(s *Store, n int, expired bool) {
	const at = 1000
	for range max(n, 0) / at {
		cs := make([]store.Change, at)
		for i := range cs {
			r := settled(delivery(s, eventNumber.Add(1)))
			if expired {
				r.ExpiresAt = r.ExpiresAt.Add(-100 * 24 * time.Hour)
			}
			cs[i].Now = r
		}
		mustStore(s, cs...)
	}
}

// deliver claims and settles new events from so many goroutines for a while.
// It returns deliveries a second and the median of one, in seconds.
func deliver(s *Store, goroutines int, d time.Duration) (rate, median float64) {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		took  []time.Duration
		end   = time.Now().Add(d)
	)
	for range goroutines {
		group.Go(func() {
			var mine []time.Duration
			for time.Now().Before(end) {
				begun := time.Now()
				r := mustStore(s, store.Change{Now: delivery(s, eventNumber.Add(1))})[0]
				mustStore(s, store.Change{Was: r.Version, Now: settled(r)})
				mine = append(mine, time.Since(begun))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	group.Wait()
	slices.Sort(took)
	return float64(len(took)) / d.Seconds(), took[len(took)/2].Seconds()
}

// plainly does the same with one db.Update for each claim and each receipt, by
// hashed key in one bucket, which is how one would begin.
func plainly(db *bbolt.DB, s *Store, goroutines int, d time.Duration) (rate float64) {
	var (
		group sync.WaitGroup
		n     atomic.Int64
		end   = time.Now().Add(d)
	)
	for range goroutines {
		group.Go(func() {
			for time.Now().Before(end) {
				r := delivery(s, eventNumber.Add(1))
				key := store.HashToken(r.EventKey)
				for _, r := range []store.Record{r, settled(r)} {
					err := db.Update(func(tx *bbolt.Tx) error {
						b := tx.Bucket(bucketRecords)
						_ = b.Get(key[:])
						return b.Put(key[:], store.AppendRecord(nil, r))
					})
					if err != nil {
						panic(err)
					}
				}
				n.Add(1)
			}
		})
	}
	group.Wait()
	return float64(n.Load()) / d.Seconds()
}

// pageSync is the median of overwriting one 4 KiB page and fdatasync, in seconds.
func pageSync(f *os.File) float64 {
	page := make([]byte, 4096)
	took := make([]time.Duration, 300)
	for i := range took {
		begun := time.Now()
		if _, err := f.WriteAt(page, 0); err != nil {
			panic(err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			panic(err)
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[len(took)/2].Seconds()
}

// written is what this process has had written to disks, in bytes.
func written() float64 {
	f, err := os.Open("/proc/self/io")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "write_bytes: "); ok {
			bytes, _ := strconv.ParseFloat(n, 64)
			return bytes
		}
	}
	return 0
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestMeasure prints how the store does by size.
func TestMeasure(t *testing.T) {
	sizes := strings.FieldsFunc(os.Getenv(measureEnv), func(r rune) bool { return r == ',' })
	if len(sizes) == 0 {
		t.Skipf("set %s to sizes in thousands of records, such as 10,1000,5000", measureEnv)
	}
	dir := t.TempDir()
	kept := cmp.Or(os.Getenv(measureDirEnv), dir)
	baseline, err := bbolt.Open(filepath.Join(dir, "plain.db"), fileMode, &bbolt.Options{FreelistType: bbolt.FreelistMapType, InitialMmapSize: mapSize(runtime.GOOS)})
	check(t, err)
	defer baseline.Close()
	check(t, baseline.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket(bucketRecords); return err }))
	page, err := os.Create(filepath.Join(dir, "page"))
	check(t, err)
	defer page.Close()

	stores := make([]*Store, len(sizes))
	for i, size := range sizes {
		n, err := strconv.Atoi(size)
		check(t, err)
		begun := time.Now()
		stores[i] = open(t, filepath.Join(kept, size+".db"))
		stats, err := stores[i].Stats(t.Context())
		check(t, err)
		fill(stores[i], 1000*n-int(stats.Records[measured][store.Completed]), false)
		t.Logf("%s,000 records stored in %v", size, time.Since(begun).Round(time.Millisecond))
	}
	cells := make(map[string][]float64)
	for range measureRounds {
		cells["db.Update each, 64: deliveries/s"] = append(cells["db.Update each, 64: deliveries/s"], plainly(baseline, stores[0], 64, 2*time.Second))
		cells["4 KiB write + fdatasync, us"] = append(cells["4 KiB write + fdatasync, us"], 1e6*pageSync(page))
		for i, s := range stores {
			cell := func(what string, v float64) {
				what = sizes[i] + ",000 records, " + what
				cells[what] = append(cells[what], v)
			}
			before := written()
			rate, _ := deliver(s, 64, 2*time.Second)
			cell("64: deliveries/s", rate)
			cell("64: bytes written per delivery", (written()-before)/(2*rate))
			_, median := deliver(s, 1, time.Second)
			cell("1: median of a delivery, us", 1e6*median)
		}
	}
	names := make([]string, 0, len(cells))
	for name := range cells {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Logf("%-50s %10.0f", name, middle(cells[name]))
	}
	for i, s := range stores {
		path := s.Path()
		check(t, s.Close())
		for _, cache := range []string{"warm", "cold"} {
			if cache == "cold" {
				forget(t, path)
			}
			begun := time.Now()
			s = open(t, path)
			t.Logf("%s,000 records, open %s: %v", sizes[i], cache, time.Since(begun).Round(time.Millisecond))
			check(t, s.Close())
		}
		info, err := os.Stat(path)
		check(t, err)
		t.Logf("%s,000 records: file of %d MB", sizes[i], info.Size()>>20)
	}
}

// TestMeasureExpiry prints how long commits take while a tenth of the records
// expires, and while none does.
func TestMeasureExpiry(t *testing.T) {
	thousands, err := strconv.Atoi(os.Getenv(measureEnv))
	if err != nil {
		t.Skipf("set %s to thousands of records, such as 1000", measureEnv)
	}
	s := open(t, filepath.Join(cmp.Or(os.Getenv(measureDirEnv), t.TempDir()), os.Getenv(measureEnv)+".db"))
	defer s.Close()
	stats, err := s.Stats(t.Context())
	check(t, err)
	fill(s, 900*thousands-int(stats.Records[measured][store.Completed]), false)
	fill(s, 100*thousands, true)

	var took []float64 // of commits, in ms; the writer's until it rests
	real := s.update
	s.update = func(fn func(*bbolt.Tx) error) error {
		begun := time.Now()
		err := real(fn)
		took = append(took, 1e3*time.Since(begun).Seconds())
		return err
	}
	report := func(what string) {
		slices.Sort(took)
		t.Logf("%s: %d commits, median %.2f ms, 99 %% %.2f ms, longest %.2f ms", what, len(took),
			took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
		took = nil
	}
	deliver(s, 64, 2*time.Second)
	report("deliveries alone")
	for _, limit := range []int{50, 100, expireChunk} {
		var serving sync.WaitGroup
		serving.Go(func() { deliver(s, 64, 3*time.Second) })
		total, begun := 0, time.Now()
		for n := limit; n == limit && total < 33*thousands; total += n {
			n, err = s.Expire(t.Context(), time.Now(), limit)
			check(t, err)
		}
		spent := time.Since(begun)
		serving.Wait()
		report(fmt.Sprintf("%d records expired by %d in %v beside deliveries", total, limit, spent.Round(time.Millisecond)))
	}
}

// forget has the system drop the file from its page cache.
func forget(t *testing.T, path string) {
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	check(t, unix.Fdatasync(int(f.Fd())))
	size, err := f.Seek(0, io.SeekEnd)
	check(t, err)
	check(t, unix.Fadvise(int(f.Fd()), 0, size, unix.FADV_DONTNEED))
}
