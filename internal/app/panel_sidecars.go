package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/dash"
	"sidecar/queue"
)

func (p *panel) ownPools(g *generation) (pools []dash.Pool) {
	for _, name := range slices.Sorted(maps.Keys(g.pools)) {
		r := g.pools[name].Reading()
		d := dash.Pool{Name: name, Instance: p.instance, Listen: g.cfg.FPM[name].Listen, Slots: r.Slots, Most: r.Children, Used: r.Used}
		if d.Silent = dash.Seconds(r.Silent.Seconds()); r.Down != nil && r.Silent == 0 {
			d.Down, d.Full = r.Down.Error(), fastcgi.IsFull(r.Down.Error())
		}
		if r.Page {
			d.Status = &dash.Status{Active: r.Active, Idle: r.Idle, Queue: r.Queue, MaxReached: int64(r.Reached)}
		}
		pools = append(pools, d)
	}
	return pools
}

// othersPools are those that the other sidecars tell of.
func (p *panel) othersPools(now time.Time) (pools []dash.Pool) {
	alive, _ := p.pulse.Alive()
	for _, b := range queue.Living(alive, now) {
		if b.Instance == p.instance {
			continue
		}
		for _, one := range b.Pools {
			d := dash.Pool{Name: one.Name, Instance: b.Instance, Listen: one.Listen, Slots: one.Slots, Most: one.Children, Used: one.Used, Down: one.Down, Full: fastcgi.IsFull(one.Down)}
			if one.Queue > 0 {
				d.Status = &dash.Status{Queue: one.Queue}
			}
			pools = append(pools, d)
		}
	}
	return pools
}

// sidecars are those that live, and those that went without a goodbye, for a day.
func (p *panel) sidecars(ctx context.Context, now time.Time) []dash.Sidecar {
	list := []dash.Sidecar{}
	alive, _ := p.pulse.Alive()
	own := p.Heartbeat(ctx) // who answers is not gone, whether or not Redis takes its heartbeats
	own.At, own.Started = now, now.Add(-time.Since(p.began))
	at := slices.IndexFunc(alive, func(b queue.Heartbeat) bool { return b.Instance == p.instance })
	deaf := at < 0 || alive[at].Lost(now) // then nothing follows from others' silence, either
	if at >= 0 && !deaf {
		own.At = alive[at].At
	}
	for i, b := range alive {
		switch {
		case b.Stopped:
			continue
		case i == at:
			b = own
		case deaf && b.Lost(now):
			b.At = now
		}
		s := sidecarOf(b, now)
		s.Seen = alive[i].At
		list = append(list, s)
	}
	if at < 0 {
		list = append(list, sidecarOf(own, now))
	}
	return list
}

// incidents are what the sidecars have met within a day.
func (p *panel) incidents(g *generation, now time.Time) (list []dash.Incident) {
	alive, _ := p.pulse.Alive()
	for _, i := range queue.IncidentsOf(alive, now) {
		at := i.At.In(g.cfg.Timezone).Format(time.DateTime)
		text := at + ": " + p.mask.Text(i.Detail)
		switch i.Kind {
		case queue.IncidentLost:
			text = fmt.Sprintf("%s: %d / %d", at, i.Count, i.Of)
		case queue.IncidentUnit, queue.IncidentUnreadable:
		}
		list = append(list, dash.Incident{Kind: string(i.Kind), Topic: i.Topic, Text: text, Count: i.Count, At: i.At})
	}
	return list
}

// differ are the topics that sidecars run in different ways.
func (p *panel) differ(g *generation, now time.Time) (list []dash.Difference) {
	alive, _ := p.pulse.Alive()
	living := queue.Living(alive, now)
	for _, t := range g.topics {
		if d, found := config.DifferIn(t.name, living); found {
			list = append(list, dash.Difference{Topic: t.name, Text: d.One.Instance + ", " + d.Other.Instance + ": " + d.Options})
		}
	}
	return list
}

// faultsFirst puts what is only being looked at behind what is wrong, and says whether there is nothing else.
func faultsFirst(reasons []string) (sorted []string, looking bool) {
	faults := 0
	for _, r := range reasons {
		if fastcgi.IsNotSeen(r) {
			sorted = append(sorted, r)
			continue
		}
		sorted = slices.Insert(sorted, faults, r)
		faults++
	}
	return sorted, faults == 0
}

func sidecarOf(b queue.Heartbeat, now time.Time) dash.Sidecar {
	s := dash.Sidecar{
		Instance: b.Instance, Host: b.Host, PID: b.PID, Version: b.Version, Since: b.Started, Seen: b.At,
		State: dash.SidecarRunning, Reasons: b.Reasons, Topics: len(b.Topics), InHand: b.InHand, Memory: b.Memory, Reload: b.ReloadErr,
	}
	if b.Unread {
		s.State, s.Reasons = dash.SidecarUnread, []string{queue.UnreadNote}
	}
	switch {
	case b.Lost(now): // one that cannot be read may have said goodbye: the note stays
		s.State = dash.SidecarLost
	case b.Unread:
	case b.Stopping:
		s.State = dash.SidecarStopping
	case len(b.Reasons) > 0:
		s.State = dash.SidecarNotReady
		s.Reasons, s.Looking = faultsFirst(b.Reasons)
	}
	return s
}
