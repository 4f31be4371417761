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
	silent    *prometheus.GaugeVec     // pool: nobody takes its jobs
	topicShut *prometheus.GaugeVec     // topic
	dials     *prometheus.CounterVec   // pool: dials that led nowhere
	start     *prometheus.HistogramVec // pool: from the request to the hello
	stops     *prometheus.CounterVec   // pool, way
	queue     *prometheus.GaugeVec     // pool: FPM's listen queue
	resident  workerMetrics

	pools, topics owners
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
		silent:    gauge("sidecar_fpm_silent", "1 while jobs wait for a child and none has taken one for 10 s.", "pool"),
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
		resident: newWorkerMetrics(reg, topics),
	}
	reg.MustRegister(newOccupancy(&m.pools))
	for _, pool := range pools {
		m.makePool(pool)
	}
	for _, topic := range topics {
		m.makeTopic(topic)
	}
	return m
}

// addPool makes the series of a pool, unless they are there. A reload may bring new ones.
func (m *Metrics) addPool(p *Pool) {
	m.pools.add(p.opts.Name, p)
	m.makePool(p.opts.Name)
	p.report()
}

// removePool deletes the series of a pool with the last of its name.
func (m *Metrics) removePool(p *Pool) {
	of := prometheus.Labels{"pool": p.opts.Name}
	m.pools.leave(p.opts.Name, p, func() {
		for _, vec := range []*prometheus.MetricVec{
			m.slots.MetricVec, m.used.MetricVec, m.poolShut.MetricVec, m.silent.MetricVec,
			m.dials.MetricVec, m.start.MetricVec, m.stops.MetricVec, m.queue.MetricVec,
		} {
			vec.DeletePartialMatch(of)
		}
	})
}

// makePool makes the series of a pool, whose gate is shut at first.
func (m *Metrics) makePool(pool string) {
	m.slots.WithLabelValues(pool)
	m.used.WithLabelValues(pool)
	m.poolShut.WithLabelValues(pool).Set(gaugeOf(true))
	m.silent.WithLabelValues(pool)
	m.dials.WithLabelValues(pool)
	m.start.WithLabelValues(pool)
	m.queue.WithLabelValues(pool)
	for _, way := range []stopWay{stoppedBySignal, stoppedByFPM, stoppedNot, stoppedAbandoned} {
		m.stops.WithLabelValues(pool, string(way))
	}
}

// addTopic makes the series of a topic, unless they are there.
func (m *Metrics) addTopic(t *Topic) {
	m.topics.add(t.opts.Topic, t)
	m.makeTopic(t.opts.Topic)
	t.report()
}

// removeTopic deletes the series of a topic with the last of its name.
func (m *Metrics) removeTopic(t *Topic) {
	m.topics.leave(t.opts.Topic, t, func() {
		m.topicShut.DeleteLabelValues(t.opts.Topic)
		m.resident.forget(t.opts.Topic)
	})
}

// makeTopic makes the series of a topic, whose gate is shut at first.
func (m *Metrics) makeTopic(topic string) { m.topicShut.WithLabelValues(topic).Set(gaugeOf(true)) }

func (m *Metrics) slotsChanged(p *Pool, limit, used int) {
	m.pools.set(p.opts.Name, p, func() {
		m.slots.WithLabelValues(p.opts.Name).Set(float64(limit))
		m.used.WithLabelValues(p.opts.Name).Set(float64(used))
	})
}

func (m *Metrics) dialFailed(pool string) { m.dials.WithLabelValues(pool).Inc() }

func (m *Metrics) started(pool string, waited time.Duration) {
	m.start.WithLabelValues(pool).Observe(waited.Seconds())
}

func (m *Metrics) stopped(pool string, way stopWay) {
	m.stops.WithLabelValues(pool, string(way)).Inc()
}

func (m *Metrics) poolGate(p *Pool, open bool) {
	m.pools.set(p.opts.Name, p, func() { m.poolShut.WithLabelValues(p.opts.Name).Set(gaugeOf(!open)) })
}

func (m *Metrics) poolSilent(p *Pool, silent bool) {
	m.pools.set(p.opts.Name, p, func() { m.silent.WithLabelValues(p.opts.Name).Set(gaugeOf(silent)) })
}

func (m *Metrics) topicGate(t *Topic, open bool) {
	m.topics.set(t.opts.Topic, t, func() { m.topicShut.WithLabelValues(t.opts.Topic).Set(gaugeOf(!open)) })
}

func (m *Metrics) listenQueue(p *Pool, n int) {
	m.pools.set(p.opts.Name, p, func() { m.queue.WithLabelValues(p.opts.Name).Set(float64(n)) })
}

func gaugeOf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
