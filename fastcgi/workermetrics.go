package fastcgi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// workerMetrics are what resident workers tell Prometheus.
type workerMetrics struct {
	workers   *prometheus.GaugeVec     // topic, state
	recycled  *prometheus.CounterVec   // topic, reason
	jobs      *prometheus.HistogramVec // topic: served by one worker in its life
	memory    *prometheus.GaugeVec     // topic: most that one of its workers uses
	growth    *prometheus.GaugeVec     // topic: bytes a job, of the worker that left last
	bootstrap *prometheus.HistogramVec // topic
	roundTrip *prometheus.HistogramVec // topic
}

func newWorkerMetrics(reg prometheus.Registerer, topics []string) workerMetrics {
	factory := promauto.With(reg)
	histogram := func(name, help string, buckets ...float64) *prometheus.HistogramVec {
		return factory.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"topic"})
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append([]string{"topic"}, labels...))
	}
	m := workerMetrics{
		workers: gauge("sidecar_workers", "Resident workers, by what they do.", "state"),
		recycled: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecar_workers_recycled_total", Help: "Resident workers that ended, by the reason.",
		}, []string{"topic", "reason"}),
		jobs:      histogram("sidecar_worker_jobs", "Jobs that one resident worker served in its life.", 0, 1, 10, 100, 250, 500, 1000, 2500, 10000, 100000),
		memory:    gauge("sidecar_worker_memory_bytes", "PHP's memory, of the resident worker that uses most."),
		growth:    gauge("sidecar_worker_growth_bytes", "By how much PHP's memory grew with each job, in the resident worker that ended last."),
		bootstrap: histogram("sidecar_worker_bootstrap_seconds", "Time a resident worker needs from its hello until it serves: the bootstrap, and finding the handler.", .0001, .0005, .001, .0025, .005, .01, .025, .1, .5, 2.5, 10),
		roundTrip: histogram("sidecar_worker_round_trip_seconds", "Time from a job's frame to its verdict, without the run itself.", .00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .01, .1),
	}
	for _, topic := range topics {
		m.of(topic)
	}
	return m
}

// topicWorkerMetrics are one topic's series.
type topicWorkerMetrics struct {
	workers   map[workerState]prometheus.Gauge
	recycled  map[reason]prometheus.Counter
	jobs      prometheus.Observer
	memory    prometheus.Gauge
	growth    prometheus.Gauge
	bootstrap prometheus.Observer
	roundTrip prometheus.Observer
}

func (m workerMetrics) of(topic string) topicWorkerMetrics {
	t := topicWorkerMetrics{
		workers:   map[workerState]prometheus.Gauge{},
		recycled:  map[reason]prometheus.Counter{},
		jobs:      m.jobs.WithLabelValues(topic),
		memory:    m.memory.WithLabelValues(topic),
		growth:    m.growth.WithLabelValues(topic),
		bootstrap: m.bootstrap.WithLabelValues(topic),
		roundTrip: m.roundTrip.WithLabelValues(topic),
	}
	for _, s := range workerStates() {
		t.workers[s] = m.workers.WithLabelValues(topic, s.String())
	}
	for _, r := range reasons() {
		t.recycled[r] = m.recycled.WithLabelValues(topic, string(r))
	}
	return t
}

// forget deletes the series of a topic.
func (m workerMetrics) forget(topic string) {
	of := prometheus.Labels{"topic": topic}
	for _, vec := range []*prometheus.MetricVec{
		m.workers.MetricVec, m.recycled.MetricVec, m.jobs.MetricVec, m.memory.MetricVec, m.growth.MetricVec,
		m.bootstrap.MetricVec, m.roundTrip.MetricVec,
	} {
		vec.DeletePartialMatch(of)
	}
}

// ended notes a worker that is gone.
func (m topicWorkerMetrics) ended(why reason, served int, grown int64) {
	m.recycled[why].Inc()
	m.jobs.Observe(float64(served))
	if served > 1 {
		m.growth.Set(float64(grown) / float64(served))
	}
}

// answered notes how long a job that was alone with its worker was away, beyond its run.
func (m topicWorkerMetrics) answered(away, ran time.Duration) {
	m.roundTrip.Observe(max(away-ran, 0).Seconds())
}
