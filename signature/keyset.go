package signature

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long fetched keys are used, and how often at most they are fetched. Issuers publish
// a new key a day or more before they sign with it; what they take back is gone within
// the hour.
const (
	keysLast   = time.Hour
	keysPause  = time.Minute
	keysAtMost = 64
)

// keySet is a published set of keys (RFC 7517), fetched when a token needs it.
type keySet struct {
	url   string
	fetch fetch

	fetching sync.Mutex // one at a time: the others wait for the same keys
	tried    time.Time  // when they were last asked for

	mu      sync.Mutex // never held while fetching: a known key does not wait for an unknown one
	keys    map[string]any
	fetched time.Time // when the keys came
}

// find is the key so named. Unknown names cause a fetch at most once a minute, however
// many tokens a forger makes up.
func (s *keySet) find(ctx context.Context, id string, now time.Time) (any, error) {
	if key, _ := s.get(id, now); key != nil {
		return key, nil
	}
	s.fetching.Lock()
	defer s.fetching.Unlock()
	key, fresh := s.get(id, now)
	if key != nil {
		return key, nil
	}
	if paused := now.Sub(s.tried); paused >= 0 && paused < keysPause {
		if fresh {
			return nil, ErrMismatch
		}
		return nil, ErrUnavailable
	}
	s.tried = now
	body, err := s.fetch(ctx, s.url)
	if err != nil {
		return nil, ErrUnavailable
	}
	keys, err := readKeys(body)
	if err != nil {
		return nil, ErrUnavailable
	}
	s.mu.Lock()
	s.keys, s.fetched = keys, now
	s.mu.Unlock()
	if keys[id] == nil {
		return nil, ErrMismatch
	}
	return keys[id], nil
}

// get is the key so named, nil where there is none, and whether the keys are fresh.
func (s *keySet) get(id string, now time.Time) (key any, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.fetched) > keysLast || now.Before(s.fetched) {
		return nil, false
	}
	return s.keys[id], true
}

func readKeys(body []byte) (map[string]any, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, err
	}
	keys := make(map[string]any)
	for _, k := range set.Keys {
		if k.Valid() && k.IsPublic() && k.KeyID != "" && (k.Use == "" || k.Use == "sig") && len(keys) < keysAtMost {
			keys[k.KeyID] = k.Key
		}
	}
	return keys, nil
}
