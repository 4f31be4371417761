package spool

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are what the spools tell Prometheus.
type Metrics struct {
	drained *prometheus.CounterVec // spool
	left    *prometheus.GaugeVec   // spool
	faults  *prometheus.CounterVec // spool
}

// NewMetrics registers the spools' metrics with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	return &Metrics{
		drained: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecar_spool_drained_rows_total", Help: "Rows of the spool whose jobs this process has brought in.",
		}, []string{"spool"}),
		left: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sidecar_spool_rows", Help: "Rows left in the spool when it was last drained.",
		}, []string{"spool"}),
		faults: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecar_spool_errors_total", Help: "Drains of the spool that did not come to their end, or left rows behind.",
		}, []string{"spool"}),
	}
}

// Add makes the series of a spool, unless they are there, so that they exist from its start.
func (m *Metrics) Add(spool string) {
	m.drained.WithLabelValues(spool)
	m.left.WithLabelValues(spool)
	m.faults.WithLabelValues(spool)
}

// Forget deletes the series of a spool.
func (m *Metrics) Forget(spool string) {
	m.drained.DeleteLabelValues(spool)
	m.left.DeleteLabelValues(spool)
	m.faults.DeleteLabelValues(spool)
}
