package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/config"
	"sidecar/queue"
)

// consumers is what the sidecars said of themselves last. The zero value knows nothing.
type consumers struct {
	known  bool // false: nobody may read it
	living []queue.Heartbeat
	beats  []queue.Heartbeat // of a day, also of those that are gone
}

func consumersOf(ctx context.Context, rdb redis.UniversalClient, prefix string) consumers {
	beats, err := queue.NewHeartbeats(rdb, prefix).All(ctx)
	if err != nil {
		return consumers{} // the right to read it may be missing; what Redis tells of the job is told all the same
	}
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return consumers{}
	}
	return consumers{known: true, living: queue.Living(beats, now), beats: beats}
}

// toldRun is a run as its sidecar told of it.
type toldRun struct {
	queue.Run
	since time.Time
	host  string
}

// run is what a sidecar that lives said last of a job that it runs.
func (c consumers) run(topic, uuid string) (told toldRun, found bool) {
	for _, b := range c.living {
		if run, since, found := b.RunOf(topic, compat.PlainUUID(uuid)); found && uuid != "" {
			return toldRun{run, since, b.Host}, true
		}
	}
	return toldRun{}, false
}

// keep says what keeps the jobs of t that may run from running, "" where nothing is known to, and whether it does so
// on every sidecar.
func (c consumers) keep(t config.Topic) (what string, everywhere bool) {
	if !c.known {
		return "", false
	}
	if len(c.living) == 0 {
		return "it waits for a sidecar, and none says that it lives: systemctl start sidecar", true
	}
	var kept []string
	serving := 0
	for _, b := range c.living {
		if !b.Has(t.Name) {
			continue
		}
		serving++
		if what := keptBy(b, t); what != "" {
			kept = append(kept, what)
		}
	}
	switch {
	case serving == 0:
		return fmt.Sprintf("no sidecar that lives (%s) has the topic: give its sidecar.toml the table, then sidecar reload there", hostsOf(c.living)), true
	case len(kept) > namedMost:
		kept[namedMost] = fmt.Sprintf("and %d more", len(kept)-namedMost)
		return strings.Join(kept[:namedMost+1], "; "), len(kept) == serving
	}
	return strings.Join(kept, "; "), len(kept) == serving
}

// namedMost is how many sidecars a line names.
const namedMost = 3

// keptBy says what keeps one sidecar from running jobs of t; "" where it names nothing.
func keptBy(b queue.Heartbeat, t config.Topic) string {
	host := cell(b.Host)
	if b.Stopping {
		return host + " is stopping"
	}
	for _, reason := range b.Reasons {
		if about := queue.ReasonFor(t.Name, t.Pool, reason); about != "" {
			return fmt.Sprintf("%s cannot run it: %s", host, told(about))
		}
	}
	return heldBackBy(b, t)
}

// heldBackBy says by what one sidecar alone holds t back; "" where it does not.
func heldBackBy(b queue.Heartbeat, t config.Topic) string {
	for _, kind := range []queue.HoldKind{queue.HoldBreaker, queue.HoldRate} { // a breaker lasts longer
		if h, on := b.Hold(t.Name, kind); on {
			return fmt.Sprintf("%s on %s: %s", kind, cell(b.Host), told(h.Reason))
		}
	}
	return ""
}

// reasonShown is how many characters of a reason are shown: it names paths and what was found there.
const reasonShown = 400

// told is what a sidecar said, on one line.
func told(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if short := compat.Cut(text, reasonShown); short != text {
		text = short + "…"
	}
	return text
}

// poolTrouble says what the sidecars that have t tell of its pool; "" where they tell nothing.
func (c consumers) poolTrouble(t config.Topic) string {
	for _, b := range c.living {
		for _, reason := range b.Reasons {
			if b.Has(t.Name) && queue.IsOfPool(t.Pool, reason) {
				return fmt.Sprintf("%s says: %s", cell(b.Host), told(reason))
			}
		}
	}
	return ""
}

// hostsOf names the sidecars' hosts.
func hostsOf(beats []queue.Heartbeat) string {
	var hosts []string
	for _, b := range beats {
		hosts = append(hosts, b.Host)
	}
	return hostsNamed(hosts)
}

// hostsNamed names the first of hosts, or of sidecars.
func hostsNamed(hosts []string) string {
	var names []string
	for _, host := range hosts {
		names = append(names, cell(host))
	}
	if len(names) > namedMost {
		names = append(names[:namedMost], fmt.Sprintf("and %d more", len(names)-namedMost))
	}
	return strings.Join(names, ", ")
}

// refusedOf are the hosts of those whose last heartbeat but one met a Redis at maxmemory.
func refusedOf(living []queue.Heartbeat) (hosts []string) {
	for _, b := range living {
		if b.Refused {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}

// unreadOf are the instances of those whose heartbeats cannot be read.
func unreadOf(living []queue.Heartbeat) (instances []string) {
	for _, b := range living {
		if b.Unread {
			instances = append(instances, b.Instance)
		}
	}
	return instances
}
