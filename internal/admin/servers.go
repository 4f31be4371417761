package admin

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/queue"
)

// roles are the values of the label role.
var roles = []string{"master", "replica", "other"}

// Servers is a collector of how the servers of Redis stand, asked when scraped, once a second at most. What a server
// does not say, and all but "up" of one that does not answer, is absent.
type Servers struct {
	servers func() *queue.Servers

	up, ping, role, lag, saved *prometheus.Desc
	numbers                    []serverNumber
}

// serverNumber is a number in INFO that is exported as it is.
type serverNumber struct {
	field string
	kind  prometheus.ValueType
	desc  *prometheus.Desc
}

// NewServers returns a collector over the servers that are configured when it is scraped; nil are none.
func NewServers(servers func() *queue.Servers) *Servers {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("sidecar_redis_"+name, help, append([]string{"server"}, more...), nil)
	}
	return &Servers{
		servers: servers,
		up:      desc("up", "1 when the server of Redis answered this scrape and is not loading."),
		ping:    desc("ping_seconds", "How long the server took to answer a PING."),
		role:    desc("role", "1 for the role that the server has.", "role"),
		lag:     desc("replication_lag_seconds", "How long ago the last word of the slowest replica came; of a replica, of its master."),
		saved:   desc("last_save_ok", "1 while the server's last snapshot, rewrite and write to its append-only file worked."),
		numbers: []serverNumber{
			{"used_memory", prometheus.GaugeValue, desc("memory_used_bytes", "Memory that the server uses for its data.")},
			{"maxmemory", prometheus.GaugeValue, desc("memory_max_bytes", "The server's maxmemory; 0 is no limit.")},
			{"evicted_keys", prometheus.CounterValue, desc("evicted_keys_total", "Keys that the server threw away as its memory was full.")},
			{"connected_clients", prometheus.GaugeValue, desc("clients", "Connections to the server, anybody's.")},
			{"rejected_connections", prometheus.CounterValue, desc("rejected_connections_total", "Connections that the server refused, by its maxclients.")},
			{"connected_slaves", prometheus.GaugeValue, desc("replicas", "Replicas that are connected to the server.")},
		},
	}
}

// Describe implements prometheus.Collector.
func (s *Servers) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{s.up, s.ping, s.role, s.lag, s.saved} {
		ch <- desc
	}
	for _, n := range s.numbers {
		ch <- n.desc
	}
}

// Collect implements prometheus.Collector.
func (s *Servers) Collect(ch chan<- prometheus.Metric) {
	servers := s.servers()
	if servers == nil {
		return
	}
	for _, h := range servers.Health(context.Background()) { // which waits for a second at most
		s.collect(ch, h)
	}
}

func (s *Servers) collect(ch chan<- prometheus.Metric, h queue.ServerHealth) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, kind, v, append([]string{h.Name}, labels...)...)
	}
	send(s.up, prometheus.GaugeValue, gaugeOf(h.Up))
	if h.Ping > 0 {
		send(s.ping, prometheus.GaugeValue, h.Ping.Seconds())
	}
	if has := h.Role(); has != "" {
		for _, role := range roles {
			send(s.role, prometheus.GaugeValue, gaugeOf(role == has), role)
		}
	}
	if lag, known := h.Lag(); known {
		send(s.lag, prometheus.GaugeValue, lag.Seconds())
	}
	if ok, known := h.Saved(); known {
		send(s.saved, prometheus.GaugeValue, gaugeOf(ok))
	}
	for _, n := range s.numbers {
		if v, known := h.Number(n.field); known {
			send(n.desc, n.kind, v)
		}
	}
}

func gaugeOf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
