package dash

import "sidecar/internal/stage"

// Busy is that a topic's workers all have a job while others wait: nothing else keeps it.
type Busy struct {
	Workers int     // on all sidecars
	Run     Seconds // that half of the runs take at most; 0: not known
	Needs   Seconds // about, for what waits; 0: not known
}

// AllBusy returns that, or nil where there is a worker that is free, or something that keeps it from running.
func (t Topic) AllBusy() *Busy {
	workers := t.Workers * t.Sidecars
	s := t.State
	held := s.Paused != nil || s.Breaker != nil || len(s.Shut) > 0 || s.Looking || s.Stalled != "" || s.Throttled != ""
	if held || !stage.AllBusy(workers, t.Depths.Running, t.Depths.Waiting()) {
		return nil
	}
	run := t.Recent.P50
	return &Busy{Workers: workers, Run: run, Needs: run * Seconds(t.Depths.Waiting()) / Seconds(workers)}
}
