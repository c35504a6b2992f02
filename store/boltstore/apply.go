package boltstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/n8n-gate/n8n-gate/store"
)

// Apply implements store.Store. Two kinds of changes do not fit into this engine
// and are ErrNotStored: aliases of more than 32 KiB, and any of the gate's own
// records, which are found by name alone.
func (s *Store) Apply(ctx context.Context, cs ...store.Change) ([]store.Record, error) {
	if len(cs) == 0 {
		return nil, nil
	}
	a, err := newApply(cs)
	if err != nil {
		return nil, notStored(err)
	}
	if err := s.claimed(ctx, a); err != nil {
		return nil, err
	}
	if err := s.submit(ctx, &op{run: a.run}); err != nil {
		return nil, err
	}
	return a.stored, nil
}

// claimed is the conflict of an Apply that wants to make a record which is there,
// from the last commit: such a duplicate does not wait for the writer. Whatever
// is new has nothing in the index and costs a look into memory; what is in doubt
// is the writer's to say.
func (s *Store) claimed(ctx context.Context, a *apply) error {
	likely := false
	var room [4]place
	for _, c := range a.changes {
		likely = likely || (c.Was == 0 && !isOwn(c.Now.Operation) && len(s.index.find(s.index.hashID(c.Now.ID), room[:0])) > 0)
	}
	if !likely {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return notStored(err)
	}
	var conflict *store.Conflict
	err := s.look(ctx, func(found *snapshot) error {
		present, err := found.records(a.ids)
		conflict = a.outdated(present)
		return err
	})
	if err != nil || conflict == nil {
		return nil // whatever is wrong, the writer will meet it too
	}
	return conflict
}

// apply is the compare-and-swap of one Apply.
type apply struct {
	changes []store.Change
	ids     []store.ID     // of the changes
	stored  []store.Record // the answer
}

// newApply refuses what no state of the store could make right.
func newApply(cs []store.Change) (*apply, error) {
	a := &apply{changes: cs, ids: make([]store.ID, len(cs))}
	seen := make(map[store.ID]bool, len(cs))
	for i, c := range cs {
		if _, err := newSpot(c.Now.ID); err != nil {
			return nil, err
		}
		if seen[c.Now.ID] {
			return nil, fmt.Errorf("one record of operation %q stands in two changes", c.Now.Operation)
		}
		seen[c.Now.ID], a.ids[i] = true, c.Now.ID
		if len(c.Now.Aliases) > 0 && isOwn(c.Now.Operation) {
			return nil, errors.New("the gate's own records have no aliases")
		}
		for _, alias := range c.Now.Aliases {
			if len(alias.Value) > maxKey {
				return nil, fmt.Errorf("an alias of %d bytes is too long", len(alias.Value))
			}
		}
	}
	return a, nil
}

// outdated is the conflict over records that are others than expected, if any is.
func (a *apply) outdated(present []record) *store.Conflict {
	for i, r := range present {
		if r.Version != a.changes[i].Was {
			return &store.Conflict{Present: plain(present)}
		}
	}
	return nil
}

// run checks everything before it writes anything.
func (a *apply) run(b *batch) error {
	present, err := b.records(a.ids)
	if err != nil {
		return notStored(err)
	}
	if c := a.outdated(present); c != nil {
		return c
	}
	taken, err := a.taken(b, present)
	if err != nil {
		return notStored(err)
	}
	if len(taken) > 0 {
		return &store.Conflict{Present: plain(present), Taken: taken}
	}
	a.stored = make([]store.Record, len(a.changes))
	for i, c := range a.changes {
		a.stored[i] = write(b, present[i], c)
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
func (a *apply) taken(b *batch, present []record) (map[store.Alias]store.ID, error) {
	var owners map[store.Alias]store.ID // afterwards, as far as the changes say
	if len(a.changes) > 1 {
		owners = make(map[store.Alias]store.ID)
	}
	for i, c := range a.changes {
		for _, alias := range aliases(c) {
			if owners != nil && slices.Contains(present[i].Aliases, alias) {
				owners[alias] = c.Now.ID
			}
		}
	}
	var taken map[store.Alias]store.ID
	for i, c := range a.changes {
		for _, alias := range aliases(c) {
			owner, owned := owners[alias]
			if !owned {
				if slices.Contains(present[i].Aliases, alias) {
					continue // its own, and there are no other changes
				}
				r, err := b.owner(alias)
				if err != nil {
					return nil, err
				}
				owner = c.Now.ID
				if r.Version != 0 && !slices.Contains(a.ids, r.ID) {
					owner = r.ID
				}
				if owners != nil {
					owners[alias] = owner
				}
			}
			if owner != c.Now.ID {
				if taken == nil {
					taken = make(map[store.Alias]store.ID)
				}
				taken[alias] = owner
			}
		}
	}
	return taken, nil
}

// write replaces one record and returns it as it stands afterwards.
func write(b *batch, was record, c store.Change) store.Record {
	now := c.Now.Clone()
	now.Version = 0
	if now.State == store.Gone {
		if was.Version != 0 {
			b.replace(was, now)
		}
		return now
	}
	now.Version = b.next()
	at := b.replace(was, now)
	switch {
	case len(c.Payload) > 0:
		b.put(bucketPayloads, at.payloadKey(), c.Payload)
	case c.Payload != nil:
		b.delete(bucketPayloads, at.payloadKey())
	}
	return now
}
