package boltstore

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// snapshot is one transaction and the way to the records in it.
type snapshot struct {
	tx     *bbolt.Tx
	index  *index
	missed bool // a look-up found nothing
}

// look reads by name or alias, in one snapshot: fn is asked again while what it
// missed may be there and was only taken out of the index meanwhile.
func (s *Store) look(ctx context.Context, fn func(*snapshot) error) error {
	for {
		epoch := s.index.epoch.Load()
		found := &snapshot{index: s.index}
		err := s.view(ctx, func(tx *bbolt.Tx) error {
			found.tx = tx
			return fn(found)
		})
		if !found.missed || s.index.epoch.Load() == epoch {
			return err
		}
	}
}

// record is one as it stands, or its ID alone with Version 0, and where it stands
// or would.
type record struct {
	store.Record
	spot spot
}

func (s *snapshot) record(id store.ID) (record, error) {
	at, err := newSpot(id)
	if err != nil {
		return record{}, err
	}
	if at.own != nil {
		r, err := s.at(at)
		if r == nil {
			r = &store.Record{ID: id}
		}
		return record{*r, at}, err
	}
	return s.hit(s.index.hashID(id), store.Record{ID: id}, func(r *store.Record) bool { return r.ID == id })
}

// owner is the record that has a.
func (s *snapshot) owner(a store.Alias) (record, error) {
	return s.hit(s.index.hashAlias(a), store.Record{}, func(r *store.Record) bool { return slices.Contains(r.Aliases, a) })
}

// hit is the record with this hash that is the wanted one; else, absent.
func (s *snapshot) hit(hash uint64, absent store.Record, wanted func(*store.Record) bool) (record, error) {
	var room [4]place
	for _, p := range s.index.find(hash, room[:0]) {
		at := spot{place: p}
		r, err := s.at(at)
		if err != nil {
			return record{}, err
		}
		if r != nil && wanted(r) {
			return record{*r, at}, nil
		}
	}
	s.missed = true
	return record{Record: absent}, nil
}

// at is what stands at a spot; nil if nothing does.
func (s *snapshot) at(at spot) (*store.Record, error) {
	stored := s.tx.Bucket(at.bucket()).Get(at.key())
	if stored == nil {
		return nil, nil
	}
	return decode(stored)
}

func decode(stored []byte) (*store.Record, error) {
	r, err := store.DecodeRecord(stored)
	if err != nil {
		return nil, fmt.Errorf("%w: a record of operation %q: %w", ErrDamaged, r.Operation, err)
	}
	return &r, nil
}

// records reads some, in the order asked.
func (s *snapshot) records(ids []store.ID) ([]record, error) {
	out := make([]record, len(ids))
	for i, id := range ids {
		var err error
		if out[i], err = s.record(id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plain are the records alone.
func plain(records []record) []store.Record {
	out := make([]store.Record, len(records))
	for i, r := range records {
		out[i] = r.Record
	}
	return out
}
