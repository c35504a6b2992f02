package work

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Claimer is the first half of one delivery of one client: it returns when the claim is
// durable, with the second half, which returns when the receipt is.
type Claimer func(client int, n uint64) (receipt func() error, err error)

// errOver ends a client before its time.
var errOver = errors.New("the cell is over")

// Times are the quantiles of some durations, in milliseconds.
type Times struct{ P50, P99, Max float64 }

// Measured is what one cell came to.
type Measured struct {
	Deliveries int
	Seconds    float64
	Claim      Times   // until the claim was durable
	Delivery   Times   // until the receipt was
	Longest    float64 // time in which nobody's write became durable, in milliseconds
	Expired    int     // records that expired meanwhile
	Written    int64   // bytes that the process passed to write
	Err        string
}

// PerSecond is the rate of deliveries.
func (m Measured) PerSecond() float64 {
	if m.Seconds == 0 {
		return 0
	}
	return float64(m.Deliveries) / m.Seconds
}

// Loop has so many clients deliver events, each one after the other, for that long.
// next is the number of the last new event, shared by whoever delivers.
func Loop(clients int, lasts time.Duration, next *atomic.Uint64, claim Claimer) Measured {
	var (
		all    sync.WaitGroup
		perOne = make([]samples, clients)
		begin  = time.Now()
		quiet  = silence{begin: begin}
	)
	for client := range clients {
		all.Go(func() {
			s := &perOne[client]
			for s.err == nil && time.Since(begin) < lasts {
				s.err = s.deliver(client, next.Add(1), claim, &quiet)
			}
		})
	}
	all.Wait()
	m := Measured{Seconds: time.Since(begin).Seconds(), Longest: float64(quiet.longest.Load()) / 1e6}
	var claims, deliveries []time.Duration
	var errs []error
	for _, s := range perOne {
		claims, deliveries = append(claims, s.claim...), append(deliveries, s.delivery...)
		if !errors.Is(s.err, errOver) {
			errs = append(errs, s.err)
		}
	}
	m.Deliveries = len(deliveries)
	m.Claim, m.Delivery = Quantiles(claims), Quantiles(deliveries)
	if err := errors.Join(errs...); err != nil {
		m.Err = fmt.Sprintf("%.300s", err.Error())
	}
	return m
}

// samples are one client's.
type samples struct {
	claim, delivery []time.Duration
	err             error
}

func (s *samples) deliver(client int, n uint64, claim Claimer, quiet *silence) error {
	start := time.Now()
	receipt, err := claim(client, n)
	if err != nil {
		return err
	}
	claimed := quiet.end()
	if err := receipt(); err != nil {
		return err
	}
	s.claim = append(s.claim, claimed.Sub(start))
	s.delivery = append(s.delivery, quiet.end().Sub(start))
	return nil
}

// silence finds the longest time in which no write became durable. While many clients
// wait, that is the longest commit, and what the scheduler adds to it.
type silence struct {
	begin         time.Time
	last, longest atomic.Int64 // since begin
}

// end notes that a write is durable now.
func (s *silence) end() time.Time {
	now := time.Now()
	since := int64(now.Sub(s.begin))
	gap := since - s.last.Swap(since)
	for longest := s.longest.Load(); gap > longest && !s.longest.CompareAndSwap(longest, gap); {
		longest = s.longest.Load()
	}
	return now
}

// Quantiles sorts ds.
func Quantiles(ds []time.Duration) Times {
	if len(ds) == 0 {
		return Times{}
	}
	slices.Sort(ds)
	ms := func(i int) float64 { return float64(ds[i]) / 1e6 }
	return Times{P50: ms(len(ds) / 2), P99: ms(len(ds) * 99 / 100), Max: ms(len(ds) - 1)}
}
