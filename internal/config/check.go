package config

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
)

// releasePatience is how long release scripts wait between TERM and KILL (CONTRACT 1.6).
const releasePatience = 30 * time.Second

// checkBridge looks at what no pool and no topic can see alone: whether FPM will find the bridge.
func (b *builder) checkBridge(topic Topic, pool fastcgi.PoolOptions) {
	t := b.pools[topic.Pool]
	if !topic.FPM.Bridge || t.bad["bridge_dir"] || t.bad["chroot"] {
		return
	}
	if strings.HasPrefix(pool.BridgeDir, "/tmp/") || strings.HasPrefix(pool.BridgeDir, "/var/tmp/") {
		b.warn(t.line("bridge_dir"), "%sbridge_dir = %q: such directories are cleaned, and often private to a service", t.label, pool.BridgeDir)
	}
	if pool.Chroot == "" || inside(pool.BridgeDir, pool.Chroot) {
		return
	}
	if pool.BridgePath == "" {
		b.fault(t.line("bridge_dir"), "%sbridge_dir = %q: want a directory inside chroot = %q, or FPM cannot see the bridge", t.label, pool.BridgeDir, pool.Chroot)
		return
	}
	b.warn(t.line("bridge_dir"), "%sbridge_dir = %q: outside chroot = %q, so a job that calls fastcgi_finish_request cannot report its end", t.label, pool.BridgeDir, pool.Chroot)
}

func inside(dir, root string) bool { return strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/") }

// adviseTopic warns about what will run, but hardly as meant.
func (b *builder) adviseTopic(topic Topic, pool fastcgi.PoolOptions, t *table) {
	at := func(name string) int {
		if !t.has(name) && b.defaults.has(name) {
			return b.defaults.line(name)
		}
		return t.line(name)
	}
	if topic.Queue.Workers > pool.Children && pool.Children > 0 {
		b.warn(at("workers"), "%sworkers = %d: no more than the %d children of fpm %q ever run at once", t.label, topic.Queue.Workers, pool.Children, topic.Pool)
	}
	if topic.FPM.ExitOK && topic.FPM.SuccessBody == nil {
		b.warn(at("exit_ok"), "%sexit_ok = true: FPM does not say with which code a script exited; success_body = '…' can tell exit('success') from exit(1)", t.label)
	}
}

// checkUnused warns about pools without a topic, most often a slip in fpm = "…".
func (b *builder) checkUnused() {
	for _, name := range slices.Sorted(maps.Keys(b.pools)) {
		used := slices.ContainsFunc(b.cfg.Topics, func(t Topic) bool { return t.Pool == name })
		if !used && len(b.cfg.Topics) > 0 {
			b.warn(b.pools[name].head, "%sno topic uses this pool", b.pools[name].label)
		}
	}
}

// checkSlots refuses topics whose keys a Cluster would keep on different nodes: no script could move a job.
func (b *builder) checkSlots(section *table) {
	if !b.cfg.Redis.Cluster {
		return
	}
	for _, topic := range b.cfg.Topics {
		if topic.Queue.List == nil && compat.NewDelayKeys(b.cfg.Redis.KeyPrefix, topic.Name).OutsideSlot() != "" {
			b.fault(section.line(topic.Name), "topic %q: its keys lie on different nodes of a Cluster: want a hash tag in the name, [topic.%q], or in key_prefix, which PHP must use too", topic.Name, "{"+topic.Name+"}")
		}
	}
}
