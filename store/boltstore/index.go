package boltstore

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/n8n-gate/n8n-gate/store"
)

// index finds records by their names and aliases. It lives in memory alone and
// is made anew at Open (rebuild.go), so that no delivery writes a page for it.
// It keeps hashes and places only, 12 bytes an entry and without pointers for
// the collector to follow; whoever gets a place from it looks whether the record
// that stands there is the wanted one. So an entry too many costs a look and does
// no harm; one that is missing would let an event through twice.
//
// The rules that keep one from missing:
//
//   - The writer adds entries before it commits the records they lead to.
//   - It removes entries only after the commit that makes them needless, and
//     counts that in epoch before the first of them goes.
//   - A reader reads epoch, opens its transaction, and looks up. If it did not
//     find something and epoch is another one by then, an entry may have been
//     removed that its older snapshot still needed: it begins anew (Store.look).
type index struct {
	seed   maphash.Seed
	mask   uint64 // of the bits of a hash that count; all of them, except in tests
	epoch  atomic.Uint64
	shards [shards]shard
}

const (
	shardBits = 10
	shards    = 1 << shardBits
)

type shard struct {
	mu sync.RWMutex
	table
}

func newIndex() *index { return &index{seed: maphash.MakeSeed(), mask: ^uint64(0)} }

// ref is one entry: whatever has this hash may stand at place.
type ref struct {
	hash  uint64
	place place
}

// Names and the kinds of aliases are told apart by the first byte that is hashed.
const nameKind = 0

// hashRoom is enough for nearly all that is hashed; longer ones allocate.
const hashRoom = 256

func (x *index) hashID(id store.ID) uint64 {
	var room [hashRoom]byte
	return x.hash(append(append(append(append(room[:0], nameKind), id.Operation...), 0), id.EventKey...))
}

func (x *index) hashAlias(a store.Alias) uint64 {
	var room [hashRoom]byte
	return x.hash(append(append(room[:0], byte(a.Kind)), a.Value...))
}

func (x *index) hash(b []byte) uint64 { return maphash.Bytes(x.seed, b) & x.mask }

// shard is the one for hash. The table inside it knows the next 32 bits.
func (x *index) shard(hash uint64) *shard { return &x.shards[hash>>(64-shardBits)] }

func short(hash uint64) uint32 { return uint32(hash >> (32 - shardBits)) }

// find appends the places where something with this hash may stand.
func (x *index) find(hash uint64, to []place) []place {
	s := x.shard(hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.table.find(short(hash), to)
}

// add enters r; twice, if it is there already.
func (x *index) add(r ref) {
	s := x.shard(r.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.add(newEntry(short(r.hash), r.place))
}

// remove takes r out, once.
func (x *index) remove(r ref) {
	s := x.shard(r.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.remove(newEntry(short(r.hash), r.place))
}

// entry is one slot of a table. The zero entry is an empty slot: no place is 0.
type entry struct{ hash, high, low uint32 }

func newEntry(hash uint32, p place) entry { return entry{hash, uint32(p >> 32), uint32(p)} }

func (e entry) place() place { return place(e.high)<<32 | place(e.low) }
func (e entry) empty() bool  { return e.high|e.low == 0 }

// table is an open-addressing hash table whose entries are sorted by their hash:
// an entry stands at its home, the fraction hash/2^32 of the way through the
// table, or behind it with no empty slot between. So a look-up ends at the first
// larger hash, and a larger table is filled by one pass over the smaller one. It
// grows in small steps, which keeps it at least two thirds full.
type table struct {
	slots []entry // homes, and some slots for what is pushed behind the last
	homes int
	count int
}

const (
	minHomes = 8
	// A table is resized when it is fuller or emptier than this; in percent.
	fullest, emptiest, wanted = 85, 40, 72
)

// size is how many homes n entries shall have.
func size(n int) int { return max(minHomes, n*100/wanted) }

// spare slots stand behind the homes.
func spare(homes int) int { return min(minHomes+homes/8, 64) }

func (t *table) home(hash uint32) int {
	return int(uint64(hash) * uint64(t.homes) >> 32)
}

// seek returns the first slot, from the home of hash on, that is empty or holds
// a hash that is not smaller.
func (t *table) seek(hash uint32) int {
	if t.homes == 0 {
		return 0
	}
	i := t.home(hash)
	for i < len(t.slots) && !t.slots[i].empty() && t.slots[i].hash < hash {
		i++
	}
	return i
}

func (t *table) find(hash uint32, to []place) []place {
	for i := t.seek(hash); i < len(t.slots) && !t.slots[i].empty() && t.slots[i].hash == hash; i++ {
		to = append(to, t.slots[i].place())
	}
	return to
}

func (t *table) add(e entry) {
	for t.count*100 >= t.homes*fullest || !t.insert(e) {
		t.resize(max(minHomes, t.homes+t.homes/5+1))
	}
	t.count++
}

// insert moves what is behind e one slot on. It fails if there is none.
func (t *table) insert(e entry) bool {
	i := t.seek(e.hash)
	end := i
	for end < len(t.slots) && !t.slots[end].empty() {
		end++
	}
	if end == len(t.slots) {
		return false
	}
	copy(t.slots[i+1:end+1], t.slots[i:end])
	t.slots[i] = e
	return true
}

func (t *table) remove(e entry) {
	i := t.seek(e.hash)
	for i < len(t.slots) && t.slots[i] != e {
		if t.slots[i].empty() || t.slots[i].hash != e.hash {
			return
		}
		i++
	}
	if i == len(t.slots) {
		return
	}
	// What was pushed behind its home comes one slot nearer to it.
	for i++; i < len(t.slots) && !t.slots[i].empty() && t.home(t.slots[i].hash) < i; i++ {
		t.slots[i-1] = t.slots[i]
	}
	t.slots[i-1] = entry{}
	t.count--
	if t.homes > 4*minHomes && t.count*100 < t.homes*emptiest {
		t.resize(size(t.count))
	}
}

// resize gives the table so many homes, or more if the entries do not fit.
func (t *table) resize(homes int) {
	for ; ; homes += homes/5 + 1 {
		next := table{slots: make([]entry, homes+spare(homes)), homes: homes, count: t.count}
		if next.fill(t.slots) {
			*t = next
			return
		}
	}
}

// fill puts sorted entries into an empty table.
func (t *table) fill(entries []entry) bool {
	free := 0
	for _, e := range entries {
		if e.empty() {
			continue
		}
		free = max(free, t.home(e.hash))
		if free == len(t.slots) {
			return false
		}
		t.slots[free] = e
		free++
	}
	return true
}

// refs are the entries of a record that stands at p: of its name, and of each
// of its distinct aliases.
func (x *index) refs(r store.Record, p place) []ref {
	out := make([]ref, 0, 1+len(r.Aliases))
	out = append(out, ref{x.hashID(r.ID), p})
	for _, a := range distinct(r.Aliases) {
		out = append(out, ref{x.hashAlias(a), p})
	}
	return out
}
