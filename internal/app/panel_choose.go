package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidecar/internal/dash"
	"sidecar/queue"
)

const (
	// actMost is how many jobs one request moves at most: it ends within the time that an answer may take.
	actMost = 500

	// choosePatience bounds the search for the jobs that are meant: 500 may lie in as many places.
	choosePatience = 3 * time.Second

	// sampleMost is how many jobs a question shows of those that it is about.
	sampleMost = 5
)

// Select implements dash.Source.
func (p *panel) Select(ctx context.Context, act dash.Act) (dash.Selection, error) {
	g, _, t, err := p.find(act.Topic)
	if err != nil {
		return dash.Selection{}, err
	}
	chosen, err := p.choose(ctx, g, t, act)
	if err != nil {
		return dash.Selection{}, trouble(err)
	}
	return dash.Selection{
		Count: int64(len(chosen.entries)), More: chosen.more, Gone: chosen.gone,
		Sample: p.rows(g, t, chosen.entries[:min(sampleMost, len(chosen.entries))]),
	}, nil
}

// choice is what an act is for.
type choice struct {
	entries []queue.Entry
	gone    int  // refs that are not there any more
	more    bool // there are, or may be, others
}

// choose finds the jobs of an act: by their refs, or the oldest dead ones that the filter leaves.
func (p *panel) choose(ctx context.Context, g *generation, t *topic, act dash.Act) (choice, error) {
	ctx, cancel := context.WithTimeout(ctx, choosePatience) // of which each step takes no longer than a page
	defer cancel()
	limit := actMost
	if act.Limit > 0 {
		limit = min(limit, act.Limit)
	}
	if len(act.Refs) == 0 {
		return p.chooseBy(ctx, g, t, act, limit)
	}
	var c choice
	for i, ref := range act.Refs {
		if i == limit {
			c.more = true
			break
		}
		e, err := entryOf(ctx, t, ref)
		switch {
		case errors.Is(err, queue.ErrNotThere):
			c.gone++
		case err != nil:
			return c, err
		case string(e.Place) != act.Key:
			return c, fmt.Errorf("%w: ref of a job in %s, want one in %s", dash.ErrNotFound, e.Place, act.Key)
		default:
			c.entries = append(c.entries, e)
		}
	}
	return c, nil
}

// entryOf looks for one job, for no longer than a page waits.
func entryOf(ctx context.Context, t *topic, ref string) (queue.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	return t.watch.Entry(ctx, ref)
}

func (p *panel) chooseBy(ctx context.Context, g *generation, t *topic, act dash.Act, limit int) (choice, error) {
	query := queryOf(act.Filter, queue.Place(act.Key))
	query.Oldest = true // what is taken from the middle is replaced by the oldest (docs/decisions/0021)
	search, err := t.watch.NewSearch(query, g.cfg.Timezone)
	if err != nil {
		return choice{}, err
	}
	var c choice
	cursor := ""
	for began := time.Now(); ; {
		found, err := nextStep(ctx, search, cursor)
		if err != nil {
			return c, err
		}
		c.entries, cursor = append(c.entries, p.seen(act.Filter, found.Entries)...), found.Cursor
		if len(c.entries) > limit {
			c.entries, c.more = c.entries[:limit], true
			return c, nil
		}
		if cursor == "" || time.Since(began) > pagePatience/2 {
			c.more = cursor != ""
			return c, nil
		}
	}
}

// nextStep takes a step of a search, for no longer than a page waits.
func nextStep(ctx context.Context, search *queue.Search, cursor string) (queue.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	return search.Next(ctx, cursor)
}
