package queue

import (
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestTheGreatestMeasuresOfATopicAreToldOnce(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry(), []string{"mail", "quiet"})
	for _, seconds := range []float64{.2, 5, -1, 3} {
		m.topic("mail").peaks.run.raise(seconds)
	}
	m.topic("mail").peaks.late.raise(.5)
	if got, want := m.Peaks(), map[string]Peaks{"mail": {Run: 5, Late: .5}}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := m.Peaks(); len(got) != 0 {
		t.Errorf("again: %v", got)
	}
	m.topic("mail").peaks.run.raise(1)
	m.Forget("mail")
	if got := m.Peaks(); len(got) != 0 {
		t.Errorf("of a topic that is gone: %v", got)
	}
}
