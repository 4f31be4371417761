package admin

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/queue"
)

// The bounds of one scrape: a slow Redis costs a scrape its depths, not the scraper its timeout.
const (
	depthsTimeout = 3 * time.Second
	depthsAtOnce  = 8
)

// Depths is a collector of the four keys' depths, read from Redis when scraped, never by a loop.
// A topic that cannot be read has no depth then: "don't know" is not 0.
type Depths struct {
	stores func() map[string]*queue.Store

	depth  *prometheus.Desc
	due    *prometheus.Desc
	oldest *prometheus.Desc
	up     *prometheus.Desc
}

// NewDepths returns a collector over the stores, by topic, that are configured when it is scraped.
func NewDepths(stores func() map[string]*queue.Store) *Depths {
	return &Depths{
		stores: stores,
		depth:  prometheus.NewDesc("sidecar_depth_jobs", "Jobs in each of a topic's keys.", []string{"topic", "key"}, nil),
		due:    prometheus.NewDesc("sidecar_due_jobs", "Jobs in the pool that are due.", []string{"topic"}, nil),
		oldest: prometheus.NewDesc("sidecar_oldest_due_age_seconds", "For how long the oldest due job of the pool has been due; 0 when none is.", []string{"topic"}, nil),
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
	var wg sync.WaitGroup
	room := make(chan struct{}, depthsAtOnce)
	for topic, store := range d.stores() {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			d.collectTopic(ctx, ch, topic, store)
		})
	}
	wg.Wait()
}

func (d *Depths) collectTopic(ctx context.Context, ch chan<- prometheus.Metric, topic string, store *queue.Store) {
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	depths, err := store.Depths(ctx)
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
