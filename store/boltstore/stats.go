package boltstore

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/n8n-gate/n8n-gate/store"
)

// Stats implements store.Store. The gate's own records are not counted.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	stats := store.Stats{Records: make(map[string]map[store.State]int64)}
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		if last := tx.Bucket(bucketMeta).Get(metaLastWrite); last != nil {
			stats.LastWrite = time.Unix(0, int64(decodeUint(last))).UTC()
		}
		info, err := s.file.os.Stat()
		if err != nil {
			return fmt.Errorf("looking at the size of the store: %w", err)
		}
		stats.Bytes = info.Size()
		return tx.Bucket(bucketCounts).ForEach(func(key, n []byte) error {
			operation, state, _ := bytes.Cut(key, []byte{0})
			if operation[0] == '.' {
				return nil
			}
			of := stats.Records[string(operation)]
			if of == nil {
				of = make(map[store.State]int64)
				stats.Records[string(operation)] = of
			}
			of[store.State(state[0])] = int64(decodeUint(n))
			return nil
		})
	})
	return stats, err
}
