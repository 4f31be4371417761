package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/plural"
	"sidecar/queue"
)

type requeueFlags struct {
	dueAfter, dueBefore string
	scoresIn            string
	limit               int
	rate                pace
	dryRun              bool
	undoDir             string

	set *flag.FlagSet // which of them were given
}

func requeueVerb() verb {
	return verb{
		name: "requeue",
		usage: "TOPIC [UUID…] [--due-after TIME] [--due-before TIME] [--scores-in UNIT] [--limit 10] [--rate N/s] [--dry-run] " +
			"[--undo-dir DIR]",
		short: "run waiting jobs now, whatever time they wait for",
		long: `
Makes the jobs with these uuids (in a list job_ids), which wait in the pool for their time or their retry, due now: they run as soon as a worker is free. Nothing
else of them changes. A job that is due or ready already is left as it is. Exit code 1 when one runs, is dead (sidecar dead
replay is for those), or is nowhere.

Without uuids it takes all jobs of the pool that wait and for which what is given holds, those that are due first coming first: --due-after those that are due later than that,
those that never are among them; --due-before those that are due earlier; as 24h for a day from now, 2026-11-30 or "2026-11-30 12:00:00". --scores-in s, ms or us takes
those that a producer has written in another unit than score_unit says: they are due when their scores say, read in that unit, and not now.
Ten jobs, unless --limit says otherwise (0 = all that are meant); --rate keeps it slow; --dry-run shows which it would be and changes nothing.
Before a job is made due it is written to a new file in admin.undo_dir, this directory or --undo-dir: by that sidecar dead undo has it wait for its old time again, unless it runs
or has run. It may be interrupted or killed at any moment and begun again.`,
		flags: func(fs *flag.FlagSet) any {
			f := &requeueFlags{set: fs}
			fs.StringVar(&f.dueAfter, "due-after", "", "that are due later: a `time`, or in how long")
			fs.StringVar(&f.dueBefore, "due-before", "", "that are due earlier: a `time`, or in how long")
			fs.StringVar(&f.scoresIn, "scores-in", "", "whose scores are in this `unit`: s, ms or us")
			fs.IntVar(&f.limit, "limit", replayLimit, "how many jobs at most, 0 = all")
			fs.Var(&f.rate, "rate", "how many at most: `N/s`, or N/m in a minute")
			fs.BoolVar(&f.dryRun, "dry-run", false, "show, change nothing")
			fs.StringVar(&f.undoDir, "undo-dir", "", "where the undo `file` goes, if not into admin.undo_dir or this directory")
			return f
		},
		run: requeue,
	}
}

func requeue(env Env, c call) int {
	f := c.flags.(*requeueFlags)
	switch chosen := f.chosen(); {
	case len(c.args) == 0 || len(c.args) == 1 && !chosen:
		return usageError(env, requeueVerb(), "want a topic, and uuids, --due-after, --due-before or --scores-in, got %s", given(c.args))
	case len(c.args) > 1 && chosen:
		return usageError(env, requeueVerb(), "want either uuids or --due-after, --due-before and --scores-in, got both")
	case len(c.args) > 1 && (f.dryRun || f.undoDir != "" || f.rate.perSecond > 0 || f.limited()):
		return usageError(env, requeueVerb(), "--limit, --dry-run, --rate and --undo-dir are not for single uuids")
	case f.limit < 0:
		return usageError(env, requeueVerb(), "--limit %d: want zero or more", f.limit)
	case chosen:
		return requeueWaiting(env, c, f)
	}
	return requeueNamed(env, c)
}

// chosen reports that jobs are chosen by their scores.
func (f *requeueFlags) chosen() bool {
	return f.dueAfter != "" || f.dueBefore != "" || f.scoresIn != ""
}

// limited reports that --limit was given, be it with the number that it has without.
func (f *requeueFlags) limited() (given bool) {
	f.set.Visit(func(one *flag.Flag) { given = given || one.Name == "limit" })
	return given
}

// requeueNamed makes the jobs due whose uuids are given.
func requeueNamed(env Env, c call) int {
	cfg, topic, code := loadTopic(env, c)
	if cfg == nil {
		return code
	}
	return openUntilSignal(env, cfg, []queue.Options{topic.Queue}, func(ctx context.Context, rdb redis.UniversalClient) int {
		s := session{cfg, topic, queue.NewStore(rdb, cfg.Redis.KeyPrefix, topic.Queue)}
		audit := queue.NewAudit(rdb, cfg.Redis.KeyPrefix)
		code := exitOK
		for _, uuid := range c.args[1:] {
			said, changed, err := s.runNow(ctx, newProgress(env), uuid)
			if err != nil {
				code = report(env, exitFailed, fmt.Errorf("%s: %w", compat.PlainUUID(uuid), err))
				continue
			}
			fmt.Fprintf(env.Stdout, "%s %s\n", compat.PlainUUID(uuid), said)
			if !changed {
				continue
			}
			addLine(ctx, env, audit, queue.Audited{Verb: queue.VerbRequeue, Topic: topic.Name, Count: 1, UUID: compat.PlainUUID(uuid)})
		}
		return code
	})
}

// runNow makes the job due, wherever it waits, and says what became of it.
func (s session) runNow(ctx context.Context, progress *progress, uuid string) (said string, changed bool, err error) {
	defer progress.done()
	search, err := s.store.NewSearch(queue.Query{UUID: uuid}, s.cfg.Timezone)
	if err != nil {
		return "", false, err
	}
	elsewhere := errors.New("it is nowhere in this topic; sidecar find looks in all of them")
	for cursor := ""; ; {
		found, err := search.Next(ctx, cursor)
		if err != nil {
			return "", false, err
		}
		for _, e := range found.Entries {
			switch changed, err := s.store.RunNow(ctx, e); {
			case err != nil:
				elsewhere = err
			case changed:
				return "is due now", true, nil
			default:
				return "was due already", false, nil
			}
		}
		progress.tell("looked at %d of %s", found.Looked, plural.Of(found.Of, "text", "texts"))
		if cursor = found.Cursor; cursor == "" {
			return "", false, elsewhere
		}
	}
}
