package cli

import (
	"context"
	"flag"
	"fmt"

	"sidecar/internal/config"
	"sidecar/queue"
)

// replayLimit is the old replay script's: a replay of everything at once has brought systems down (CONTRACT 1.5).
const replayLimit = 10

type replayFlags struct {
	limit  int
	dryRun bool
	raw    bool
}

func replayVerb() verb {
	return verb{
		name:  "replay",
		usage: "TOPIC [--limit 10] [--dry-run] [--raw]",
		short: "put dead jobs back into the pool or list",
		long: `
Takes jobs from the head of delay:dead:TOPIC and puts them into the pool, due now, with retry back at 0 and
replayed_at set; each in one atomic step. A record that holds no job moves to the tail of dead and is reported; so does
one whose text is no JSON object, since it would only come back to dead: --raw puts its bytes into the pool all the same.
Of a list it takes the oldest dead letters that are this list's, and puts them into their shard with retry_count back at
0; what is no JSON object stays where it is.
Prints one line a job. --dry-run shows what would be replayed and changes nothing.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(replayFlags)
			fs.IntVar(&f.limit, "limit", replayLimit, "how many jobs at most")
			fs.BoolVar(&f.dryRun, "dry-run", false, "show, change nothing")
			fs.BoolVar(&f.raw, "raw", false, "also texts that are no jobs")
			return f
		},
		run: replay,
	}
}

func replay(env Env, c call) int {
	f := c.flags.(*replayFlags)
	if len(c.args) != 1 {
		return usageError(env, replayVerb(), "want a topic, got %d arguments", len(c.args))
	}
	if f.limit < 1 {
		return usageError(env, replayVerb(), "--limit %d: want at least 1", f.limit)
	}
	return withStore(env, c, func(ctx context.Context, s session) int {
		replay := s.store.Replay
		if f.raw {
			replay = s.store.ReplayRaw
		}
		done, err := replay(ctx, f.limit, f.dryRun, s.cfg.Timezone)
		printReplays(env, s.topic, done, f.dryRun)
		if err != nil {
			return report(env, exitFailed, err)
		}
		return exitOK
	})
}

func printReplays(env Env, topic config.Topic, done queue.Replays, dry bool) {
	word := "replayed"
	if dry {
		word = "would replay"
	}
	for _, text := range done.Replayed {
		uuid := "(no uuid)"
		if job, err := jobOf(topic, text); err == nil && job.UUID() != "" {
			uuid = job.PlainUUID()
		}
		fmt.Fprintf(env.Stdout, "%s %s\n", word, uuid)
	}
	where := "moved to the tail of dead"
	switch {
	case topic.Queue.List != nil:
		where = "left where they are"
	case dry:
		where = "would move to the tail of dead"
	}
	if n := len(done.Unreadable); n > 0 {
		fmt.Fprintf(env.Stderr, "%d records hold no job: %s\n", n, where)
	}
	if n := len(done.NoJobs); n > 0 {
		fmt.Fprintf(env.Stderr, "%d records hold a text that is no JSON object and cannot run: %s; --raw replays them\n", n, where)
	}
	fmt.Fprintf(env.Stdout, "%s %d jobs\n", word, len(done.Replayed))
}
