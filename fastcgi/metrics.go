package fastcgi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are what the pools and their topics tell Prometheus.
type Metrics struct {
	slots     *prometheus.GaugeVec     // pool: slots that jobs may use now
	used      *prometheus.GaugeVec     // pool
	poolShut  *prometheus.GaugeVec     // pool
	topicShut *prometheus.GaugeVec     // topic
	dials     *prometheus.CounterVec   // pool: dials that led nowhere
	start     *prometheus.HistogramVec // pool: from the request to the hello
	stops     *prometheus.CounterVec   // pool, way
	queue     *prometheus.GaugeVec     // pool: FPM's listen queue
}

// stopWay says how a script that ran too long came to its end.
type stopWay string

// The ways, a closed set of label values.
const (
	stoppedBySignal  stopWay = "signal"
	stoppedByFPM     stopWay = "fpm"
	stoppedNot       stopWay = "none"
	stoppedAbandoned stopWay = "abandoned"
)

// NewMetrics registers the metrics of these pools and topics with reg. Every series exists from the start.
func NewMetrics(reg prometheus.Registerer, pools, topics []string) *Metrics {
	factory := promauto.With(reg)
	gauge := func(name, help, label string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
	}
	m := &Metrics{
		slots:     gauge("sidecar_fpm_slots", "Children of the pool that jobs may occupy now.", "pool"),
		used:      gauge("sidecar_fpm_slots_used", "Children of the pool that jobs occupy.", "pool"),
		poolShut:  gauge("sidecar_fpm_gate_shut", "1 while no job of the pool may start.", "pool"),
		topicShut: gauge("sidecar_topic_gate_shut", "1 while no job of the topic may start.", "topic"),
		queue:     gauge("sidecar_fpm_listen_queue", "Requests that wait for a child, by FPM's status page.", "pool"),
		dials: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecar_fpm_dial_errors_total", Help: "Connections to FPM that did not come about.",
		}, []string{"pool"}),
		start: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sidecar_fpm_start_seconds", Help: "Time from the request to the script's start sign.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 2.5, 10, 60},
		}, []string{"pool"}),
		stops: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecar_fpm_stops_total", Help: "Scripts that had to be stopped, by the way it was done; none = it could not be, so far.",
		}, []string{"pool", "way"}),
	}
	for _, pool := range pools {
		m.addPool(pool)
	}
	for _, topic := range topics {
		m.addTopic(topic)
	}
	return m
}

// addPool makes the series of a pool, whose gate is shut at first. A reload may bring new ones.
func (m *Metrics) addPool(pool string) {
	m.slots.WithLabelValues(pool)
	m.used.WithLabelValues(pool)
	m.poolGate(pool, false)
	m.dials.WithLabelValues(pool)
	m.start.WithLabelValues(pool)
	m.queue.WithLabelValues(pool)
	for _, way := range []stopWay{stoppedBySignal, stoppedByFPM, stoppedNot, stoppedAbandoned} {
		m.stops.WithLabelValues(pool, string(way))
	}
}

// addTopic makes the series of a topic, whose gate is shut at first.
func (m *Metrics) addTopic(topic string) { m.topicGate(topic, false) }

func (m *Metrics) slotsChanged(pool string, limit, used int) {
	m.slots.WithLabelValues(pool).Set(float64(limit))
	m.used.WithLabelValues(pool).Set(float64(used))
}

func (m *Metrics) dialFailed(pool string) { m.dials.WithLabelValues(pool).Inc() }

func (m *Metrics) started(pool string, waited time.Duration) {
	m.start.WithLabelValues(pool).Observe(waited.Seconds())
}

func (m *Metrics) stopped(pool string, way stopWay) {
	m.stops.WithLabelValues(pool, string(way)).Inc()
}

func (m *Metrics) poolGate(pool string, open bool) {
	m.poolShut.WithLabelValues(pool).Set(shutValue(open))
}

func (m *Metrics) topicGate(topic string, open bool) {
	m.topicShut.WithLabelValues(topic).Set(shutValue(open))
}

func (m *Metrics) listenQueue(pool string, n int) { m.queue.WithLabelValues(pool).Set(float64(n)) }

func shutValue(open bool) float64 {
	if open {
		return 0
	}
	return 1
}
