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

	mu      sync.Mutex // held while fetching: the others wait for the same keys
	keys    map[string]any
	fetched time.Time // when the keys came
	tried   time.Time // when they were last asked for
}

// find is the key so named. Unknown names cause a fetch at most once a minute, however
// many tokens a forger makes up.
func (s *keySet) find(ctx context.Context, id string, now time.Time) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, known := s.keys[id]
	old := now.Sub(s.fetched) > keysLast || now.Before(s.fetched)
	if known && !old {
		return key, nil
	}
	if paused := now.Sub(s.tried); paused >= 0 && paused < keysPause {
		if old {
			return nil, ErrUnavailable
		}
		return nil, ErrMismatch
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
	s.keys, s.fetched = keys, now
	if key, known = s.keys[id]; !known {
		return nil, ErrMismatch
	}
	return key, nil
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
