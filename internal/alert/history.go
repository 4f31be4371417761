package alert

import "time"

const (
	hour      = time.Hour
	runsSpan  = 10 * time.Minute
	runsLeast = 20 // of so few the share says nothing

	// stride is how far apart the points of a window are: an hour has 60 of them.
	stride = time.Minute
)

// history is what this process remembers of a topic to tell how it changes.
type history struct {
	began  time.Time
	points []point // oldest first, a stride apart; the last is the latest look
	dead   int64   // at the last look that could read it
	known  bool    // there was one
	grown  float64 // jobs that came to dead, as far as that is seen by its growth, since began
}

// point is what had been counted at a moment.
type point struct {
	at                  time.Time
	grown, runs, failed float64
}

// add notes a look at the topic and returns it with what the windows have.
func (h *history) add(at time.Time, t Topic) Topic {
	if h.began.IsZero() {
		h.began = at
	}
	if t.Known {
		if grown := t.Dead - h.dead; h.known && grown > 0 { // less: somebody replayed or dropped some
			h.grown += float64(grown)
		}
		h.dead, h.known = t.Dead, true
	}
	h.put(point{at, h.grown, t.Runs, t.Failed})
	last := h.points[len(h.points)-1]

	t.grown = window{last.grown - h.before(at.Add(-hour)).grown, at.Sub(h.began) >= hour}
	first := h.before(at.Add(-runsSpan))
	if runs := last.runs - first.runs; runs >= runsLeast {
		t.shared = window{(last.failed - first.failed) / runs, true}
	} else {
		t.shared = window{0, at.Sub(h.began) >= runsSpan}
	}
	return t
}

// put adds a point, or replaces the last one where that is not yet a stride from the one before it.
func (h *history) put(p point) {
	if n := len(h.points); n > 1 && h.points[n-1].at.Sub(h.points[n-2].at) < stride {
		h.points[n-1] = p
		return
	}
	h.points = append(h.points, p)
	for len(h.points) > 1 && p.at.Sub(h.points[1].at) >= hour {
		h.points = h.points[1:]
	}
}

// before returns the last point that is not later than at, else the first one.
func (h *history) before(at time.Time) point {
	found := h.points[0]
	for _, p := range h.points {
		if p.at.After(at) {
			break
		}
		found = p
	}
	return found
}
