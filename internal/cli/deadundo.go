package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/plural"
	"sidecar/internal/undo"
	"sidecar/queue"
)

type deadUndoFlags struct {
	rate   pace
	anyway bool
}

func deadUndoVerb() verb {
	return verb{
		name:  "dead undo",
		usage: "FILE [--rate N/s] [--anyway]",
		short: "take a replay, drop or requeue back, by the file it wrote",
		long: `
Puts the jobs of an undo file back where they were. What was dropped is in dead again, as the newest; so is what was replayed and still
waits, taken out of the pool or the list. What was requeued waits for its old time again. A replayed or requeued job that runs or has run (and of a list one that is ready)
is left alone, and the exit code is 1 then. What was done is noted in
the file: it may be interrupted or killed at any moment and begun again, and when all is back a second time does nothing.
A name without a directory that is not in this one is looked for in admin.undo_dir.
The configuration must be one with the topic that the file names, and lead to the key_prefix, the database and the Redis that it was
written for: a Redis that knows the file's moves is that one, whatever it is called now. In another one the jobs would come into wrong queues; --anyway has them put there.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(deadUndoFlags)
			fs.Var(&f.rate, "rate", "how many at most: `N/s`, or N/m in a minute")
			fs.BoolVar(&f.anyway, "anyway", false, "also into another Redis than the file was written for")
			return f
		},
		run: deadUndo,
	}
}

func deadUndo(env Env, c call) int {
	f := c.flags.(*deadUndoFlags)
	if len(c.args) != 1 {
		return usageError(env, deadUndoVerb(), "want the file that a replay, a drop or a requeue has written, got %s", given(c.args))
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	log, err := undo.Open(undo.Find(c.args[0], cfg.Admin.UndoDir))
	if err != nil {
		return report(env, exitFailed, err)
	}
	defer func() { _ = log.Close() }() // each batch was synced
	topic, err := topicOf(cfg, log.Head.Topic)
	if err != nil {
		return report(env, exitUsage, err)
	}
	return openUntilSignal(env, cfg, []queue.Options{topic.Queue}, func(ctx context.Context, rdb redis.UniversalClient) int {
		b := backer{
			env: env, session: session{cfg, topic, queue.NewStore(rdb, cfg.Redis.KeyPrefix, topic.Queue)},
			log: log, pace: f.rate, progress: newProgress(env), counts: make(map[queue.UndoResult]int),
		}
		if err := b.checkHome(ctx, f.anyway); err != nil {
			return report(env, exitFailed, err)
		}
		err := b.run(ctx)
		b.trace(ctx, rdb)
		return b.finish(err)
	})
}

// backer takes moves back.
type backer struct {
	session
	env      Env
	log      *undo.Log
	pace     pace
	progress *progress
	counts   map[queue.UndoResult]int
}

// checkHome refuses a file of other queues, unless that is meant.
func (b *backer) checkHome(ctx context.Context, anyway bool) error {
	err := b.log.CheckHome(ctx, b.store, b.cfg.Redis.KeyPrefix, queue.HomeOf(b.cfg.Redis, hostname()), moveBudget)
	if !errors.Is(err, undo.ErrElsewhere) {
		return err
	}
	if anyway {
		fmt.Fprintf(b.env.Stderr, "warning: %v\n", err)
		return nil
	}
	return fmt.Errorf("%w; take the configuration that it was written with, or --anyway to put them here all the same", err)
}

func (b *backer) run(ctx context.Context) error {
	defer b.progress.done()
	for moves, err := range b.log.Pending(b.pace.batch()) {
		if err != nil {
			return err
		}
		if !b.pace.wait(ctx, len(moves)) {
			return errStopped
		}
		results, err := b.log.TakeBack(ctx, b.store, moves, moveBudget)
		for _, r := range results {
			b.counts[r]++
		}
		if ctx.Err() != nil && (err == nil || errors.Is(err, context.Cause(ctx))) {
			return errStopped
		}
		if err != nil {
			return err
		}
		b.progress.tell("put back %d of %s", b.counts[queue.Restored], plural.Of(b.log.Moves-b.log.Undone, "job", "jobs"))
	}
	return nil
}

// trace leaves a line in the audit trail, if something was put back.
func (b *backer) trace(ctx context.Context, rdb redis.UniversalClient) {
	if b.counts[queue.Restored] == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisPatience)
	defer cancel()
	warnUntold(b.env, b.log.Trace(ctx, queue.NewAudit(rdb, b.cfg.Redis.KeyPrefix), who(), b.counts[queue.Restored]))
}

// finish sums up and returns the exit code.
func (b *backer) finish(err error) int {
	if n := b.log.Undone + b.counts[queue.RestoredBefore] + b.counts[queue.NeverTaken]; n > 0 {
		fmt.Fprintln(b.env.Stderr, plural.Of(n, "job needed nothing: it is back already, or was never moved",
			"jobs needed nothing: they are back already, or were never moved"))
	}
	fmt.Fprintf(b.env.Stdout, "put back %s\n", plural.Of(b.counts[queue.Restored], "job", "jobs"))
	if errors.Is(err, errStopped) {
		return fail(b.env, "not finished; run it again, it goes on where this left off")
	}
	if err != nil {
		return report(b.env, exitFailed, err)
	}
	if n := b.counts[queue.Started]; n > 0 {
		return fail(b.env, "%s", plural.Of(n, past(b.log.Head.Verb)+" job waits no more: it runs or has run, and was left alone",
			past(b.log.Head.Verb)+" jobs wait no more: they run or have run, and were left alone"))
	}
	return exitOK
}
