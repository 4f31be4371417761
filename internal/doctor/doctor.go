package doctor

import (
	"context"
	"slices"
	"sync"
	"time"

	"sidecar/internal/config"
)

// Options say where to look.
type Options struct {
	Topics []string // those to look at; none: all
	Root   string   // of this host's files, "/"
}

// patience bounds the whole examination.
const patience = 60 * time.Second

// Examine looks at the setting of cfg and returns what there is to say of it, the weightiest first. It changes nothing
// but for what [queue.Store.Check] tries on keys that no job has, and the file it has PHP-FPM run, in bridge_dir.
func Examine(ctx context.Context, cfg *config.Config, opts Options) []Finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return Judge(gather(ctx, cfg, opts))
}

// Judge returns what there is to say of the facts.
func Judge(f Facts) []Finding {
	var all findings
	checkConfig(&all, f)
	checkHost(&all, f)
	checkRedis(&all, f)
	for _, t := range f.Redis.Topics {
		checkKeys(&all, f, t)
	}
	for _, p := range f.Pools {
		checkPool(&all, f, p)
	}
	checkSpools(&all, f)
	return reach(all.sorted(), f.Config.Redis)
}

// gather asks Redis, the pools and this host, at the same time: one that hangs takes nothing from the others.
func gather(ctx context.Context, cfg *config.Config, opts Options) Facts {
	f := Facts{Config: cfg, Topics: chosen(cfg, opts.Topics), Host: lookAtHost(cfg, opts.Root)}
	var wg sync.WaitGroup
	wg.Go(func() { f.Redis = askRedis(ctx, cfg, f.Topics) })
	names := poolsOf(cfg, f.Topics, len(opts.Topics) == 0)
	f.Pools = make([]Pool, len(names))
	spools := make([][]Spool, len(names))
	for i, name := range names {
		wg.Go(func() {
			f.Pools[i] = askPool(ctx, cfg.FPM[name], f.Topics)
		})
		wg.Go(func() { spools[i] = askSpools(ctx, cfg, name) })
	}
	wg.Wait()
	f.Spools = slices.Concat(spools...)
	return f
}

// chosen returns the topics with those names, all where there are none.
func chosen(cfg *config.Config, names []string) []config.Topic {
	if len(names) == 0 {
		return cfg.Topics
	}
	var topics []config.Topic
	for _, t := range cfg.Topics {
		if slices.Contains(names, t.Name) {
			topics = append(topics, t)
		}
	}
	return topics
}

// poolsOf returns the names of the pools that topics use, and where all is asked for, of those that open spools.
func poolsOf(cfg *config.Config, topics []config.Topic, all bool) (names []string) {
	for _, t := range topics {
		names = append(names, t.Pool)
	}
	for _, o := range cfg.Spools {
		if all {
			names = append(names, o.Pool)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
