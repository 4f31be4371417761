package alert

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are what the alarms tell Prometheus.
type Metrics struct {
	firing *prometheus.GaugeVec   // rule
	sends  *prometheus.CounterVec // target, result
}

// result says how sending a message ended.
type result string

// The results, a closed set of label values.
const (
	sent        result = "sent"
	refused     result = "refused"     // the service says no: signature, key word, form
	limited     result = "limited"     // too many messages
	unreachable result = "unreachable" // no answer, or one of a server that is out of order
)

// NewMetrics registers the alarms' metrics with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	return &Metrics{
		firing: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sidecar_alerts_firing", Help: "Alarms of the rule that fire at present, by whichever sidecar saw them.",
		}, []string{"rule"}),
		sends: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecar_alert_sends_total", Help: "Messages offered to a target by how that ended.",
		}, []string{"target", "result"}),
	}
}

// keep makes the series of these options and deletes those of old that are no more.
func (m *Metrics) keep(old, o Options) {
	for _, r := range old.Rules {
		if _, ok := o.rule(r.Name); !ok {
			m.firing.DeleteLabelValues(r.Name)
		}
	}
	for _, t := range old.Targets {
		if _, ok := o.target(t.Name); !ok {
			m.sends.DeletePartialMatch(prometheus.Labels{"target": t.Name})
		}
	}
	for _, r := range o.Rules {
		m.firing.WithLabelValues(r.Name)
	}
	for _, t := range o.Targets {
		for _, how := range []result{sent, refused, limited, unreachable} {
			m.sends.WithLabelValues(t.Name, string(how))
		}
	}
}
