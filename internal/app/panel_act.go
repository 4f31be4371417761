package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sidecar/compat"
	"sidecar/internal/dash"
	"sidecar/internal/undo"
	"sidecar/queue"
)

// actPatience bounds a request that changes something, well below what an answer may take. Each of its steps waits for Redis no longer than a page.
const actPatience = 20 * time.Second

// Replay implements dash.Source.
func (p *panel) Replay(ctx context.Context, act dash.Act) (dash.Result, error) {
	return p.move(ctx, dash.VerbReplay, act)
}

// Drop implements dash.Source.
func (p *panel) Drop(ctx context.Context, act dash.Act) (dash.Result, error) {
	return p.move(ctx, dash.VerbDrop, act)
}

// Requeue implements dash.Source: jobs of the pool run as soon as a worker is free.
func (p *panel) Requeue(ctx context.Context, act dash.Act) (dash.Result, error) {
	// Once begun it goes on, also when whoever asked has gone: what is half done is audited as such.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actPatience)
	defer cancel()
	c, err := p.chosen(ctx, act)
	if err != nil {
		return dash.Result{}, err
	}
	res := c.result()
	var why error
	for _, e := range c.entries {
		changed, err := runNow(ctx, c.t, e)
		if changed {
			res.Count++
		}
		if errors.Is(err, queue.ErrNotThere) {
			res.Gone++
		} else if why = err; why != nil {
			break
		}
	}
	if res.Count > 0 || why == nil {
		p.note(ctx, c.g, queue.Audited{
			Verb: dash.VerbRequeue, Topic: act.Topic, Count: int(res.Count), Filter: filterText(act), UUID: c.uuid(),
		})
	}
	return res, halfway(res, why)
}

func runNow(ctx context.Context, t *topic, e queue.Entry) (changed bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	return t.watch.RunNow(ctx, e)
}

// chosen are the jobs that an act is for, of somebody who may act.
type chosen struct {
	choice
	g *generation
	t *topic
}

func (p *panel) chosen(ctx context.Context, act dash.Act) (c chosen, err error) {
	if c.g, c.t, err = p.writable(ctx, act.Topic); err != nil {
		return c, err
	}
	c.choice, err = p.choose(ctx, c.g, c.t, act)
	return c, trouble(err)
}

// writable finds a topic for somebody who may act on it.
func (p *panel) writable(ctx context.Context, name string) (g *generation, t *topic, err error) {
	if !dash.Viewing(ctx).MayWrite {
		return nil, nil, dash.ErrDenied
	}
	g, _, t, err = p.find(name)
	return g, t, err
}

// result is what an act has come to before it has begun.
func (c chosen) result() dash.Result { return dash.Result{Gone: c.gone, More: c.more} }

// uuid is that of the one job that is meant; "" where several are.
func (c chosen) uuid() string {
	if len(c.entries) == 1 {
		return compat.PlainUUID(c.entries[0].UUID)
	}
	return ""
}

// move replays or drops dead jobs. Before anything moves, all that it takes to undo it is in a file.
func (p *panel) move(ctx context.Context, verb string, asked dash.Act) (dash.Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actPatience) // see Requeue
	defer cancel()
	c, err := p.chosen(ctx, asked)
	if err != nil {
		return dash.Result{}, err
	}
	res := c.result()
	act := undo.NewAct(c.t.watch, c.g.audit(), undo.Order{
		Head: undo.Head{
			Verb: verb, Topic: c.t.name, KeyPrefix: c.g.cfg.Redis.KeyPrefix, Redis: new(queue.HomeOf(c.g.cfg.Redis, p.host)), At: p.now(p.depths.latest()), By: dash.Viewing(ctx).Name, Filter: filterText(asked),
		},
		UUID: c.uuid(), Replay: queue.ReplayOptions{KeepRetry: asked.KeepRetry}, Zone: c.g.cfg.Timezone, Patience: pagePatience,
	})
	moves, err := planAll(ctx, act, c.entries, &res)
	if err != nil || len(moves) == 0 {
		return res, trouble(err)
	}
	err = p.makeAll(ctx, act, moves, &res)
	if res.Count > 0 || res.File != "" {
		p.noted(ctx, queue.Audited{By: dash.Viewing(ctx).Name, Verb: verb, Topic: c.t.name, Count: int(res.Count), File: res.File}, act.Untold())
	}
	return res, halfway(res, err)
}

func planAll(ctx context.Context, act *undo.Act, entries []queue.Entry, res *dash.Result) (moves []queue.HandMove, err error) {
	for _, e := range entries {
		m, err := act.Plan(ctx, e)
		switch {
		case errors.Is(err, queue.ErrNoJob), errors.Is(err, compat.ErrNotRecord):
			res.Skipped++
		case err != nil:
			return nil, err
		default:
			moves = append(moves, m)
		}
	}
	return moves, nil
}

// makeAll makes the moves. What they have come to, also where they did not come to their end, is in res.
func (p *panel) makeAll(ctx context.Context, act *undo.Act, moves []queue.HandMove, res *dash.Result) error {
	if err := undo.MakePlace(p.undoDir); err != nil {
		return p.noUndo(fmt.Errorf("%w: %w", undo.ErrNotKept, err))
	}
	if err := act.Begin(ctx, p.undoDir, len(moves)); err != nil {
		return p.noUndo(err)
	}
	results, err := act.Make(ctx, moves)
	for _, r := range results {
		switch r {
		case queue.Taken, queue.TakenBefore:
			res.Count++
		case queue.NotThere:
			res.Gone++
		case queue.TwinWaits:
			res.Skipped++
		}
	}
	if closeErr := act.Close(ctx); closeErr != nil { // Redis knows what became of the moves, too: it can be undone all the same
		p.log.WarnContext(ctx, "undo file is not complete", "error", closeErr)
	}
	if res.File = act.Path(); res.File != "" {
		res.Undo = strings.TrimSuffix(filepath.Base(res.File), undoEnding)
	}
	return p.noUndo(err)
}

// noUndo says where the files were to go that could not be written.
func (p *panel) noUndo(err error) error {
	if errors.Is(err, undo.ErrNotKept) {
		return fmt.Errorf("admin.undo_dir = %q: %w", p.undoDir, err)
	}
	return err
}

// halfway says what an act has done that err has ended.
func halfway(res dash.Result, err error) error {
	if err == nil || res.Count == 0 && res.File == "" {
		return trouble(err)
	}
	return dash.HalfwayError{Done: res, Err: trouble(err)}
}
