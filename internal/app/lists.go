package app

import (
	"context"
	"slices"

	"sidecar/internal/admin"
	"sidecar/internal/config"
)

// lists returns the lists that are configured now, by their tables' names and by their keys; nil while there is no
// configuration at work. They are read over the watchdogs' connections: how busy those of the jobs are is no word
// about how quick Redis is.
func (a *app) lists() map[string]admin.Reader {
	g := a.generation()
	if g == nil {
		return nil
	}
	lists := make(map[string]admin.Reader)
	for i, t := range g.topics {
		list := g.cfg.Topics[i].Queue.List
		if list == nil {
			continue
		}
		if _, taken := lists[t.name]; !taken { // a key goes before another list's name
			lists[t.name] = t.watch
		}
		lists[list.Key] = t.watch
	}
	return lists
}

// tellLeft says of the lists that next consumes no longer: what waits in keys of the sidecar's own no old worker finds.
func (g *generation) tellLeft(ctx context.Context, next *generation) {
	for i, t := range g.topics {
		old := g.cfg.Topics[i]
		goesOn := func(have config.Topic) bool { return sameKeys(old, have) }
		if old.Queue.List == nil || slices.ContainsFunc(next.cfg.Topics, goesOn) && sameRedis(g.cfg.Redis, next.cfg.Redis) {
			continue
		}
		g.log.WarnContext(ctx, "list is not consumed any more: what it has in hand finishes; then `sidecar handback` with the old configuration puts what waits in the sidecar's own keys back into the list",
			"list", t.name, "key", old.Queue.List.Key)
	}
}
