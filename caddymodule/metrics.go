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
	}
})

type collectors struct {
	deliveries, transitions *prometheus.CounterVec
}

func registerMetrics(registry *prometheus.Registry) error {
	m := metrics()
	for _, c := range []prometheus.Collector{m.deliveries, m.transitions} {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(c); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}

// observe counts a move that was stored.
func observe(id store.ID, m store.Move) {
	metrics().transitions.WithLabelValues(id.Operation, m.From.String(), m.To.String(), m.Reason).Inc()
}
