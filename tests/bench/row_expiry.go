//go:build linux

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

const (
	// One of so many records expires in one turn: the oldest.
	expiredShare = 10
	// expiryLag is how much later than it may a store lets records expire at most:
	// they go by whole days.
	expiryLag = 72 * time.Hour
	// expiryPatience is how long that may take.
	expiryPatience = 2 * time.Minute
)

// expiryRow measures how long deliveries wait while records expire.
func (b *bench) expiryRow() error {
	filled, err := b.filled("store", b.records)
	if err != nil {
		return err
	}
	info, err := os.Stat(filled)
	if err != nil {
		return err
	}
	expire := work.Command{
		Clients: many, Lasts: expiryPatience, Expire: b.records / expiredShare,
		ExpireAt: info.ModTime().Add(work.Retention + expiryLag),
	}
	var before, during []turn
	for round := range b.rounds {
		var usual work.Measured
		t, err := b.turn(variant{name: "expiry", take: func() (m work.Measured, err error) {
			path, err := b.copyOf(filled, "expiry.db")
			if err != nil {
				return m, err
			}
			p, err := b.child("store", path)
			if err != nil {
				return m, err
			}
			defer func() { _ = p.stop() }()
			if err = p.ready(); err != nil {
				return m, err
			}
			if usual, err = p.ask(work.Command{Clients: many, Lasts: b.lasts}); err != nil {
				return m, err
			}
			m, err = p.ask(expire)
			if err == nil && m.Err == "" && m.Expired != expire.Expire {
				err = fmt.Errorf("%d records expired instead of %d", m.Expired, expire.Expire)
			}
			return m, err
		}})
		if err != nil {
			return err
		}
		say("round %d: %d records expired in %.2f s beside %.0f deliveries/s; longest without a durable write %.1f ms, before that %.1f ms",
			round+1, t.Expired, t.Seconds, t.PerSecond(), t.Longest, usual.Longest)
		during, before = append(during, t), append(before, turn{Measured: usual, others: t.others})
	}
	longest := func(t turn) float64 { return t.Longest }
	b.report.rows = append(b.report.rows, row{
		what: fmt.Sprintf("expiry of %s of %s records while serving: longest commit", thousands(expire.Expire), thousands(b.records)), unit: "ms",
		goal: goal{least: 10, aim: 5, atMost: true}, values: collect(during, longest), disturbed: disturbed(during), worst: true,
		remark: fmt.Sprintf("longest time without a durable write, 64 clients waiting; without expiry %s; expired in %s s, %s deliveries/s meanwhile",
			spread(collect(before, longest)), number(median(collect(during, func(t turn) float64 { return t.Seconds }))),
			number(median(collect(during, func(t turn) float64 { return t.PerSecond() })))),
	})
	b.report.details = append(b.report.details, detail{"store, 64 clients, while records expire", during})
	return nil
}
