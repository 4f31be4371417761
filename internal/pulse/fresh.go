package pulse

import "sidecar/queue"

// fresh are the jobs that have died here in the minute under way: a minute is not published before it is over, and whoever
// looks right after a release is to see them. It is nil where none has, and while Redis has not told which minute that is.
func (p *Pulse) fresh() *queue.FreshDead {
	died := make(map[string]int64)
	for topic, m := range p.current {
		if m.Dead > 0 {
			died[topic] = m.Dead
		}
	}
	if len(died) == 0 || p.minute == 0 {
		return nil
	}
	return &queue.FreshDead{Minute: p.minute, Dead: died}
}

// addFresh adds what has died in minutes that are not published yet: here, and on the others by their heartbeats.
func (p *Pulse) addFresh(h History, alive []queue.Heartbeat) {
	add := func(f *queue.FreshDead) {
		if f == nil || f.Minute < p.minute-1 { // the one before may be about to come
			return
		}
		for topic, n := range f.Dead {
			of := h.Topics[topic]
			of.Recent.DeadPerHour += n
			h.Topics[topic] = of
		}
	}
	add(p.fresh())
	for _, b := range alive {
		if b.Fresh == nil || b.Instance == p.own.Instance {
			continue
		}
		if _, published := p.hour[b.Instance][b.Fresh.Minute]; !published {
			add(b.Fresh)
		}
	}
}
