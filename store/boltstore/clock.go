package boltstore

import (
	"time"

	"go.etcd.io/bbolt"
)

// A clock that is wrong, after a restart of the machine say, could let everything
// expire at once. Nobody can tell a leap from a long pause. So when the clock
// stands far ahead of the last write, nothing expires for some time to come, in
// which people may notice; afterwards it is believed.
const (
	// farAhead of the last write is a leap, or a pause.
	farAhead = 48 * time.Hour
	// leapGrace is how long nothing expires after one.
	leapGrace = 48 * time.Hour
	// heartbeat is how old the last write becomes, at most, while somebody calls
	// Expire from time to time: that nothing is delivered is no leap.
	heartbeat = 12 * time.Hour
)

// clock is the time of one transaction, beside what the store knows of time.
type clock struct {
	now   time.Time
	since time.Duration // since the last write; 0 if there was none
	leapt time.Time     // zero: not lately
	told  bool          // the store knows of leapt
}

func readClock(meta *bbolt.Bucket, now time.Time) clock {
	c := clock{now: now}
	if last := meta.Get(metaLastWrite); last != nil {
		c.since = now.Sub(time.Unix(0, int64(decodeUint(last))))
	}
	if leapt := meta.Get(metaLeapt); leapt != nil {
		c.leapt, c.told = time.Unix(0, int64(decodeUint(leapt))), true
	}
	if c.since > farAhead {
		c.leapt, c.told = now, false
	}
	return c
}

// doubtful reports whether nothing may expire by this clock. One that was set
// back behind the leap is right again.
func (c clock) doubtful() bool {
	return !c.leapt.IsZero() && !c.now.Before(c.leapt) && c.now.Sub(c.leapt) < leapGrace
}
