//go:build linux

package main

import (
	"errors"
	"fmt"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// replayed is how many events the replays are of, at random.
const replayed = 5000

// caddyRows measure whole Caddys, with the store filled.
func (b *bench) caddyRows() error {
	if b.caddy == "" {
		return errors.New("no Caddy was given: --caddy")
	}
	filled, err := b.filled("store", b.records)
	if err != nil {
		return err
	}
	path, err := b.copyOf(filled, "gate.db")
	if err != nil {
		return err
	}
	backend, upstream, err := b.startBackend()
	if err != nil {
		return err
	}
	defer func() { _ = backend.stop() }()
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	plain, err := b.startCaddy("plain", plainCaddyfile(upstream, ports[0], ports[1]), ports[0])
	if err != nil {
		return err
	}
	defer plain.terminate()
	gate, err := b.startCaddy("gate", gateCaddyfile(upstream, ports[2], path), ports[2])
	if err != nil {
		return err
	}
	defer gate.terminate()
	addr := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }

	// The events that are replayed; also what warms everything up.
	first := work.FirstNew()
	known := senders{addr: addr(2), clients: many, lasts: startPatience, number: upTo(first, replayed), decision: "new"}
	if m := known.run(); m.Err != "" || m.Deliveries != replayed {
		return fmt.Errorf("delivering what is to be replayed: %d of %d events: %s", m.Deliveries, replayed, m.Err)
	}

	send := func(name string, p *process, s senders) variant {
		s.lasts = b.lasts
		return variant{name: fmt.Sprintf("%s, %d connections", name, s.clients), pid: p.pid(), take: func() (work.Measured, error) { return s.run(), nil }}
	}
	unit := variant{name: "F (4 KiB overwrite + fdatasync)", take: func() (work.Measured, error) {
		times, err := b.smallWrites(unitWrites)
		return work.Measured{Delivery: times}, err
	}}
	variants := []variant{
		send("reverse_proxy, fresh connections", plain, senders{addr: addr(0), clients: many, number: fresh()}),
		send("reverse_proxy, Caddy's default", plain, senders{addr: addr(1), clients: many, number: fresh()}),
		send("gate, new deliveries", gate, senders{addr: addr(2), clients: many, number: fresh(), decision: "new"}),
		send("gate, replays", gate, senders{addr: addr(2), clients: many, number: again(first, replayed), decision: "replayed"}),
		unit,
		send("reverse_proxy, fresh connections", plain, senders{addr: addr(0), clients: 1, number: fresh()}),
		send("gate, new deliveries", gate, senders{addr: addr(2), clients: 1, number: fresh(), decision: "new"}),
		send("reverse_proxy, Caddy's default", plain, senders{addr: addr(1), clients: 1, number: fresh()}),
		send("gate, replays", gate, senders{addr: addr(2), clients: 1, number: again(first, replayed), decision: "replayed"}),
	}
	taken, err := b.turns(variants)
	if err != nil {
		return err
	}
	freshly, usual, news, replays, units, freshOne, newOne := taken[0], taken[1], taken[2], taken[3], taken[4], taken[5], taken[6]
	cpu := func(t turn) float64 { return t.cpu }
	added := row{
		what: "one connection: added median", unit: "F", goal: goal{least: 8, aim: 4, atMost: true},
		disturbed: max(disturbed(units), disturbed(freshOne), disturbed(newOne)),
	}
	for i := range newOne {
		added.values = append(added.values, (newOne[i].Delivery.P50-freshOne[i].Delivery.P50)/units[i].Delivery.P50)
	}
	f := collect(units, func(t turn) float64 { return t.Delivery.P50 })
	b.unit = median(f)
	added.remark = "F = " + spread(f) + " ms"
	store := "with " + thousands(b.records) + " records in the store"
	b.report.rows = append(b.report.rows,
		compare("new deliveries against plain `reverse_proxy` with the same connection policy", goal{least: 0.65, aim: 0.75}, news, freshly,
			fmt.Sprintf("%s; Caddy's CPU for each %s times the proxy's", store, number(median(collect(news, cpu))/median(collect(freshly, cpu))))),
		compare("new deliveries against Caddy's default (keep-alive) proxy", goal{}, news, usual, store),
		compare("replays of completed events against Caddy's default proxy", goal{least: 4, aim: 5}, replays, usual, store),
		added)
	for i, v := range variants {
		if i != 4 {
			b.report.details = append(b.report.details, detail{v.name, taken[i]})
		}
	}
	return nil
}
