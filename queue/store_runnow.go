package queue

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrRunning reports that a job runs, or will be run again when its lease ends.
	ErrRunning = errors.New("the job is running")

	// ErrDead reports that a job is dead: to run it is to replay it.
	ErrDead = errors.New("the job is dead: replay it")
)

// RunNow has a job of pool run as soon as a worker is free, whatever time it waits for. changed is false where nothing is to do: it is
// due already, or in ready. A job that runs is an ErrRunning, a dead one an ErrDead, and one that has left the pool an ErrNotThere.
func (s *Store) RunNow(ctx context.Context, e Entry) (changed bool, err error) {
	switch e.Place {
	case InReady:
		return false, nil
	case InDead:
		return false, fmt.Errorf("run now in %s: %w", s.opts.Topic, ErrDead)
	case InRunning:
		return false, fmt.Errorf("run now in %s: %w: should its worker have died, it comes back when its lease ends", s.opts.Topic, ErrRunning)
	case InPool:
	}
	reply, err := s.call(ctx, "run now in", runNowScript, []string{s.keys.pool}, e.Stored, s.unit)
	if err != nil {
		return false, err
	}
	if reply == int64(0) {
		return false, fmt.Errorf("run now in %s: %w", s.opts.Topic, ErrNotThere)
	}
	return reply == int64(1), nil
}
