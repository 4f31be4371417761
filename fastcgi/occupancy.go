package fastcgi

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pageHolds is for how long a status page is believed: several scrapers cost FPM one request.
const pageHolds = time.Second

// occupancy is a collector of what FPM's status pages say, asked when scraped, and not while jobs may not start. What
// a page that does not answer would say is absent.
type occupancy struct {
	pools *owners

	up, children, reached, slow, accepted *prometheus.Desc
}

func newOccupancy(pools *owners) *occupancy {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("sidecar_fpm_"+name, help, append([]string{"pool"}, more...), nil)
	}
	return &occupancy{
		pools:    pools,
		up:       desc("status_up", "1 when the pool's status page answered this scrape."),
		children: desc("children", "Children of the pool, by what they do; together those that there are.", "state"),
		reached:  desc("max_children_reached_total", "Times that the pool had no more children to start, by its status page."),
		slow:     desc("slow_requests_total", "Requests that took longer than request_slowlog_timeout, by the pool's status page."),
		accepted: desc("accepted_connections_total", "Connections that the pool has taken, anybody's, by its status page."),
	}
}

// Describe implements prometheus.Collector.
func (o *occupancy) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{o.up, o.children, o.reached, o.slow, o.accepted} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (o *occupancy) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	var wg sync.WaitGroup
	for _, who := range o.pools.newest() {
		if p, ok := who.(*Pool); ok && p.opts.Status != "" {
			wg.Go(func() { o.collect(ctx, ch, p) })
		}
	}
	wg.Wait()
}

func (o *occupancy) collect(ctx context.Context, ch chan<- prometheus.Metric, p *Pool) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, kind, float64(v), append([]string{p.opts.Name}, labels...)...)
	}
	page, err := p.freshStatus(ctx)
	if err != nil {
		send(o.up, prometheus.GaugeValue, 0)
		return
	}
	send(o.up, prometheus.GaugeValue, 1)
	send(o.children, prometheus.GaugeValue, page.Active, "active")
	send(o.children, prometheus.GaugeValue, page.Idle, "idle")
	send(o.reached, prometheus.CounterValue, page.Reached)
	send(o.slow, prometheus.CounterValue, page.Slow)
	send(o.accepted, prometheus.CounterValue, page.Accepted)
}

// freshStatus returns the status page, read anew unless it was within the last second.
func (p *Pool) freshStatus(ctx context.Context) (statusPage, error) {
	p.paging.Lock()
	defer p.paging.Unlock()
	if err := p.shutReason(); err != nil {
		p.metrics.listenQueue(p, 0) // what waits is not known any more
		return statusPage{}, err
	}
	p.mu.Lock()
	page, age := p.page, time.Since(p.pageAt)
	p.mu.Unlock()
	if age < pageHolds {
		return page, nil
	}
	at, path := p.opts.statusPage()
	page, err := p.askStatus(ctx, at, path)
	if err == nil {
		p.keepPage(page)
	}
	return page, err
}
