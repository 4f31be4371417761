package admin

import (
	"context"
	"net/http"

	"sidecar/internal/dash"
)

// orderAct reads which jobs an act is for.
func orderAct(r *http.Request, key string) (dash.Act, error) {
	var act dash.Act
	if err := order(r, &act); err != nil {
		return act, err
	}
	topic := r.PathValue("topic")
	if act.Topic != "" && act.Topic != topic {
		return act, refuse(http.StatusBadRequest, "topic = %q: want that of the path, %q, or none", act.Topic, topic)
	}
	if act.Key == "" {
		act.Key = key
	}
	if act.Key != key {
		return act, refuse(http.StatusBadRequest, "key = %q: want %q", act.Key, key)
	}
	if act.Limit < 0 {
		return act, refuse(http.StatusBadRequest, "limit = %d: want one or more, or none", act.Limit)
	}
	act.Topic = topic
	return act, nil
}

// act does something with the jobs of one key. Without refs and filter it is for all of them: that has to be said.
func act(r *http.Request, key string, do func(context.Context, dash.Act) (dash.Result, error)) (any, error) {
	a, err := orderAct(r, key)
	if err != nil {
		return nil, err
	}
	if len(a.Refs) == 0 && a.Filter.IsZero() && a.Limit == 0 {
		return nil, refuse(http.StatusBadRequest, "want refs, a filter, or a limit: it would be for all jobs of %s", key)
	}
	return do(r.Context(), a)
}

func (a *api) selection(r *http.Request) (any, error) {
	act, err := orderAct(r, dash.KeyDead)
	if err != nil {
		return nil, err
	}
	return a.source.Select(r.Context(), act)
}

func (a *api) replay(r *http.Request) (any, error)  { return act(r, dash.KeyDead, a.source.Replay) }
func (a *api) drop(r *http.Request) (any, error)    { return act(r, dash.KeyDead, a.source.Drop) }
func (a *api) requeue(r *http.Request) (any, error) { return act(r, dash.KeyPool, a.source.Requeue) }

func (a *api) pause(r *http.Request) (any, error) {
	var p dash.PauseOrder
	if err := order(r, &p); err != nil {
		return nil, err
	}
	if p.For < 0 || p.For > 0 && p.For < 1 || p.For.Duration() > dash.LongestPause || p.For > dash.Seconds(dash.LongestPause.Seconds()) {
		return nil, refuse(http.StatusBadRequest, "for_seconds = %g: want 0 for until it is resumed, or 1 up to a year", float64(p.For))
	}
	p.Topic = r.PathValue("topic")
	return struct{}{}, a.source.Pause(r.Context(), p)
}

func (a *api) resume(r *http.Request) (any, error) {
	ended, err := a.source.Resume(r.Context(), r.PathValue("topic"))
	return map[string]bool{"ended": ended}, err
}

func (a *api) undo(r *http.Request) (any, error) {
	var o struct {
		Undo string `json:"undo"`
	}
	if err := order(r, &o); err != nil {
		return nil, err
	}
	if o.Undo == "" {
		return nil, refuse(http.StatusBadRequest, `want {"undo": "…"} with what a replay or a drop has answered`)
	}
	return a.source.Undo(r.Context(), o.Undo)
}
