package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sidecar/internal/plural"
	"sidecar/queue"
)

const (
	// followLook is how often the outcome of replayed jobs is looked for.
	followLook = time.Second

	// followMarks is how many marks are asked for at once.
	followMarks = 100

	// followPage is how many dead jobs are read at once: the newest page is known, so that a look ends where the one before began.
	// followMost is how many one look reads of what died since.
	followPage = 500
	followMost = 100_000
)

// follower follows replayed jobs until they are done, as their marks say, or dead again. What is neither has no outcome: that a job is nowhere
// is no sign that it was done (docs/decisions/0022).
type follower struct {
	session
	env     Env
	pending map[string]bool // uuids
	unnamed int             // jobs without a uuid, which nobody can follow
	known   sums            // the newest records of dead at the last look
	done    int
	died    map[string]int // how often, by ErrorClass
}

// mayFollow says why the outcome of a topic's jobs cannot be known; "" where it can.
func (s session) mayFollow() string {
	if s.topic.Queue.Idempotency == queue.IdempotencyOn {
		return ""
	}
	return fmt.Sprintf(`--wait: %s has idempotency = %q: only with "on" a job that is done leaves a mark by which that is known`,
		s.topic.Name, s.topic.Queue.Idempotency)
}

// newFollower returns what follows the jobs that are moved from now on.
func newFollower(ctx context.Context, env Env, s session) (*follower, error) {
	f := &follower{session: s, env: env, pending: make(map[string]bool), known: make(sums), died: make(map[string]int)}
	page, err := s.store.Peek(ctx, queue.InDead, queue.Page{Limit: followPage})
	for _, e := range page.Entries {
		f.known.add(e.Stored)
	}
	return f, err
}

// add has a job followed that was moved. Its record is no known one any more: a list's job that dies again leaves the same.
func (f *follower) add(m queue.HandMove) {
	f.known.drop(string(m.Record))
	if m.UUID == "" {
		f.unnamed++
		return
	}
	f.pending[m.UUID] = true
}

// look takes the outcomes that are there now off what is pending.
func (f *follower) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	for uuids := range slices.Chunk(slices.Collect(maps.Keys(f.pending)), followMarks) {
		done, err := f.store.DoneBefore(ctx, uuids)
		if err != nil {
			return err
		}
		for i, uuid := range uuids {
			if done[i] {
				delete(f.pending, uuid)
				f.done++
			}
		}
	}
	return f.lookInDead(ctx)
}

// lookInDead reads dead from the newest on, as far as it has grown since the last look.
func (f *follower) lookInDead(ctx context.Context) error {
	var newest sums
	for at := int64(0); at < followMost; {
		page, err := f.store.Peek(ctx, queue.InDead, queue.Page{Offset: at, Limit: followPage})
		if err != nil {
			return err
		}
		if newest == nil {
			newest = make(sums)
			for _, e := range page.Entries {
				newest.add(e.Stored)
			}
		}
		for _, e := range page.Entries {
			if f.known.has(e.Stored) {
				at = followMost
				break
			}
			if f.pending[e.UUID] {
				delete(f.pending, e.UUID)
				f.died[queue.ErrorClass(deadJobOf(f.topic, e).Error)]++
			}
		}
		if page.Next == 0 {
			break
		}
		at = max(at, page.Next)
	}
	f.known = newest
	return nil
}

// await looks until every job has an outcome, or ctx ends, and returns the exit code.
func (f *follower) await(ctx context.Context, timeout time.Duration) int {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	p, began := newProgress(f.env), time.Now()
	defer p.done()
	for {
		err := f.look(ctx)
		switch fault := queue.FaultOf(err); {
		case ctx.Err() != nil:
			p.done()
			return f.finish(ctx)
		case fault == queue.NoPerm || fault == queue.WrongType:
			return report(f.env, exitFailed, fmt.Errorf("the replay is done, and what became of it cannot be seen: %w", err))
		case err != nil:
			f.tell(p, "cannot look: %v", err)
		case len(f.pending) == 0:
			p.done()
			return f.finish(ctx)
		default:
			f.tell(p, "%d done, %d dead again, %d without an outcome yet, for %s", f.done, f.dead(), len(f.pending), time.Since(began).Round(time.Second))
		}
		select {
		case <-ctx.Done():
		case <-time.After(followLook):
		}
	}
}

// tell says how things stand, on a terminal alone.
func (f *follower) tell(p *progress, format string, args ...any) {
	if f.env.errors != nil {
		p.tell(format, args...)
	}
}

func (f *follower) dead() (n int) {
	for _, times := range f.died {
		n += times
	}
	return n
}

// finish sums up and returns the exit code.
func (f *follower) finish(ctx context.Context) int {
	fmt.Fprintf(f.env.Stdout, "%d done, %d dead again, %d without an outcome yet\n", f.done, f.dead(), len(f.pending)+f.unnamed)
	classes := slices.SortedFunc(maps.Keys(f.died), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.died[b], f.died[a]), cmp.Compare(a, b))
	})
	for _, class := range classes {
		fmt.Fprintf(f.env.Stdout, "%s of %s\n", plural.Of(f.died[class], "died", "died"), cell(class))
	}
	if f.unnamed > 0 {
		fmt.Fprintf(f.env.Stderr, "%s no uuid, by which what became of it would be known\n", plural.Of(f.unnamed, "job has", "jobs have"))
	}
	switch {
	case len(f.pending) > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fail(f.env, "--timeout is over; the replay itself is done. These wait, run or wait for a retry: sidecar status")
	case len(f.pending) > 0:
		return fail(f.env, "waits no longer; the replay itself is done, and its jobs go on")
	case f.dead() > 0:
		return fail(f.env, "%s again: sidecar dead list %s --by error", plural.Of(f.dead(), "job is dead", "jobs are dead"), f.topic.Name)
	case f.unnamed > 0:
		return exitFailed // why is said above
	}
	return exitOK
}
