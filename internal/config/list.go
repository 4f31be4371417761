package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidecar/fastcgi"
	"sidecar/queue"
)

// buildLists reads [list]. A list is a topic of another profile: it joins the topics, under names that differ.
func (b *builder) buildLists(section *table) {
	common := DefaultList()
	b.defaults.decode(defaultsFields(&common))
	// What [defaults] says of these is for topics (see delayFields).
	plain := queue.DefaultOptions()
	common.Queue.ReadyMax, common.Queue.ScoreUnit = plain.ReadyMax, plain.ScoreUnit

	var lists []listTable
	for _, name := range slices.Sorted(maps.Keys(section.keys)) {
		t := b.table(fmt.Sprintf("list %q", name), "a table [list.<name>]", section.keys[name])
		if t.keys != nil {
			lists = append(lists, listTable{b.buildList(name, common, t), t})
		}
	}
	b.checkLists(lists)
	shareDead(lists)
	for _, l := range lists {
		b.cfg.Topics = append(b.cfg.Topics, l.Topic)
	}
	slices.SortStableFunc(b.cfg.Topics, func(x, y Topic) int { return cmp.Compare(x.Name, y.Name) })
}

// listTable is a list and the table that it was read from.
type listTable struct {
	Topic
	*table
}

// shareDead tells each list which dead letters without a reason are its own, where several share a dead letter list.
func shareDead(lists []listTable) {
	for _, l := range lists {
		l.Queue.List.Default = l.FPM.Call != "" || l.FPM.Script != ""
		l.Queue.List.Types = typesOf(l.Topic)
	}
	for _, l := range lists {
		var foreign []string
		for _, other := range lists {
			if other.Name != l.Name && other.Queue.List.Dead == l.Queue.List.Dead {
				foreign = append(foreign, other.Queue.List.Types...)
			}
		}
		slices.Sort(foreign)
		l.Queue.List.Foreign = slices.Compact(foreign)
	}
}

// typesOf returns the types of job that are a list's for certain: those that it has routes for, and the one after which
// its key is called (CONTRACT 2), if other jobs than those with routes run at all.
func typesOf(list Topic) []string {
	types := slices.Collect(maps.Keys(list.FPM.Routes))
	if list.Queue.List.Default {
		key := list.Queue.List.Key
		types = append(types, key[strings.LastIndexByte(key, ':')+1:])
	}
	slices.Sort(types)
	return slices.Compact(types)
}

func (b *builder) buildList(name string, list Topic, t *table) Topic {
	own := *list.Queue.List // a copy of what all lists have in common
	list.Queue.List = &own
	b.read(name, &list, t, listFields(&list))
	list.FPM.Routes = b.buildRoutes(name, t)
	return b.finish(list, t)
}

// buildRoutes reads [list.<name>.route]; nil when there is none.
func (b *builder) buildRoutes(list string, t *table) map[string]fastcgi.Target {
	p, ok := t.keys["route"]
	if !ok {
		return nil
	}
	routes := map[string]fastcgi.Target{}
	t.inner = map[string]*table{}
	section := b.table(fmt.Sprintf("list %q: route", list), "tables [list.<name>.route.<type>]", p)
	t.bad["script"] = t.bad["script"] || section.keys == nil // the routes may have done without
	for _, jobType := range slices.Sorted(maps.Keys(section.keys)) {
		r := b.table(fmt.Sprintf("list %q: route %q", list, jobType), "a table [list.<name>.route.<type>]", section.keys[jobType])
		var target fastcgi.Target
		r.decode(routeFields(&target))
		r.bad["script"] = r.bad["script"] || r.bad["call"] || r.keys == nil
		t.inner[fmt.Sprintf("route %q: ", jobType)] = r
		routes[jobType] = target
	}
	return routes
}
