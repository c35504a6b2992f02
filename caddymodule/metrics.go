package caddymodule

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/n8n-gate/n8n-gate/store"
)

// metrics are built once a process and registered with every configuration's own
// registry, so that a reload does not set them to zero. Labels are bounded:
// operations come from the configuration, the rest are constants.
var metrics = sync.OnceValue(func() *collectors {
	return &collectors{
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "caddy", Subsystem: "n8n_gate", Name: "deliveries_total",
			Help: "Deliveries by operation and what the gate did with them.",
		}, []string{"operation", "decision"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "caddy", Subsystem: "n8n_gate", Name: "transitions_total",
			Help: "Moves of records from one state to another, with the reason.",
		}, []string{"operation", "from", "to", "reason"}),
		stranded: newSnapshot(prometheus.BuildFQName("caddy", "n8n_gate", "stranded"),
			"Events that were not carried out and whose sender has not come back for 72 hours.", "operation"),
		quarantine: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "caddy", Subsystem: "n8n_gate", Name: "quarantine",
			Help: "1 while the store is a restored copy that nobody has accepted.",
		}),
	}
})

type collectors struct {
	deliveries, transitions *prometheus.CounterVec
	stranded                *snapshot
	quarantine              prometheus.Gauge
}

func registerMetrics(registry *prometheus.Registry) error {
	m := metrics()
	for _, c := range []prometheus.Collector{m.deliveries, m.transitions, m.stranded, m.quarantine} {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(c); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}

// snapshot is gauges that are all counted at once. A scrape sees the last count
// whole: a GaugeVec that is reset and filled again would show, in between, that
// nothing waits for a person.
type snapshot struct {
	desc *prometheus.Desc
	last atomic.Pointer[map[string]int] // by the label's value; never changed once it is here
}

func newSnapshot(name, help, label string) *snapshot {
	return &snapshot{desc: prometheus.NewDesc(name, help, []string{label}, nil)}
}

// set shows another count from now on.
func (s *snapshot) set(counted map[string]int) {
	counted = maps.Clone(counted)
	s.last.Store(&counted)
}

// Describe implements prometheus.Collector.
func (s *snapshot) Describe(to chan<- *prometheus.Desc) { to <- s.desc }

// Collect implements prometheus.Collector.
func (s *snapshot) Collect(to chan<- prometheus.Metric) {
	counted := s.last.Load()
	if counted == nil {
		return
	}
	for value, n := range *counted {
		to <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, float64(n), value)
	}
}

func gaugeQuarantine(active bool) {
	value := 0.0
	if active {
		value = 1
	}
	metrics().quarantine.Set(value)
}

// observe counts a move that was stored.
func observe(id store.ID, m store.Move) {
	metrics().transitions.WithLabelValues(id.Operation, m.From.String(), m.To.String(), m.Reason).Inc()
}
