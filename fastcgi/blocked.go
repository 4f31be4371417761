package fastcgi

import (
	"errors"
	"time"
)

// Why a topic may get no slot although nothing is shut.
var (
	errPoolBusy    = errors.New("all slots of the pool are in use")
	errTopicBusy   = errors.New("all workers of the topic are in use")
	errWorkersBusy = errors.New("the resident workers have as much as they may have")
)

// Blocked returns why Acquire would have to wait at present, nil if it would not.
func (t *Topic) Blocked() error {
	if err := t.ShutReason(); err != nil {
		return err
	}
	if t.crew != nil {
		return t.crew.blocked()
	}
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.used >= t.opts.Workers:
		return errTopicBusy
	case p.used >= p.limit:
		return errPoolBusy
	}
	return nil
}

// blocked returns why there are no permits, nil if there are some.
func (c *crew) blocked() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.permits(time.Now()) <= c.taken {
		return errWorkersBusy
	}
	return nil
}
