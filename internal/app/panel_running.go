package app

import (
	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/dash"
	"sidecar/queue"
)

// runs are the jobs of a topic that this process has running, by the plain form of their uuid. Generations that a reload has
// replaced finish theirs.
func (p *panel) runs(topic string) map[string]fastcgi.Running {
	p.mu.Lock()
	live := p.live
	p.mu.Unlock()
	found := make(map[string]fastcgi.Running)
	for _, g := range live {
		for _, t := range g.topics {
			if t.name != topic {
				continue
			}
			for _, run := range t.fpm.Runs() {
				found[run.UUID] = run
			}
		}
	}
	return found
}

// addRun adds to a row of running what its run says, if this process has it, or another one that lives has told of it. Of others only the
// lease is known.
func (p *panel) addRun(row *dash.JobRow, e queue.Entry, runs map[string]fastcgi.Running) {
	uuid := compat.PlainUUID(e.UUID)
	run, ours := runs[uuid]
	if uuid == "" || e.Place != queue.InRunning {
		return
	}
	if !ours {
		p.addOthersRun(row, uuid)
		return
	}
	row.Holder, row.PID = p.instance, run.PID
	row.Started = p.now(p.depths.latest()).Add(-run.For)
}

func (p *panel) addOthersRun(row *dash.JobRow, uuid string) {
	alive, now := p.pulse.Alive()
	for _, b := range alive {
		if b.Instance == p.instance || !b.Lives(now) {
			continue
		}
		if run, since, found := b.RunOf(row.Topic, uuid); found {
			row.Holder, row.PID, row.Started = b.Instance, run.PID, since
			return
		}
	}
}

// addStranger says of a job that no sidecar is known to run whether somebody else does, or nobody.
func (p *panel) addStranger(row *dash.JobRow, e queue.Entry, o queue.Options) {
	if row.Holder != "" {
		return
	}
	alive, _ := p.pulse.Alive()
	now := p.now(p.depths.latest())
	row.Old = o.List == nil && queue.IsOldClaim(e.Score) && queue.KnownByLeases(alive, row.Topic, now)
	row.Unrenewed = queue.LeasesOf(alive, row.Topic, o.Lease, now).Unrenewed(e, queue.ServerTime(now.UnixMicro())) //nolint:forbidigo // Redis's own time
}

// optionsOf returns the options of a topic of that name.
func (g *generation) optionsOf(name string) (o queue.Options) {
	for _, t := range g.cfg.Topics {
		if t.Name == name {
			return t.Queue
		}
	}
	return o
}
