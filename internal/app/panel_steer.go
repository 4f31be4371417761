package app

import (
	"context"
	"strings"

	"sidecar/internal/dash"
	"sidecar/queue"
)

// Pause implements dash.Source.
func (p *panel) Pause(ctx context.Context, o dash.PauseOrder) error {
	g, _, err := p.writable(ctx, o.Topic)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pagePatience)
	defer cancel()
	pause, err := queue.NewPauses(g.eyes, g.cfg.Redis.KeyPrefix).Set(ctx, o.Topic, o.For.Duration(), dash.Viewing(ctx).Name, o.Reason)
	if err != nil {
		return trouble(err)
	}
	line := queue.Audited{Verb: dash.VerbPause, Topic: o.Topic, Note: pause.Reason}
	if o.For > 0 {
		line.Note = strings.TrimSpace("for " + o.For.Duration().String() + " " + pause.Reason)
	}
	p.note(ctx, g, line)
	p.depths.count(ctx, g, p.others()) // the page that follows is to show it
	return nil
}

// Resume implements dash.Source. It ends the pause for all sidecars, and this one's own breaker. Where there was neither, there is
// nothing to audit.
func (p *panel) Resume(ctx context.Context, name string) (ended bool, err error) {
	g, t, err := p.writable(ctx, name)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pagePatience)
	defer cancel()
	_, paused, err := queue.NewPauses(g.eyes, g.cfg.Redis.KeyPrefix).Clear(ctx, name)
	if err != nil {
		return false, trouble(err)
	}
	broken := t.consumer.EndBreak(ctx)
	if paused || broken {
		p.note(ctx, g, queue.Audited{Verb: dash.VerbResume, Topic: name})
	}
	p.depths.count(ctx, g, p.others())
	return paused || broken, nil
}
