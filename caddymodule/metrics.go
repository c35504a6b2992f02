package caddymodule

import (
	"errors"
	"sync"

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
		stranded: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "caddy", Subsystem: "n8n_gate", Name: "stranded",
			Help: "Events that were not carried out and whose sender has not come back for 72 hours.",
		}, []string{"operation"}),
		quarantine: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "caddy", Subsystem: "n8n_gate", Name: "quarantine",
			Help: "1 while the store is a restored copy that nobody has accepted.",
		}),
	}
})

type collectors struct {
	deliveries, transitions *prometheus.CounterVec
	stranded                *prometheus.GaugeVec
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

// gaugeStranded shows what a count has found.
func gaugeStranded(found map[string]int) {
	gauge := metrics().stranded
	gauge.Reset()
	for operation, n := range found {
		gauge.WithLabelValues(operation).Set(float64(n))
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
