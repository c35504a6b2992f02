package boltstore

import (
	"slices"

	"github.com/n8n-gate/n8n-gate/store"
)

// changes are what one transaction of the writer does to the index. What it adds
// is there at once: in older snapshots nothing stands at these places, and the
// transaction itself must find it. What it removes stays until it is known that
// the commit stands.
type changes struct {
	index   *index
	added   []ref
	removed []ref
}

func (c *changes) add(refs ...ref) {
	for _, r := range refs {
		c.index.add(r)
	}
	c.added = append(c.added, refs...)
}

func (c *changes) remove(refs ...ref) { c.removed = append(c.removed, refs...) }

// replace follows a record at p from was to now.
func (c *changes) replace(was, now store.Record, p place) {
	if slices.Equal(was.Aliases, now.Aliases) {
		return
	}
	before, after := c.index.refs(was, p), c.index.refs(now, p)
	for i, a := range distinct(now.Aliases) {
		if !slices.Contains(was.Aliases, a) {
			c.add(after[1+i])
		}
	}
	for i, a := range distinct(was.Aliases) {
		if !slices.Contains(now.Aliases, a) {
			c.remove(before[1+i])
		}
	}
}

// distinct are the aliases without repetitions, in their order.
func distinct(aliases []store.Alias) []store.Alias {
	for i, a := range aliases {
		if slices.Contains(aliases[:i], a) {
			out := slices.Clone(aliases[:i])
			for _, a := range aliases[i:] {
				if !slices.Contains(out, a) {
					out = append(out, a)
				}
			}
			return out
		}
	}
	return aliases
}

// settle ends the transaction: it stands, or nothing of it does.
func (c *changes) settle(stored bool) {
	needless := c.added
	if stored {
		needless = c.removed
		if len(needless) > 0 {
			c.index.epoch.Add(1) // first: a reader that misses one of them must see it
		}
	}
	for _, r := range needless {
		c.index.remove(r)
	}
}
