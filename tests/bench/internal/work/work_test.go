package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/n8n-gate/n8n-gate/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEventKeysAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for n := range uint64(100_000) {
		seen[EventKey(n)] = true
	}
	if len(seen) != 100_000 {
		t.Errorf("%d keys of 100,000 events", len(seen))
	}
}

// The records are what the state machine makes of a delivery, with all that costs.
func TestDelivery(t *testing.T) {
	claimed := Claim(7, "i", time.Now())
	settled := Settle(claimed, 7, time.Now())
	if claimed.State != store.Processing || settled.State != store.Completed || settled.ID != claimed.ID {
		t.Fatalf("got %+v and %+v", claimed, settled)
	}
	if len(settled.History) != 2 || len(settled.Aliases) != 1 || settled.Fingerprint == (store.Hash{}) || len(settled.Receipt.Body) == 0 {
		t.Errorf("got %+v", settled)
	}
}

// memory is a store that can be told to fail.
type memory struct {
	mu      sync.Mutex
	claims  int
	settled int
	fails   error
	closed  bool
}

func (m *memory) Claim(int, uint64) (func() error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims++
	return func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.settled++
		return nil
	}, m.fails
}

func (m *memory) Close() error {
	m.closed = true
	return nil
}

// expiring deletes at once.
type expiring struct{ *memory }

func (e expiring) Expire(_ time.Time, limit int) (int, error) { return limit, e.fails }

func TestServe(t *testing.T) {
	broken := errors.New("broken")
	run, expire := Command{Clients: 4, Lasts: 5 * time.Millisecond}, Command{Clients: 4, Lasts: time.Minute, Expire: 3}
	for _, c := range []struct {
		name    string
		store   Store
		command Command
		expired int
		err     string
	}{
		{"deliveries", &memory{}, run, 0, ""},
		{"deliveries that fail", &memory{fails: broken}, run, 0, "broken"},
		{"expiry", expiring{&memory{}}, expire, 3, ""},
		{"expiry that fails", expiring{&memory{fails: broken}}, expire, 3, "broken"},
		{"expiry without", &memory{}, expire, 0, "cannot expire"},
	} {
		t.Run(c.name, func(t *testing.T) {
			line, err := json.Marshal(c.command)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := serve(c.store, bytes.NewReader(line), json.NewEncoder(&out)); err != nil {
				t.Fatal(err)
			}
			var m Measured
			if err := json.Unmarshal(out.Bytes(), &m); err != nil {
				t.Fatal(err)
			}
			if m.Expired != c.expired || (m.Err == "") != (c.err == "") || !strings.Contains(m.Err, c.err) {
				t.Errorf("got %+v", m)
			}
			if s, ok := c.store.(*memory); ok && (m.Deliveries != s.settled || c.err == "" && m.Deliveries == 0) {
				t.Errorf("%d deliveries were measured, %d carried out", m.Deliveries, s.settled)
			}
		})
	}
}

func TestQuantiles(t *testing.T) {
	var ds []time.Duration
	for i := range 100 {
		ds = append(ds, time.Duration(100-i)*time.Millisecond)
	}
	if got := Quantiles(ds); got != (Times{P50: 51, P99: 100, Max: 100}) {
		t.Errorf("got %+v", got)
	}
	if got := Quantiles(nil); got != (Times{}) {
		t.Errorf("got %+v of nothing", got)
	}
}
