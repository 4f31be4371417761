package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sidecar/internal/dash"
	"sidecar/queue"
)

const (
	// causesOf is of how many dead jobs, the newest, a page counts the causes, and causesShown how many of these it shows.
	causesOf    = 2000
	causesShown = 8

	// causesKept is for how long a count is shown: many look at the same time, and again and again.
	causesKept = 10 * time.Second
)

// causeCounts are the last counts of topics' causes.
type causeCounts struct {
	mu   sync.Mutex
	last map[string]causeCount // guarded by mu: by topic
}

type causeCount struct {
	at     time.Time
	causes dash.Causes
}

// causes counts what the newest dead jobs of a topic died of, for as long as a page waits gladly. Where that cannot be told it is empty.
func (p *panel) causes(ctx context.Context, g *generation, t *topic) dash.Causes {
	c := p.counts
	if last, known := c.of(t.name); known && time.Since(last.at) < causesKept {
		return last.causes
	}
	causes, err := p.countCauses(ctx, g, t)
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // who asked has gone, which says nothing of Redis
		return dash.Causes{}
	case err != nil:
		causes = dash.Causes{} // nor is it asked for again at once
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[t.name] = causeCount{time.Now(), causes}
	return causes
}

// of returns the last count of a topic. Nobody waits for one that is under way: it waits for Redis.
func (c *causeCounts) of(topic string) (last causeCount, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known = c.last[topic]
	return last, known
}

func (p *panel) countCauses(ctx context.Context, g *generation, t *topic) (dash.Causes, error) {
	search, err := t.watch.NewSearch(queue.Query{Places: []queue.Place{queue.InDead}}, g.cfg.Timezone)
	if err != nil {
		return dash.Causes{}, err
	}
	var causes dash.Causes
	at := make(map[string]int) // in the list, by error
	began := time.Now()
	for found, err := range search.All(ctx) {
		if err != nil {
			return dash.Causes{}, err
		}
		for _, row := range p.rows(g, t, found.Entries) {
			class := queue.ErrorClass(row.Error)
			i, known := at[class]
			if !known {
				i, at[class] = len(causes.List), len(causes.List)
				causes.List = append(causes.List, dash.Cause{Error: class, First: row.Died, Last: row.Died})
			}
			causes.List[i].Count++
			if !row.Died.IsZero() { // the newest come first
				causes.List[i].First = row.Died
			}
		}
		causes.Of += int64(len(found.Entries))
		causes.More = found.Cursor != ""
		if causes.Of >= causesOf || time.Since(began) > stepPatience {
			break
		}
	}
	slices.SortStableFunc(causes.List, func(a, b dash.Cause) int { return cmp.Compare(b.Count, a.Count) })
	causes.List = causes.List[:min(causesShown, len(causes.List))]
	return causes, nil
}
