package cli

import (
	"context"
	"errors"
	"fmt"

	"sidecar/internal/plural"
	"sidecar/internal/undo"
	"sidecar/queue"
)

// finish ends the mover whose run came to err, sums up, and returns the exit code.
func (m *mover) finish(ctx context.Context, err error) int {
	stopped := errors.Is(err, errStopped)
	if stopped {
		err = nil
	}
	if errors.Is(err, undo.ErrNotKept) {
		err = fmt.Errorf("%w; --undo-dir names another directory", err)
	}
	err = errors.Join(err, m.close(ctx))
	m.left.print(m.env.Stderr)
	fmt.Fprintf(m.env.Stdout, "%s %s\n", past(m.verb), plural.Of(m.moved, "job", "jobs"))
	if err != nil {
		report(m.env, exitFailed, err)
	}
	if stopped || err != nil {
		return fail(m.env, "not finished, %d of %s; run it again, it goes on where this left off", m.moved, plural.Of(m.total, "job", "jobs"))
	}
	gone := m.gone()
	if gone > 0 {
		how := "taken by somebody else"
		if m.verb == queue.VerbRequeue {
			how = "due, or taken," // which of them the pool does not tell
		}
		fmt.Fprintf(m.env.Stderr, "%s %s meanwhile\n", plural.Of(gone, "job was", "jobs were"), how)
	}
	if len(m.uuids) > 0 && m.moved+gone == 0 {
		return fail(m.env, "none of these is among the dead jobs of %s that can be moved; sidecar find looks everywhere", m.topic.Name)
	}
	return exitOK
}

// gone is how many jobs were taken by somebody else between their count and their move, or had come due by then, which is no fault: whoever did it wanted the same.
func (m *mover) gone() int {
	return max(0, m.total-m.moved-len(m.left[twin])-len(m.left[again])-len(m.left[waitsAgain]))
}

// close ends the undo file.
func (m *mover) close(ctx context.Context) error {
	told := m.act.Untold() == nil
	err := m.act.Close(ctx)
	if told {
		warnUntold(m.env, m.act.Untold())
	}
	return err
}

// past is the verb as it is said of what was done.
func past(verb string) string {
	switch verb {
	case queue.VerbDrop:
		return "dropped"
	case queue.VerbRequeue:
		return "requeued"
	}
	return "replayed"
}
