package cli

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/plural"
	"sidecar/queue"
)

type deadReplayFlags struct {
	filter
	limit     int
	rate      pace
	dryRun    bool
	keepRetry bool
	raw       bool
	undoDir   string
	wait      bool
	timeout   time.Duration
	short     bool // it is sidecar replay: say which jobs were moved, and make do with the rights of old
}

func deadReplayVerb() verb {
	return verb{
		name: "dead replay",
		usage: "TOPIC [--limit 10] " + filterUsage +
			" [--rate N/s] [--dry-run] [--keep-retry] [--raw] [--undo-dir DIR] [--wait] [--timeout 10m]",
		short: "run dead jobs again",
		long: `
Puts dead jobs, the oldest first, back into the pool, due now, or into their shard of a list: each in one atomic step, once, with retry back at 0
and, in a topic, replayed_at set. --keep-retry leaves the counters as they are. What cannot run stays where it is and is reported: a record that holds no job, and one
whose text is no JSON object (--raw puts back its bytes all the same).
Ten jobs, unless --limit says otherwise (0 = all that are meant): a replay of everything at once has brought systems down. --rate
keeps it slow. --dry-run shows which it would be and changes nothing.
Before a job is moved it is written to a new file in admin.undo_dir, this directory or --undo-dir, by which sidecar dead undo takes it back. It may
be interrupted or killed at any moment and begun again: no job is lost or doubled. One that dies again meanwhile is left to the next time.
--wait waits until each job that was replayed is done or dead again, and says how many are, and of what they died; exit code 1 when one is dead again, or has no outcome by --timeout or
Ctrl-C, or no uuid to be followed by: the replay itself is done then. That a job is done it knows by its mark alone, so it wants idempotency = "on": a job that is nowhere may as well have been dropped.
` + filterHelp,
		flags: func(fs *flag.FlagSet) any {
			f := new(deadReplayFlags)
			replayFlags(fs, f)
			f.flags(fs)
			fs.Var(&f.rate, "rate", "how many at most: `N/s`, or N/m in a minute")
			fs.BoolVar(&f.keepRetry, "keep-retry", false, "leave the jobs' counters as they are")
			fs.BoolVar(&f.wait, "wait", false, "wait until they are done, or dead again")
			fs.DurationVar(&f.timeout, "timeout", 0, "how long to wait, such as 10m; without it for ever")
			return f
		},
		run: func(env Env, c call) int {
			return replayDead(env, c, deadReplayVerb(), c.flags.(*deadReplayFlags))
		},
	}
}

// replayFlags are the flags that sidecar replay has, too.
func replayFlags(fs *flag.FlagSet, f *deadReplayFlags) {
	fs.IntVar(&f.limit, "limit", replayLimit, "how many jobs at most, 0 = all")
	fs.BoolVar(&f.dryRun, "dry-run", false, "show, change nothing")
	fs.BoolVar(&f.raw, "raw", false, "also texts that are no jobs")
	fs.StringVar(&f.undoDir, "undo-dir", "", "where the undo `file` goes, if not into admin.undo_dir or this directory")
}

// replayDead is sidecar dead replay, and in short sidecar replay.
func replayDead(env Env, c call, v verb, f *deadReplayFlags) int {
	switch {
	case len(c.args) != 1:
		return usageError(env, v, "want a topic, got %d arguments", len(c.args))
	case f.limit < 0:
		return usageError(env, v, "--limit %d: want zero or more", f.limit)
	case f.timeout != 0 && !f.wait || f.timeout < 0:
		return usageError(env, v, "--timeout %s: want more than nothing, and --wait", f.timeout)
	case f.wait && f.dryRun:
		return usageError(env, v, "--wait: a dry run replays nothing to wait for")
	}
	return withDead(env, c, v, &f.filter, func(ctx context.Context, rdb redis.UniversalClient, d deadSearch) int {
		m := newDeadMover(env, rdb, d, moveOptions{
			verb: queue.VerbReplay, opts: queue.ReplayOptions{KeepRetry: f.keepRetry, Raw: f.raw},
			limit: f.limit, pace: f.rate, undoDir: f.undoDir, eachOne: f.short,
		})
		if f.wait {
			return m.replayAndWait(ctx, v, f.timeout)
		}
		if err := m.count(ctx, f.dryRun); err != nil {
			return report(env, exitFailed, err)
		}
		if f.dryRun {
			return exitOK
		}
		err := m.run(ctx)
		if f.short && m.moved == 0 && queue.FaultOf(err) == queue.NoPerm {
			return m.replayHeads(ctx, err)
		}
		return m.finish(ctx, err)
	})
}

// replayAndWait replays, and waits until each job has an outcome.
func (m *mover) replayAndWait(ctx context.Context, v verb, timeout time.Duration) int {
	if why := m.mayFollow(); why != "" {
		return usageError(m.env, v, "%s", why)
	}
	err := m.count(ctx, false)
	if err == nil {
		m.follow, err = newFollower(ctx, m.env, m.session)
	}
	if err != nil {
		return report(m.env, exitFailed, err)
	}
	if code := m.finish(ctx, m.run(ctx)); code != exitOK {
		return code
	}
	return m.follow.await(ctx, timeout)
}

// replayHeads replays without the rights that a move takes which can be undone (docs/redis-user.md): who had granted what
// sidecar replay needed before these were asked for still has it.
func (m *mover) replayHeads(ctx context.Context, why error) int {
	if err := m.close(ctx); err != nil {
		return report(m.env, exitFailed, err)
	}
	fmt.Fprintf(m.env.Stderr, "warning: this cannot be undone: %v\n", why)
	replay := m.store.Replay
	if m.opts.Raw {
		replay = m.store.ReplayRaw
	}
	done, err := replay(ctx, m.limit, false, m.cfg.Timezone)
	for _, text := range done.Replayed {
		uuid := "(no uuid)"
		if job, err := jobOf(m.topic, text); err == nil && job.UUID() != "" {
			uuid = job.PlainUUID()
		}
		fmt.Fprintf(m.env.Stdout, "replayed %s\n", uuid)
	}
	m.left[unreadable], m.left[noJob] = sumsOf(done.Unreadable), sumsOf(done.NoJobs)
	m.left.print(m.env.Stderr)
	fmt.Fprintf(m.env.Stdout, "replayed %s\n", plural.Of(len(done.Replayed), "job", "jobs"))
	if err != nil {
		return report(m.env, exitFailed, err)
	}
	return exitOK
}
