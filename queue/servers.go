package queue

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// healthHolds is for how long a look at the servers is believed: several scrapers cost Redis one.
	healthHolds = time.Second

	// healthPatience is how long a look is waited for. The one that is late goes on, by the client's own timeouts.
	healthPatience = time.Second
)

// ServerHealth is how one server of Redis stands. What it did not say is not in it: "don't know" is not 0.
type ServerHealth struct {
	Name string        // its address, or the master's name at the Sentinels
	Up   bool          // it answers, and is not loading
	Ping time.Duration // how long its answer to PING took; 0 when there was none
	info map[string]string
}

// Servers are those of one Redis, looked at when asked and never by a loop.
type Servers struct {
	rdb  redis.UniversalClient
	name string // of the one server there is; "" in a Cluster

	mu    sync.Mutex
	known []string    // guarded by mu: the names that were seen last
	look  *serverLook // guarded by mu: the last one, which may be under way
}

// serverLook is one look at all servers. What it found is there when done is closed.
type serverLook struct {
	done  chan struct{}
	ended time.Time
	found []ServerHealth
}

// NewServers returns the servers that rdb, a client of opts, talks to.
func NewServers(rdb redis.UniversalClient, opts RedisOptions) *Servers {
	s := &Servers{rdb: rdb, known: slices.Clone(opts.Addrs)}
	if single, ok := rdb.(*redis.Client); ok {
		s.name = cmp.Or(opts.Sentinel, single.Options().Addr)
		s.known = []string{s.name}
	}
	return s
}

// Health returns how each server stands. It takes a second at most: servers that have not answered by then are not up.
func (s *Servers) Health(ctx context.Context) []ServerHealth {
	look, known := s.current(ctx)
	late := time.NewTimer(healthPatience)
	defer late.Stop()
	select {
	case <-look.done:
		return look.found
	case <-late.C:
	case <-ctx.Done():
	}
	return allDown(known)
}

// current returns the look that is under way or has just ended, or a new one. That is shared by all who ask.
func (s *Servers) current(ctx context.Context) (*serverLook, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look != nil && !s.look.old() {
		return s.look, s.known
	}
	look := &serverLook{done: make(chan struct{})}
	s.look = look
	go func() {
		defer close(look.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		look.found = s.read(ctx)
		look.ended = time.Now()
	}()
	return look, s.known
}

// old reports that the look has ended and is believed no more.
func (l *serverLook) old() bool {
	select {
	case <-l.done:
		return time.Since(l.ended) > healthHolds
	default:
		return false
	}
}

// read asks all servers at once. A Cluster that does not say which they are has those that it had.
func (s *Servers) read(ctx context.Context) []ServerHealth {
	nodes, err := servers(ctx, s.rdb)
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if err != nil {
		return allDown(known)
	}
	found := make([]ServerHealth, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() { found[i] = healthOf(ctx, node, s.name) })
	}
	wg.Wait()
	names := make([]string, len(found))
	for i, h := range found {
		names[i] = h.Name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = names
	return found
}

// healthOf asks one server: whether it is there, how quick, and what it says of itself.
func healthOf(ctx context.Context, node redis.UniversalClient, name string) ServerHealth {
	h := ServerHealth{Name: name}
	if single, ok := node.(*redis.Client); ok && name == "" {
		h.Name = single.Options().Addr
	}
	sent := time.Now()
	switch err := node.Ping(ctx).Err(); FaultOf(err) { //nolint:exhaustive // all others are no answer, or one that says it cannot serve
	case 0, NoPerm: // a refusal is an answer, too
		h.Up, h.Ping = true, time.Since(sent)
		h.info = serverInfo(ctx, node)
	}
	return h
}

// allDown says of each name that nobody answers.
func allDown(names []string) []ServerHealth {
	found := make([]ServerHealth, len(names))
	for i, name := range names {
		found[i].Name = name
	}
	return found
}

// Number returns a field of INFO that is a number.
func (h ServerHealth) Number(field string) (n float64, known bool) {
	n, err := strconv.ParseFloat(h.info[field], 64)
	return n, err == nil
}

// Version returns the server's version, "" where it did not say.
func (h ServerHealth) Version() string { return h.info["redis_version"] }

// Run returns which of the server's lives this is: another one after each restart; "" where it did not say.
func (h ServerHealth) Run() string { return h.info["run_id"] }

// Policy returns what the server does at maxmemory, "" where it did not say.
func (h ServerHealth) Policy() string { return h.info["maxmemory_policy"] }

// Role returns "master", "replica" or "other", as one that takes writes beside others is; "" where it is not known.
func (h ServerHealth) Role() string {
	switch role := h.info["role"]; role {
	case "", "master":
		return role
	case "slave", "replica":
		return "replica"
	default:
		return "other"
	}
}

// Lag returns for how long the replica that is furthest behind has not been heard of, or, of a replica, its master.
func (h ServerHealth) Lag() (lag time.Duration, known bool) {
	if h.Role() == "replica" {
		n, ok := h.Number("master_last_io_seconds_ago")
		return time.Duration(n) * time.Second, ok && n >= 0 // -1: never
	}
	for field, value := range h.info {
		if !isReplica(field) {
			continue
		}
		for part := range strings.SplitSeq(value, ",") {
			text, found := strings.CutPrefix(part, "lag=")
			n, err := strconv.ParseInt(text, 10, 32)
			if found && err == nil && n >= 0 {
				lag, known = max(lag, time.Duration(n)*time.Second), true
			}
		}
	}
	return lag, known
}

// isReplica reports that a field of INFO is about one replica, such as slave0.
func isReplica(field string) bool {
	number, found := strings.CutPrefix(field, "slave")
	_, err := strconv.Atoi(number)
	return found && err == nil
}

// Saved reports whether the last snapshot, rewrite and write to the append-only file worked, whichever there are.
func (h ServerHealth) Saved() (ok, known bool) {
	ok = true
	for _, field := range []string{"rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status"} {
		if status := h.info[field]; status != "" {
			ok, known = ok && status == "ok", true
		}
	}
	return ok, known
}
