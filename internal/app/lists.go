package app

import "sidecar/internal/admin"

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
