package admin

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/queue"
)

// depthsTimeout bounds one scrape: a slow Redis costs a scrape its depths, not the scraper its timeout.
const depthsTimeout = 3 * time.Second

// Depths is a collector of the four keys' depths, read from Redis when scraped, never by a loop.
// A topic that cannot be read has no depth then: "don't know" is not 0.
type Depths struct {
	read func(context.Context) map[string]queue.DepthsRead

	depth  *prometheus.Desc
	due    *prometheus.Desc
	oldest *prometheus.Desc
	up     *prometheus.Desc
}

// NewDepths returns a collector of what read comes to when it is scraped, by topic.
func NewDepths(read func(context.Context) map[string]queue.DepthsRead) *Depths {
	return &Depths{
		read:   read,
		depth:  prometheus.NewDesc("sidecar_depth_jobs", "Jobs in each of a topic's keys.", []string{"topic", "key"}, nil),
		due:    prometheus.NewDesc("sidecar_due_jobs", "Jobs in the pool that are due.", []string{"topic"}, nil),
		oldest: prometheus.NewDesc("sidecar_oldest_due_age_seconds", "For how long the oldest job that is due or ready has been due, of ready as an estimate; 0 when there is none.", []string{"topic"}, nil),
		up:     prometheus.NewDesc("sidecar_depths_up", "1 when the topic's keys could be read for this scrape.", []string{"topic"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (d *Depths) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{d.depth, d.due, d.oldest, d.up} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (d *Depths) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), depthsTimeout)
	defer cancel()
	for topic, read := range d.read(ctx) {
		d.collectTopic(ch, topic, read.Depths, read.Err)
	}
}

func (d *Depths) collectTopic(ch chan<- prometheus.Metric, topic string, depths queue.Depths, err error) {
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	if err != nil {
		gauge(d.up, 0, topic)
		return
	}
	gauge(d.up, 1, topic)
	gauge(d.depth, float64(depths.Pool), topic, "pool")
	gauge(d.depth, float64(depths.Ready), topic, "ready")
	gauge(d.depth, float64(depths.Running), topic, "running")
	gauge(d.depth, float64(depths.Dead), topic, "dead")
	gauge(d.due, float64(depths.Due), topic)
	gauge(d.oldest, depths.OldestDueAge.Seconds(), topic)
}
