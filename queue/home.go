package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Home is where a configuration finds its queues, without a secret in it: by what a restart, a failover and another password leave
// as it is. Its JSON names are a promise.
type Home struct {
	Servers []string `json:"servers"`          // host:port, or the path of a unix socket: of the server, the Sentinels or the Cluster's nodes
	Master  string   `json:"master,omitempty"` // its name, of Sentinels
	DB      int      `json:"db"`
	Host    string   `json:"host"` // which one has the configuration: 127.0.0.1 is another server on each
}

// HomeOf returns the home to which o leads on a host.
func HomeOf(o RedisOptions, host string) Home {
	o = o.Resolved()
	h := Home{Master: o.Sentinel, DB: o.DB, Host: host}
	for _, addr := range o.Addrs {
		h.Servers = append(h.Servers, strings.ToLower(addr))
	}
	if u, err := url.Parse(o.URL); err == nil && o.URL != "" {
		h.Servers = []string{serverOf(u)}
	}
	return h
}

func serverOf(u *url.URL) string {
	switch {
	case u.Scheme == "unix":
		return u.Path
	case u.Port() == "":
		return net.JoinHostPort(strings.ToLower(u.Hostname()), "6379")
	}
	return strings.ToLower(u.Host)
}

// Is reports that both are one as far as names tell: one database of one server, or of servers of which one is named in both.
// Servers that have got another name since are not known again.
func (h Home) Is(other Home) bool {
	return h.DB == other.DB && h.Master == other.Master && slices.ContainsFunc(h.Servers, func(server string) bool {
		return slices.Contains(other.Servers, server) && (h.Host == other.Host || !isOfOneHost(server))
	})
}

// isOfOneHost reports that a server's address may lead to another one on each host: so does a name without a domain, as "redis" in
// each namespace of Kubernetes and each project of Compose.
func isOfOneHost(server string) bool {
	host, _, err := net.SplitHostPort(server)
	ip := net.ParseIP(host)
	return err != nil || ip == nil && !strings.Contains(host, ".") || ip != nil && ip.IsLoopback()
}

// String says to a person where it is.
func (h Home) String() string {
	text := strings.Join(h.Servers, ", ")
	if slices.ContainsFunc(h.Servers, isOfOneHost) {
		text += " on host " + h.Host
	}
	if h.Master != "" {
		text = fmt.Sprintf("master %q of %s", h.Master, text)
	}
	return fmt.Sprintf("%s, database %d", text, h.DB)
}

// KnowsMove reports that Redis remembers one of these tickets: the moves were made here, or where these queues were then.
func (s *Store) KnowsMove(ctx context.Context, tickets []string) (bool, error) {
	var scores []*redis.FloatCmd
	_, _ = s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each answer has its own error
		for _, ticket := range tickets {
			scores = append(scores, pipe.ZScore(ctx, s.keys.moved, "t"+ticket), pipe.ZScore(ctx, s.keys.moved, "u"+ticket))
		}
		return nil
	})
	var unknown error
	for _, score := range scores {
		err := score.Err()
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, redis.Nil) {
			unknown = fmt.Errorf("ask %s for moves: %w", s.keys.moved, err)
		}
	}
	return false, unknown
}
