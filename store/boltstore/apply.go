package boltstore

import (
	"fmt"
	"slices"

	"github.com/n8n-gate/n8n-gate/store"
)

// apply is the compare-and-swap of one Apply.
type apply struct {
	changes []store.Change
	keys    [][]byte       // of the changes
	stored  []store.Record // the answer
}

// newApply refuses what no state of the store could make right.
func newApply(cs []store.Change) (*apply, error) {
	a := &apply{changes: cs, keys: make([][]byte, len(cs))}
	seen := make(map[store.ID]bool, len(cs))
	for i, c := range cs {
		key, err := recordKey(c.Now.ID)
		if err != nil {
			return nil, err
		}
		if seen[c.Now.ID] {
			return nil, fmt.Errorf("one record of operation %q stands in two changes", c.Now.Operation)
		}
		seen[c.Now.ID] = true
		a.keys[i] = key
		for _, alias := range c.Now.Aliases {
			if len(alias.Value) > maxKey {
				return nil, fmt.Errorf("an alias of %d bytes is too long", len(alias.Value))
			}
		}
	}
	return a, nil
}

// run checks everything before it writes anything.
func (a *apply) run(b *batch) error {
	present, err := readRecords(b.tx.Bucket(bucketRecords), a.keys)
	if err != nil {
		return notStored(err)
	}
	for i, c := range a.changes {
		if present[i].Version != c.Was {
			return &store.Conflict{Present: present}
		}
	}
	if taken := a.taken(b, present); len(taken) > 0 {
		return &store.Conflict{Present: present, Taken: taken}
	}
	a.releaseAliases(b, present)
	a.stored = make([]store.Record, len(a.changes))
	for i, c := range a.changes {
		a.stored[i] = a.write(b, a.keys[i], present[i], c)
	}
	return nil
}

// aliases are those that the record of a change has afterwards.
func aliases(c store.Change) []store.Alias {
	if c.Now.State == store.Gone {
		return nil
	}
	return c.Now.Aliases
}

// taken finds the aliases that belong to another record, which keeps them, or
// that two changes want for the first time.
func (a *apply) taken(b *batch, present []store.Record) map[store.Alias]store.ID {
	owners := make(map[store.Alias]store.ID) // afterwards, as far as the changes say
	changed := make(map[store.ID]bool, len(a.changes))
	for i, c := range a.changes {
		changed[c.Now.ID] = true
		for _, alias := range aliases(c) {
			if slices.Contains(present[i].Aliases, alias) {
				owners[alias] = c.Now.ID
			}
		}
	}
	taken := make(map[store.Alias]store.ID)
	bucket := b.tx.Bucket(bucketAliases)
	for _, c := range a.changes {
		for _, alias := range aliases(c) {
			owner, owned := owners[alias]
			if !owned {
				owners[alias] = c.Now.ID
				key := bucket.Get(aliasKey(alias))
				if owned = key != nil && !changed[recordID(key)]; owned {
					owner = recordID(key)
				}
			}
			if owned && owner != c.Now.ID {
				taken[alias] = owner
			}
		}
	}
	return taken
}

// releaseAliases takes all that are given up from their records first: one that
// moves would else be deleted after it was given to its new owner.
func (a *apply) releaseAliases(b *batch, present []store.Record) {
	for i, c := range a.changes {
		kept := aliases(c)
		for _, alias := range present[i].Aliases {
			if !slices.Contains(kept, alias) {
				b.delete(bucketAliases, aliasKey(alias))
			}
		}
	}
}

// write replaces one record and returns it as it stands afterwards.
func (a *apply) write(b *batch, key []byte, was store.Record, c store.Change) store.Record {
	now := c.Now.Clone()
	now.Version = 0
	if now.State == store.Gone {
		if was.Version != 0 {
			b.replace(key, was, now)
		}
		return now
	}
	now.Version = b.next()
	b.replace(key, was, now)
	for _, alias := range now.Aliases {
		if !slices.Contains(was.Aliases, alias) {
			b.put(bucketAliases, aliasKey(alias), key)
		}
	}
	switch {
	case len(c.Payload) > 0:
		b.put(bucketPayloads, key, c.Payload)
	case c.Payload != nil:
		b.delete(bucketPayloads, key)
	}
	return now
}
