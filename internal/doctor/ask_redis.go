package doctor

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/queue"
)

const (
	// redisPatience bounds all questions to Redis.
	redisPatience = 30 * time.Second
	// slowEntries is how much of the slow log is read.
	slowEntries = 128
	// clientsMost is the number of connections beyond which they are not listed: that takes Redis's time.
	clientsMost = 5000
)

// inquirer asks one Redis. What it may not ask it notes.
type inquirer struct {
	cfg     *config.Config
	unasked []Unasked
}

// askRedis asks all servers, and then for the keys of topics.
func askRedis(ctx context.Context, cfg *config.Config, topics []config.Topic) Redis {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	var r Redis
	rdb, err := queue.Open(cfg.Redis, cfg.Queues())
	if err != nil {
		return Redis{Err: err}
	}
	defer rdb.Close()
	if r.Dangers, err = queue.Dangers(ctx, rdb); err != nil {
		return Redis{Err: err}
	}
	q := &inquirer{cfg: cfg}
	nodes, err := queue.Nodes(ctx, rdb)
	if err != nil {
		return Redis{Err: err}
	}
	for _, node := range nodes {
		r.Servers = append(r.Servers, q.server(ctx, node))
	}
	r.Topics, r.Lost = q.topics(ctx, rdb, topics)
	if r.Lost != nil {
		r.Unasked = q.unasked
		return r
	}
	q.otherDBs(ctx, rdb, r.Topics, r.Servers)
	q.seeKeys(ctx, rdb, &r)
	q.sidecars(ctx, rdb, &r)
	q.cutShort(ctx, rdb, &r)
	q.targets(ctx, rdb, &r)
	r.Unasked = q.unasked
	return r
}

// sidecars asks what the sidecars tell each other.
func (q *inquirer) sidecars(ctx context.Context, rdb redis.UniversalClient, r *Redis) {
	prefix := q.cfg.Redis.KeyPrefix
	var err error
	r.Sidecars, err = queue.NewHeartbeats(rdb, prefix).All(ctx)
	r.DeafErr = err
	q.note("redis", "HLEN or HGETALL on sidecar:alive", err)
	r.Pauses, r.Now, err = queue.NewPauses(rdb, prefix).All(ctx)
	if queue.FaultOf(err) == queue.WrongType {
		r.PausesErr, err = err, nil
	}
	q.note("redis", "the script on sidecar:paused", err)
}

// note takes down that a question was not answered. It reports whether it was.
func (q *inquirer) note(where, command string, err error) bool {
	if err != nil {
		q.unasked = append(q.unasked, Unasked{Where: where, Command: command, Err: err})
	}
	return err == nil
}

// server asks one server for what it tells of itself.
func (q *inquirer) server(ctx context.Context, node redis.UniversalClient) Server {
	s := Server{Name: q.nameOf(node), Config: map[string]string{}, Info: queue.InfoOf(ctx, node)}
	s.Local = isLocal(node)
	where := "redis " + s.Name
	if len(s.Info) == 0 {
		q.note(where, "INFO", node.Info(ctx).Err())
	}
	for _, pattern := range []string{"maxmemory", "save", "append*", "timeout", "tcp-keepalive", "maxclients", "min-*", "cluster-require-full-coverage", "slowlog-*"} {
		values, err := node.ConfigGet(ctx, pattern).Result()
		if err != nil {
			q.note(where, "CONFIG GET", err)
			break
		}
		maps.Copy(s.Config, values)
	}
	s.Slow = q.slowLog(ctx, node, where)
	s.Clients = q.clients(ctx, node, where, s.Info)
	if s.Info["cluster_enabled"] == "1" {
		text, err := node.ClusterInfo(ctx).Result()
		q.note(where, "CLUSTER INFO", err)
		s.Cluster = pairs(text)
	}
	return s
}

// nameOf says where a server is. What a URL may have of a login is not in it.
func (q *inquirer) nameOf(node redis.UniversalClient) string {
	if single, ok := node.(*redis.Client); ok && q.cfg.Redis.Sentinel == "" {
		return single.Options().Addr
	}
	return "master " + q.cfg.Redis.Sentinel
}

// isLocal reports that the server's address is this host's own.
func isLocal(node redis.UniversalClient) bool {
	single, ok := node.(*redis.Client)
	if !ok {
		return false
	}
	host, _, err := net.SplitHostPort(single.Options().Addr)
	if err != nil {
		return single.Options().Network == "unix" || strings.HasPrefix(single.Options().Addr, "/")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// pairs reads lines of name:value, as INFO and its kind have them.
func pairs(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m
}

// slowLog reads the newest entries of the slow log.
func (q *inquirer) slowLog(ctx context.Context, node redis.UniversalClient, where string) (list []SlowCommand) {
	entries, err := node.SlowLogGet(ctx, slowEntries).Result()
	if !q.note(where, "SLOWLOG GET", err) {
		return nil
	}
	now, err := node.Time(ctx).Result()
	if err != nil {
		return nil // the check of the rights says so
	}
	for _, e := range entries {
		if len(e.Args) == 0 {
			continue
		}
		c := SlowCommand{Name: strings.ToUpper(e.Args[0]), Took: e.Duration, Since: now.Sub(e.Time)}
		if c.Name == "EVAL" || c.Name == "EVALSHA" || c.Name == "FCALL" {
			c.Keys = e.Args[min(3, len(e.Args)):]
		}
		list = append(list, c)
	}
	return list
}

// clients lists who is connected.
func (q *inquirer) clients(ctx context.Context, node redis.UniversalClient, where string, info map[string]string) (list []Client) {
	if number(info["connected_clients"]) > clientsMost {
		q.note(where, "CLIENT LIST", errors.New("it has "+info["connected_clients"]+" clients, to list them would hold it up"))
		return nil
	}
	text, err := node.ClientList(ctx).Result()
	if !q.note(where, "CLIENT LIST", err) {
		return nil
	}
	for line := range strings.Lines(text) {
		var c Client
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			switch name {
			case "addr":
				c.Addr = value
			case "name":
				c.Name = value
			case "cmd":
				c.Command, _, _ = strings.Cut(value, "|")
			}
		}
		list = append(list, c)
	}
	return list
}
