package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"sidecar/internal/plural"
	"sidecar/queue"
)

// blocking are the commands that consumers of lists wait with; the sidecar uses none of them.
var blocking = []string{"blpop", "brpop", "brpoplpush", "blmove", "blmpop", "bzpopmin", "bzpopmax", "bzmpop"}

// taking are those that old consumers of topics send last, and that a sidecar, which sends EVALSHA, does not, nor a producer.
var taking = []string{"eval", "zrem", "lpop", "rpop", "zpopmin", "zrangebyscore", "rpoplpush", "lmove"}

// checkWaiting looks for old consumers of lists, by how they wait.
func checkWaiting(all *findings, where string, s Server) {
	for _, command := range blocking {
		if n, who := connections(s, command); n > 0 {
			all.say("redis-consumers", where, "%s with %s, as old consumers do: %s", plural.Of(n, "connection waits", "connections wait"), strings.ToUpper(command), who)
		}
	}
}

// hostsMost is how many hosts of connections are named.
const hostsMost = 5

// connections counts those whose last command is one of these, and says from which hosts they come, and under which names.
func connections(s Server, commands ...string) (n int, who string) {
	from := map[string]int{}
	for _, c := range s.Clients {
		if !slices.Contains(commands, c.Command) {
			continue
		}
		n++
		host, _, err := net.SplitHostPort(c.Addr)
		if err != nil || strings.HasPrefix(c.Addr, "/") {
			host = "a unix socket"
		}
		if c.Name != "" {
			host += fmt.Sprintf(" named %.40q", c.Name)
		}
		from[host]++
	}
	hosts := slices.SortedFunc(maps.Keys(from), func(a, b string) int { return cmp.Or(from[b]-from[a], cmp.Compare(a, b)) })
	var names []string
	for _, host := range hosts[:min(hostsMost, len(hosts))] {
		names = append(names, fmt.Sprintf("%d from %s", from[host], host))
	}
	if len(hosts) > hostsMost {
		names = append(names, fmt.Sprintf("and others from %s", plural.Of(len(hosts)-hostsMost, "host more", "hosts more")))
	}
	return n, strings.Join(names, ", ")
}

// checkClaims looks for old consumers of a topic, by the leases of what they have in hand. An idle one is not seen.
func checkClaims(all *findings, f Facts, where string, t TopicKeys) {
	if t.Topic.Queue.List != nil || t.Now.IsZero() || !queue.KnownByLeases(f.Redis.Sidecars, t.Topic.Name, t.Now.In(time.UTC)) {
		return
	}
	for _, k := range t.Looks {
		old := slices.DeleteFunc(slices.Clone(k.Scores), func(score string) bool { return !queue.IsOldClaim(score) })
		if k.Role != "running" || len(old) == 0 {
			continue
		}
		last := queue.LeaseOf(old[len(old)-1]).Sub(t.Now)
		ends := fmt.Sprintf("ends in %s", last.Round(time.Second))
		if last <= 0 {
			ends = fmt.Sprintf("ended %s ago", (-last).Round(time.Second))
		}
		found := all.say("redis-consumers", where, "of %s looked at in %s %d were not made by a sidecar, and nobody renews their leases: the last %s%s",
			plural.Of(k.Seen, "claim", "claims"), k.Key, len(old), ends, takers(f.Redis.Servers))
		if len(f.Redis.Sidecars) == 0 {
			found.do("keep visible-ms of the old one above its longest job; when the sidecar has taken all over, stop it")
		}
	}
}

// takers says which connections may be theirs.
func takers(servers []Server) string {
	var all []string
	for _, s := range servers {
		if n, who := connections(s, taking...); n > 0 {
			all = append(all, who)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; connections that may be theirs, by the command they sent last: " + strings.Join(all, ", ")
}
