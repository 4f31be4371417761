package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sidecar/internal/alert"
	"sidecar/internal/dash"
	"sidecar/internal/mask"
	"sidecar/internal/pulse"
	"sidecar/queue"
)

// panel is what the dashboard and the API show: a dash.Source over the sidecar and its Redis.
type panel struct {
	*app
	mask     *mask.Masker
	wholeIDs bool // ids are shown whole, also those that are phone numbers
	undoDir  string
	counts   *causeCounts
}

var _ dash.Source = (*panel)(nil)

func (a *app) newPanel() *panel {
	o := a.opts.Config.Admin
	return &panel{app: a, mask: mask.New(o.Mask), wholeIDs: o.ShowPayload, undoDir: o.UndoDir, counts: &causeCounts{last: make(map[string]*causeCount)}}
}

// id is a job's uuid or type as it is shown.
func (p *panel) id(text string) string {
	if p.wholeIDs {
		return text
	}
	return mask.ID(text)
}

const (
	// firstLook is how long the very first page waits for the first count.
	firstLook = 100 * time.Millisecond

	// lateAfter is from when on a due job is shown as late where no alarm says it: no topic of a healthy sidecar keeps one for so long.
	lateAfter = time.Minute
)

// Overview implements dash.Source. It asks Redis for nothing: all of it is known.
func (p *panel) Overview(ctx context.Context) (dash.Overview, error) {
	round := p.round(ctx)
	p.mu.Lock()
	g, stopping := p.current, p.stopping
	p.mu.Unlock()
	history := p.pulse.History()
	o := dash.Overview{
		Now: p.now(round), Version: p.opts.Version, Instance: p.instance, Starting: g == nil, Stopping: stopping,
		Minutes: slices.Concat([]dash.Minute{}, history.All), Alarms: p.alarms(g, p.now(round)),
		Topics: []dash.Topic{}, Pools: []dash.Pool{},
	}
	o.Sidecars = p.sidecars(ctx, o.Now)
	if g == nil {
		return o, nil
	}
	o.Redis = redisOf(round)
	o.Redis.Refuses = p.pulse.Full()
	o.Incidents, o.Differ = p.incidents(g, o.Now), p.differ(g, o.Now)
	for i, t := range g.topics {
		o.Topics = append(o.Topics, p.topicOf(g, i, t, round, history))
	}
	o.Pools = append(p.ownPools(g), p.othersPools(o.Now)...)
	return o, nil
}

// alarms are those that fire, by this sidecar's look or another's.
func (p *panel) alarms(g *generation, now time.Time) []dash.Alarm {
	list := []dash.Alarm{}
	for _, a := range p.alerts.State() {
		if !a.Over.IsZero() {
			continue
		}
		d := dash.Alarm{Rule: a.Rule, Topic: a.Subject, Since: a.Since, Muted: p.alerts.Silenced(a.Rule, a.Subject, now), Readings: []dash.Reading{}}
		if g != nil && g.cfg.Alert.OfPool(a) {
			d.Topic, d.Pool = "", a.Subject
		}
		masked := slices.Clone(a.Readings)
		for i, r := range masked {
			masked[i].Why = p.mask.Text(r.Why)
			d.Readings = append(d.Readings, dash.Reading(masked[i]))
		}
		d.Text = alert.Plain(masked)
		list = append(list, d)
	}
	return list
}

// round returns the last count of the topics' keys. Only when there is none yet does it wait a moment for it.
func (p *panel) round(ctx context.Context) depthsRound {
	round := p.depths.watch()
	end := time.After(firstLook)
	for round.at.IsZero() {
		select {
		case <-ctx.Done():
			return round
		case <-end:
			return round
		case <-time.After(10 * time.Millisecond):
		}
		round = p.depths.latest()
	}
	return round
}

// now is Redis's time at the moment of a count, or this host's while Redis has never told it.
func (p *panel) now(round depthsRound) time.Time {
	if _, now := p.pulse.Alive(); round.now == 0 && !now.IsZero() {
		return now
	}
	if round.now == 0 {
		return time.Now()
	}
	return round.now.In(time.UTC)
}

func (p *panel) topicOf(g *generation, i int, t *topic, round depthsRound, history pulse.History) dash.Topic {
	cfg := g.cfg.Topics[i]
	r, known := round.topics[t.name]
	h := history.Topics[t.name]
	d := dash.Topic{
		Name: t.name, Profile: cfg.Profile(), Depths: depthsOf(r.Depths), OldestDue: dash.Seconds(r.Depths.OldestDueAge.Seconds()),
		LateAfter: lateOf(g.cfg.Alert, t.name), Pool: cfg.Pool, Mode: string(cfg.FPM.Mode), Workers: cfg.Queue.Workers, Sidecars: p.consuming(t, p.now(round)),
		State: p.stateOf(t, cfg.Queue, round), Recent: h.Recent, Minutes: h.Minutes,
	}
	switch {
	case r.Err != nil:
		d.Error = r.Err.Error()
	case !known:
		d.Error = "not counted yet"
	}
	if d.Minutes == nil {
		d.Minutes = []dash.Minute{}
	}
	if d.Recent.Outcomes == nil {
		d.Recent.Outcomes = dash.Outcomes{}
	}
	return d
}

// lateOf is from when on a due job of a topic is late: what the alarms say that ask for nothing else, else what is usual.
func lateOf(o alert.Options, topic string) dash.Seconds {
	late := dash.Seconds(0)
	for _, r := range o.Rules {
		watched := len(r.Topics) == 0 || slices.Contains(r.Topics, topic)
		if above := dash.Seconds(r.OldestDue.Above); r.OnlyOldestDue() && watched && (late == 0 || above < late) {
			late = above
		}
	}
	if len(o.Targets) == 0 || late == 0 {
		return dash.Seconds(lateAfter.Seconds())
	}
	return late
}

func depthsOf(d queue.Depths) dash.Depths {
	return dash.Depths{Pool: d.Pool, Due: d.Due, Ready: d.Ready, Running: d.Running, Dead: d.Dead}
}

// find returns the topic of that name, and its place in the configuration.
func (p *panel) find(name string) (*generation, int, *topic, error) {
	g := p.generation()
	if g == nil {
		return nil, 0, nil, fmt.Errorf("%w: the sidecar is starting", dash.ErrRedis)
	}
	for i, t := range g.topics {
		if t.name == name {
			return g, i, t, nil
		}
	}
	return nil, 0, nil, fmt.Errorf("topic %q: %w", name, dash.ErrNotFound)
}
