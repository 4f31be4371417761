package fastcgi

import (
	"errors"
	"time"
)

// pageStands is for how long a status page tells how the pool stands: whoever looks at the metrics or takes the pulse has it read
// more often, while the gate is open.
const pageStands = 30 * time.Second

// Reading is how a pool stands at one moment.
type Reading struct {
	Slots    int // that jobs may occupy now
	Children int // and may at most
	Used     int
	Down     error // why no job may start, or none is taken; nil: all is well

	// Silent is for how long jobs have waited and no child has taken one; 0 while one does.
	Silent time.Duration

	Page                         bool // the pool's status page answers; what follows is its word
	Active, Idle, Queue, Reached int
}

// Reading returns how the pool stands, without asking PHP-FPM.
func (p *Pool) Reading() Reading {
	r := Reading{Down: p.Health()}
	if errors.Is(r.Down, ErrNotSeen) { // no fault; the first look takes pingPatience at most, and only those at a topic's files checkPatience
		r.Down = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Slots, r.Children, r.Used = p.limit, p.children, p.used
	if p.gate.reason == nil && p.silence() != nil {
		r.Silent = p.waited()
	}
	if p.gate.reason == nil && !p.pageAt.IsZero() && time.Since(p.pageAt) < pageStands {
		r.Page, r.Active, r.Idle, r.Queue, r.Reached = true, p.page.Active, p.page.Idle, p.page.Queue, p.page.Reached
	}
	return r
}
