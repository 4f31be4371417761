package queue

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"sidecar/compat"
)

// Tally counts a topic's runs that came to a verdict on their job, since the process began.
type Tally struct {
	Runs   float64 // those that were done, and Failed
	Failed float64 // failed, rejected, crashed, timed out
}

// Tally returns the runs of a topic so far.
func (m *Metrics) Tally(topic string) (t Tally) {
	for _, v := range compat.Verdicts() {
		n := counted(m.outcomes.WithLabelValues(topic, v.String()))
		switch v {
		case compat.Done:
			t.Runs += n
		case compat.Failed, compat.Rejected, compat.Crashed, compat.TimedOut:
			t.Runs += n
			t.Failed += n
		case compat.Deferred, compat.Unavailable: // nothing is known of the job
		}
	}
	return t
}

// counted returns a counter's value.
func counted(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}
