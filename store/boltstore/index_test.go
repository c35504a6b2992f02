package boltstore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

// few leaves so few bits of every hash that all of them are shared by many.
const few = 0b11 << (32 - shardBits)

// TestIndexAgainstAList adds and removes at random, and compares each look-up
// with a list of what is there.
func TestIndexAgainstAList(t *testing.T) {
	for name, c := range map[string]struct {
		hashes func() uint64
		most   int
	}{
		"spread over shards": {rand.Uint64, 3000},
		"one shard":          {func() uint64 { return rand.Uint64() >> shardBits }, 3000},
		"the same few":       {func() uint64 { return rand.Uint64() & few }, 300},
		// Behind the last home there is little room.
		"the last homes": {func() uint64 { return ^uint64(0) - rand.Uint64N(1<<30) }, 60},
	} {
		t.Run(name, func(t *testing.T) {
			x := newIndex()
			var there []ref
			for round := range 20_000 {
				// It grows and shrinks several times.
				if growing := round/5000%2 == 0; len(there) == 0 || growing && len(there) < c.most && rand.IntN(4) > 0 {
					r := ref{c.hashes(), place(1 + rand.Uint64N(1000))}
					x.add(r)
					there = append(there, r)
				} else {
					i := rand.IntN(len(there))
					x.remove(there[i])
					there[i] = there[len(there)-1]
					there = there[:len(there)-1]
				}
				if round%100 > 0 || len(there) == 0 {
					continue
				}
				hash := there[rand.IntN(len(there))].hash
				if rand.IntN(4) == 0 {
					hash = c.hashes()
				}
				sameFound(t, x, hash, there)
			}
			for len(there) > 0 {
				sameFound(t, x, there[0].hash, there)
				x.remove(there[0])
				there = there[1:]
			}
			if left := x.entries(); len(left) != 0 {
				t.Errorf("%d entries were left", len(left))
			}
		})
	}
}

func sameFound(t *testing.T, x *index, hash uint64, there []ref) {
	t.Helper()
	have := x.find(hash, nil)
	var want []place
	for _, r := range there {
		if x.shard(r.hash) == x.shard(hash) && short(r.hash) == short(hash) {
			want = append(want, r.place)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Fatalf("hash %x: got %v, want %v", hash, have, want)
	}
}

// TestRemovingWhatIsNotThere changes nothing.
func TestRemovingWhatIsNotThere(t *testing.T) {
	x := newIndex()
	x.remove(ref{1, 1})
	for n := range place(100) {
		x.add(ref{few, n + 1})
	}
	x.remove(ref{few, 200})
	x.remove(ref{0, 1})
	x.remove(ref{^uint64(0), 1})
	if n := len(x.entries()); n != 100 {
		t.Errorf("%d entries, want 100", n)
	}
}

// TestIndexMemory measures what the index costs by record, with a name and one
// alias each: at sizes just before and just after its tables have grown, too.
func TestIndexMemory(t *testing.T) {
	const limit = 64 // bytes
	worst, least := 0.0, 1000.0
	x := newIndex()
	before := heap()
	added := 0
	for _, records := range []int{50_000, 100_000, 200_000, 210_000, 220_000, 240_000, 260_000, 280_000, 300_000, 320_000, 350_000} {
		for ; added < records; added++ {
			x.add(ref{rand.Uint64(), place(added + 1)})
			x.add(ref{rand.Uint64(), place(added + 1)})
		}
		each := float64(heap()-before) / float64(records)
		worst, least = max(worst, each), min(least, each)
	}
	runtime.KeepAlive(x)
	t.Logf("%.1f to %.1f bytes a record", least, worst)
	if worst > limit {
		t.Errorf("%.1f bytes a record, want %d at most", worst, limit)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one made free is swept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// colliding is a store all of whose names and aliases have one of four hashes.
func colliding(t *testing.T) *Store {
	t.Helper()
	s := opened(t)
	s.index.mask = few
	return s
}

func TestCollisions(t *testing.T) {
	s := colliding(t)
	for n := range 40 {
		c := claim(n)
		// The value of one is the event key of another, and of another kind again.
		c.Now.Aliases = []store.Alias{
			{Kind: store.AliasToken, Value: claim(n + 1).Now.EventKey},
			{Kind: store.AliasExecution, Value: claim(n).Now.EventKey},
		}
		mustApply(t, s, c)
	}
	for n := range 40 {
		got, err := s.Get(t.Context(), claim(n).Now.ID)
		check(t, err)
		if got[0].ID != claim(n).Now.ID || got[0].Version == 0 {
			t.Errorf("record %d: got %v", n, got[0].ID)
		}
		for kind, want := range map[store.AliasKind]int{store.AliasToken: n - 1, store.AliasExecution: n} {
			id, err := s.Find(t.Context(), store.Alias{Kind: kind, Value: claim(n).Now.EventKey})
			if want >= 0 && (err != nil || id != claim(want).Now.ID) {
				t.Errorf("alias of kind %d of record %d: got %v, %v", kind, want, id, err)
			}
		}
		if stands(t, s, 100+n) != 0 {
			t.Errorf("record %d is there", 100+n)
		}
	}
}

// TestRebuild: what was stored before a restart is found after it, in every
// retention class.
func TestRebuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	s := open(t, path)
	for n := range 500 {
		c := claim(n)
		c.Now.Retention = []time.Duration{0, 24 * time.Hour, 30 * 24 * time.Hour, 10 * 365 * 24 * time.Hour}[n%4]
		c.Now.Aliases = []store.Alias{{Kind: store.AliasToken, Value: fmt.Sprint(n)}}
		mustApply(t, s, c)
	}
	check(t, s.Close())
	s = open(t, path)
	defer s.Close()
	for n := range 500 {
		id, err := s.Find(t.Context(), store.Alias{Kind: store.AliasToken, Value: fmt.Sprint(n)})
		if err != nil || id != claim(n).Now.ID || stands(t, s, n) == 0 {
			t.Errorf("record %d: %v, %v", n, id, err)
		}
	}
	checkIndex(t, s)
}
