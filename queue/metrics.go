package queue

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"sidecar/compat"
)

// Metrics are the flow's metrics. Labels are the configured topics and closed sets, never a text or a uuid.
type Metrics struct {
	outcomes     *prometheus.CounterVec   // topic, outcome
	duration     *prometheus.HistogramVec // topic
	lateness     *prometheus.HistogramVec // topic: start of the run minus due time
	claims       *prometheus.CounterVec   // topic
	unreadable   *prometheus.CounterVec   // topic: texts that are no job
	doneBefore   *prometheus.CounterVec   // topic: jobs completed unrun, by their mark
	twins        *prometheus.CounterVec   // topic: claims put off because an identical text is running
	merged       *prometheus.CounterVec   // topic: of those, how many the pool had already
	promoted     *prometheus.CounterVec   // topic
	expired      *prometheus.CounterVec   // topic: claims whose lease ended
	lost         *prometheus.CounterVec   // topic
	buried       *prometheus.CounterVec   // topic
	readded      *prometheus.CounterVec   // topic: failures whose text was in no key
	retries      *prometheus.CounterVec   // topic: settlements offered again
	abandoned    *prometheus.CounterVec   // topic: settlements given up at the end
	backpressure *prometheus.GaugeVec     // topic: 1 while ready is full
	pressed      *prometheus.CounterVec   // topic: promotions that found ready full
	inHand       *prometheus.GaugeVec     // topic: claims held by this process
	errors       *prometheus.CounterVec   // topic, fault

	stalled        *prometheus.GaugeVec   // topic: 1 while due work is not claimed
	stalls         *prometheus.CounterVec // topic
	abandonedLoops *prometheus.CounterVec // topic: scanners and feeders that would not end

	paused *prometheus.GaugeVec   // topic, kind: 1 while that holds the topic back
	trips  *prometheus.CounterVec // topic: times its breaker has stopped it

	scripts *scriptTimes // of all topics together

	peaks sync.Map // topic: *topicPeaks

	vecs []*prometheus.MetricVec // those with a topic
}

// Lateness is measured from half a millisecond on, where the scanner is told of every change; the last
// buckets are for backlogs.
var latenessBuckets = []float64{.0005, .001, .002, .003, .005, .01, .015, .025, .05, .1, .25, .5, 1, 5, 30, 300}

var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// NewMetrics registers the flow's metrics with reg. Every series of topics exists from the start, so
// that no rate begins with a gap.
func NewMetrics(reg prometheus.Registerer, topics []string) *Metrics {
	with := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return with.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"topic"}, labels...))
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return with.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append([]string{"topic"}, labels...))
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return with.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"topic"})
	}
	m := &Metrics{
		outcomes:     counter("sidecar_outcomes_total", "Runs by how they ended.", "outcome"),
		duration:     histogram("sidecar_run_duration_seconds", "How long runs took.", durationBuckets),
		lateness:     histogram("sidecar_lateness_seconds", "Start of the run minus due time, of jobs this process promoted.", latenessBuckets),
		claims:       counter("sidecar_claims_total", "Texts claimed."),
		unreadable:   counter("sidecar_unreadable_total", "Texts that are no job and went to dead."),
		doneBefore:   counter("sidecar_done_before_total", "Jobs completed without a run, as their mark says they were done."),
		twins:        counter("sidecar_twins_total", "Texts put off because an identical one was running."),
		merged:       counter("sidecar_twins_merged_total", "Texts put off that merged with an identical one in the pool."),
		promoted:     counter("sidecar_promoted_total", "Texts moved from pool to ready."),
		expired:      counter("sidecar_expired_total", "Claims taken back after their lease had ended."),
		lost:         counter("sidecar_leases_lost_total", "Leases found in somebody else's hands, or gone."),
		buried:       counter("sidecar_buried_total", "Jobs moved to dead."),
		readded:      counter("sidecar_readded_total", "Failed jobs whose text was in no key, added again."),
		retries:      counter("sidecar_settle_retries_total", "Settlements offered again after a refusal or a lost reply."),
		abandoned:    counter("sidecar_settle_abandoned_total", "Settlements given up at the end of the process; their jobs run again."),
		backpressure: gauge("sidecar_backpressure", "1 while ready is full and nothing is promoted."),
		pressed:      counter("sidecar_backpressure_scans_total", "Promotions that found ready full."),
		inHand:       gauge("sidecar_in_hand", "Claims held by this process."),
		errors:       counter("sidecar_redis_errors_total", "Errors met at Redis by kind.", "fault"),

		stalled:        gauge("sidecar_stalled", "1 while work is due and nothing is claimed, for no known reason."),
		stalls:         counter("sidecar_stalls_total", "Times the consumer was replaced, since work was due and nothing was claimed."),
		abandonedLoops: counter("sidecar_loops_abandoned_total", "Scanners and feeders that did not end when they were to."),

		paused: gauge("sidecar_paused", "1 while something holds the topic back on this sidecar, by what does.", "kind"),
		trips:  counter("sidecar_breaker_trips_total", "Times the topic's runs failed with one error so often in a row that it was paused."),
	}
	m.scripts = newScriptTimes(with.NewHistogramVec(prometheus.HistogramOpts{
		Name: "sidecar_redis_script_seconds", Help: "How long calls of the sidecar's scripts took at Redis, by script.", Buckets: scriptBuckets,
	}, []string{"script"}))
	m.vecs = []*prometheus.MetricVec{
		m.outcomes.MetricVec, m.duration.MetricVec, m.lateness.MetricVec, m.claims.MetricVec, m.unreadable.MetricVec,
		m.doneBefore.MetricVec, m.twins.MetricVec, m.merged.MetricVec, m.promoted.MetricVec, m.expired.MetricVec,
		m.lost.MetricVec, m.buried.MetricVec, m.readded.MetricVec, m.retries.MetricVec, m.abandoned.MetricVec,
		m.backpressure.MetricVec, m.pressed.MetricVec, m.inHand.MetricVec, m.errors.MetricVec,
		m.stalled.MetricVec, m.stalls.MetricVec, m.abandonedLoops.MetricVec,
		m.paused.MetricVec, m.trips.MetricVec,
	}
	for _, topic := range topics {
		m.topic(topic)
	}
	return m
}

// Forget deletes the series of a topic, of which there must be no consumer any more.
func (m *Metrics) Forget(topic string) {
	for _, vec := range m.vecs {
		vec.DeletePartialMatch(prometheus.Labels{"topic": topic})
	}
	m.peaks.Delete(topic)
}

// topicMetrics are one topic's series, looked up once.
type topicMetrics struct {
	outcomes           map[compat.Verdict]prometheus.Counter
	duration, lateness prometheus.Observer

	claims, unreadable, doneBefore, twins, merged, promoted, expired prometheus.Counter

	lost, buried, readded, retries, abandoned, pressed, stalls, abandonedLoops, trips prometheus.Counter

	paused map[HoldKind]prometheus.Gauge

	backpressure, inHand, stalled prometheus.Gauge

	errors *prometheus.CounterVec // fault

	peaks *topicPeaks
}

// topic returns topic's series and creates those that do not exist.
func (m *Metrics) topic(topic string) *topicMetrics {
	t := &topicMetrics{
		outcomes:     make(map[compat.Verdict]prometheus.Counter),
		duration:     m.duration.WithLabelValues(topic),
		lateness:     m.lateness.WithLabelValues(topic),
		claims:       m.claims.WithLabelValues(topic),
		unreadable:   m.unreadable.WithLabelValues(topic),
		doneBefore:   m.doneBefore.WithLabelValues(topic),
		twins:        m.twins.WithLabelValues(topic),
		merged:       m.merged.WithLabelValues(topic),
		promoted:     m.promoted.WithLabelValues(topic),
		expired:      m.expired.WithLabelValues(topic),
		lost:         m.lost.WithLabelValues(topic),
		buried:       m.buried.WithLabelValues(topic),
		readded:      m.readded.WithLabelValues(topic),
		retries:      m.retries.WithLabelValues(topic),
		abandoned:    m.abandoned.WithLabelValues(topic),
		backpressure: m.backpressure.WithLabelValues(topic),
		pressed:      m.pressed.WithLabelValues(topic),
		inHand:       m.inHand.WithLabelValues(topic),
		stalled:      m.stalled.WithLabelValues(topic),
		stalls:       m.stalls.WithLabelValues(topic),
		errors:       m.errors.MustCurryWith(prometheus.Labels{"topic": topic}),
	}
	t.abandonedLoops, t.trips = m.abandonedLoops.WithLabelValues(topic), m.trips.WithLabelValues(topic)
	peaks, _ := m.peaks.LoadOrStore(topic, new(topicPeaks))
	t.peaks = peaks.(*topicPeaks)
	t.paused = make(map[HoldKind]prometheus.Gauge)
	for _, kind := range HoldKinds() {
		t.paused[kind] = m.paused.WithLabelValues(topic, kind.String())
	}
	for _, v := range compat.Verdicts() {
		t.outcomes[v] = m.outcomes.WithLabelValues(topic, v.String())
	}
	for _, f := range Faults() {
		t.errors.WithLabelValues(f.String())
	}
	return t
}
