package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidecar/internal/plural"
	"sidecar/queue"
)

// checkRedis is about the servers.
func checkRedis(all *findings, f Facts) {
	r := f.Redis
	if r.Err != nil {
		all.say(idOf(r.Err), "redis", "%v", r.Err)
		return
	}
	for _, d := range r.Dangers {
		checkDanger(all, d)
	}
	for _, s := range r.Servers {
		for _, check := range serverChecks {
			check(all, "redis "+s.Name, s)
		}
		checkFailover(all, "redis "+s.Name, s, f.Config.Redis.Sentinel != "" || f.Config.Redis.Cluster)
		checkSlowLog(all, "redis "+s.Name, s, ownKeys(r.Topics))
		checkLocal(all, "redis "+s.Name, s, f.Host)
	}
	if r.Lost != nil {
		all.say("redis-down", "redis", "it answered, and then no more: %v", r.Lost)
	}
	checkSidecars(all, f)
	checkAlerts(all, f)
	for _, name := range r.Strangers {
		if len(f.Topics) < len(f.Config.Topics) {
			break // it was asked for some topics only
		}
		all.say("topic-unconfigured", "topic "+name, "it has jobs in pool, ready or running, and no table in %s", f.Config.Path)
	}
	for _, u := range unaskedOnce(r.Unasked) {
		found := all.say("redis-unasked", u.Where, "%s: %v", u.Command, u.Err)
		if errors.Is(u.Err, queue.ErrTooManyKeys) {
			found.because("whether the topics have keys behind another prefix, and whether there are topics that are not configured, is not known for sure").
				do("nothing where jobs run; else look at the prefix and the names that producers write: redis-cli --scan --pattern '*delay:*' goes through all keys")
		}
	}
}

// idOf says why a Redis cannot be asked.
func idOf(err error) string {
	switch {
	case errors.Is(err, queue.ErrNoScripting), errors.Is(err, queue.ErrTooOld):
		return "redis-unfit"
	case queue.FaultOf(err) == queue.NoPerm:
		return "key-rights"
	}
	return "redis-down"
}

// checkDanger tells what is told at the start, too.
func checkDanger(all *findings, d queue.Danger) {
	where := "redis"
	if d.Node != "" {
		where += " " + d.Node
	}
	switch d.Kind {
	case queue.NodeOfCluster:
		all.say("redis-cluster-node", where, "%s", d.Text)
	case queue.NoMaster:
		all.say("redis-role", where, "%s", d.Text)
	case queue.SeveralMasters:
		all.say("redis-several-masters", where, "%s", d.Text)
	case queue.EvictsQueues:
		all.say("redis-eviction", where, "%s", d.Text)
	case queue.EvictsMarks:
		all.say("redis-eviction", where, "%s", d.Text).as(Warning)
	case queue.EvictionUnknown:
		all.say("redis-eviction-unknown", where, "%s", d.Text)
	case queue.ClockOff:
		all.say("redis-clock", where, "%s", d.Text)
	case queue.OtherPrefix:
		all.say("key-prefix", "topic "+d.Topic, "%s", d.Text)
	}
}

// unaskedOnce leaves out what several topics are refused for the same reason.
func unaskedOnce(list []Unasked) (once []Unasked) {
	for _, u := range list {
		same := func(o Unasked) bool { return o.Command == u.Command && o.Err.Error() == u.Err.Error() }
		if !slices.ContainsFunc(once, same) {
			once = append(once, u)
		}
	}
	return once
}

// serverChecks are those that one server's INFO and CONFIG are enough for.
var serverChecks = []func(all *findings, where string, s Server){
	checkVersion, checkEvicted, checkMemory, checkPersistence, checkSaves, checkClients, checkConnections, checkCluster, checkWaiting,
}

func checkVersion(all *findings, where string, s Server) {
	version := s.Info["redis_version"]
	major, _, ok := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); ok && err == nil && n < 6 {
		all.say("redis-old", where, "it is Redis %s", version)
	}
}

func checkEvicted(all *findings, where string, s Server) {
	n := number(s.Info["evicted_keys"])
	switch {
	case n == 0:
	case evictsMarksAlone(s):
		all.say("redis-evicted", where, "%s evicted since it started, idempotency marks maybe; maxmemory-policy is %s", plural.Of(n, "key with a time to live was", "keys with a time to live were"), s.Info["maxmemory_policy"]).as(Note).
			do("give Redis more memory, or the queues a Redis of their own with maxmemory-policy noeviction")
	default:
		all.say("redis-evicted", where, "%s evicted since it started", plural.Of(n, "key was", "keys were"))
	}
}

// evictsMarksAlone reports a policy that only throws keys away which have a time to live, as a cache beside the queues wants it:
// queues have none (key-ttl).
func evictsMarksAlone(s Server) bool {
	return strings.HasPrefix(s.Info["maxmemory_policy"], "volatile-")
}

func checkMemory(all *findings, where string, s Server) {
	text, known := s.Info["maxmemory"]
	if !known {
		text, known = s.Config["maxmemory"]
	}
	most, used := number(text), number(s.Info["used_memory"])
	switch {
	case known && most == 0:
		all.say("redis-memory-unbounded", where, "maxmemory is 0")
	case evictsMarksAlone(s): // a cache fills up, and makes room by itself
	case most > 0 && used*100 >= most*80:
		found := all.say("redis-memory-full", where, "%s of %s are used", megabytes(used), megabytes(most))
		if used*100 < most*95 {
			found.as(Warning)
		}
		if policy := s.Info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
			found.because("at maxmemory Redis refuses nothing, and throws keys away: whole queues, jobs and all; maxmemory-policy is " + policy)
		}
	}
}

// megabytes is a number of bytes as people read it.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

func checkPersistence(all *findings, where string, s Server) {
	aof, known := s.Info["aof_enabled"]
	save, saveKnown := s.Config["save"]
	switch {
	case !known || aof == "1":
	case saveKnown && save == "":
		all.say("redis-persistence", where, "appendonly is no and save is empty: nothing is written to disk")
	case saveKnown:
		all.say("redis-rdb-only", where, "appendonly is no; snapshots are made by save %s", save)
	default:
		all.say("redis-rdb-only", where, "appendonly is no; whether there are snapshots could not be asked")
	}
	if s.Config["appendfsync"] == "no" && aof == "1" {
		all.say("redis-fsync", where, "appendfsync is no")
	}
}

func checkSaves(all *findings, where string, s Server) {
	for _, name := range []string{"rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"} {
		if status := s.Info[name]; status != "" && status != "ok" {
			all.say("redis-save-failed", where, "%s is %s", name, status)
		}
	}
}

func checkClients(all *findings, where string, s Server) {
	most := number(s.Config["maxclients"])
	if most == 0 {
		most = number(s.Info["maxclients"]) // told by Redis 6 and newer
	}
	if n := number(s.Info["connected_clients"]); most > 0 && n*100 >= most*80 {
		all.say("redis-maxclients", where, "%d of %d connections are taken", n, most)
	}
}

func checkConnections(all *findings, where string, s Server) {
	if n := number(s.Config["timeout"]); n > 0 {
		all.say("redis-timeout", where, "timeout is %d: connections are closed after so many idle seconds", n)
	}
	if s.Config["tcp-keepalive"] == "0" {
		all.say("redis-keepalive", where, "tcp-keepalive is 0")
	}
}

func checkCluster(all *findings, where string, s Server) {
	c := s.Cluster
	if c == nil {
		return
	}
	const slots = 16384
	bad := number(c["cluster_slots_fail"]) + number(c["cluster_slots_pfail"])
	if state := c["cluster_state"]; state != "" && (state != "ok" || bad > 0 || number(c["cluster_slots_assigned"]) < slots) {
		all.say("redis-cluster-slots", where, "cluster_state is %s, %s of %d slots are assigned, %d fail", state, c["cluster_slots_assigned"], slots, bad)
	}
	if s.Config["cluster-require-full-coverage"] == "yes" {
		all.say("redis-cluster-coverage", where, "cluster-require-full-coverage is yes")
	}
}

// lagMost is how far behind a replica may be; it tells its master every second.
const lagMost = 10

// checkFailover is about replicas: how much a failover loses.
func checkFailover(all *findings, where string, s Server, expected bool) {
	n := number(s.Info["connected_slaves"])
	for i := range n {
		replica := s.Info[fmt.Sprintf("slave%d", i)]
		fields := map[string]string{}
		for field := range strings.SplitSeq(replica, ",") {
			name, value, _ := strings.Cut(field, "=")
			fields[name] = value
		}
		if lag := number(fields["lag"]); fields["state"] != "" && (fields["state"] != "online" || lag > lagMost) {
			all.say("redis-replica-lag", where, "replica %s:%s is %s, %d s behind", fields["ip"], fields["port"], fields["state"], lag)
		}
	}
	atLeast, known := s.Config["min-replicas-to-write"]
	switch {
	case n == 0 && expected:
		all.say("redis-failover", where, "it has no replica: when it is gone nothing takes its place").do("give it a replica: redis-cli REPLICAOF HOST PORT on another server")
	case n > 0 && known && atLeast == "0":
		all.say("redis-failover", where, "it has %s, and min-replicas-to-write is 0", plural.Of(n, "replica", "replicas"))
	}
}

// slowWithin is how old an entry of the slow log may be to be told of, slowLeast how long it took at least.
const (
	slowWithin = 24 * time.Hour
	slowLeast  = 10 * time.Millisecond
)

// ownKeys returns the keys of the topics.
func ownKeys(topics []TopicKeys) (keys []string) {
	for _, t := range topics {
		for _, look := range t.Looks {
			keys = append(keys, look.Key)
		}
	}
	return keys
}

// checkSlowLog sums up the slow log: scripts on our keys, and all else.
func checkSlowLog(all *findings, where string, s Server, keys []string) {
	type sum struct {
		n    int
		most SlowCommand
	}
	var ours, others sum
	for _, c := range s.Slow {
		if c.Since > slowWithin || c.Took < slowLeast {
			continue
		}
		to := &others
		if slices.ContainsFunc(c.Keys, func(key string) bool { return slices.Contains(keys, key) }) {
			to = &ours
		}
		if to.n++; c.Took > to.most.Took {
			to.most = c
		}
	}
	if ours.n > 0 {
		all.say("redis-slow-ours", where, "%s slow within a day, the slowest took %s", plural.Of(ours.n, "script on the topics' keys was", "scripts on the topics' keys were"), ours.most.Took)
	}
	if others.n > 0 {
		all.say("redis-slow-others", where, "%s slow within a day, the slowest, %s, took %s", plural.Of(others.n, "command of others was", "commands of others were"), others.most.Name, others.most.Took)
	}
}

// checkLocal is about the host of a server that runs on this one.
func checkLocal(all *findings, where string, s Server, h Host) {
	if !s.Local || len(s.Info) == 0 {
		return
	}
	saves := s.Info["aof_enabled"] == "1" || s.Config["save"] != ""
	if h.Overcommit != "" && h.Overcommit != "1" && saves {
		all.say("redis-overcommit", where, "vm.overcommit_memory is %s", h.Overcommit)
	}
	// From 6.2 on Redis turns them off for itself.
	if old := before(s.Info["redis_version"], 6, 2); old && strings.Contains(h.Hugepages, "[always]") && saves {
		all.say("redis-hugepages", where, "transparent huge pages are on: %s", h.Hugepages)
	}
}

// before reports that version is older than major.minor; an unknown one is not.
func before(version string, major, minor int) bool {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a < major || a == major && b < minor)
}
