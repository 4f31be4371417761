package app

import (
	"cmp"
	"context"
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

// causeCounts are the last counts of topics' causes, and those under way: who asks meanwhile waits for that one, so that
// one at a time goes through dead.
type causeCounts struct {
	mu   sync.Mutex
	last map[string]*causeCount // guarded by mu: by topic
}

type causeCount struct {
	done   chan struct{} // closed when the two below are there
	at     time.Time
	causes dash.Causes // empty where they cannot be told
}

// causes counts what the newest dead jobs of a topic died of, for as long as a page waits gladly. Where that cannot be told it is empty.
func (p *panel) causes(ctx context.Context, g *generation, t *topic) dash.Causes {
	return p.counts.get(ctx, t.name, func(ctx context.Context) (dash.Causes, error) { return p.countCauses(ctx, g, t) })
}

// get returns a count that is young enough, or under way, or else what do counts. Who waits for another's count waits until ctx ends; it is
// empty then.
func (c *causeCounts) get(ctx context.Context, topic string, do func(context.Context) (dash.Causes, error)) dash.Causes {
	count, mine := c.of(topic)
	if mine {
		c.finish(ctx, count, do)
		return count.causes
	}
	select {
	case <-count.done:
		return count.causes
	case <-ctx.Done():
		return dash.Causes{}
	}
}

// of returns the count of a topic that is to be shown. mine is true where that has still to be made, by whoever asks.
func (c *causeCounts) of(topic string) (count *causeCount, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.last[topic]; last != nil && !last.isOld() {
		return last, false
	}
	count = &causeCount{done: make(chan struct{})}
	c.last[topic] = count
	return count, true
}

func (c *causeCount) isOld() bool {
	select {
	case <-c.done:
		return time.Since(c.at) >= causesKept
	default:
		return false // under way
	}
}

// finish makes a count. It does so also when who asked has gone: others may wait for it. What fails is not asked for again at once.
func (c *causeCounts) finish(ctx context.Context, count *causeCount, do func(context.Context) (dash.Causes, error)) {
	defer close(count.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pagePatience)
	defer cancel()
	if causes, err := do(ctx); err == nil {
		count.causes = causes
	}
	count.at = time.Now()
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
