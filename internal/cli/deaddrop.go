package cli

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/plural"
	"sidecar/queue"
)

type deadDropFlags struct {
	filter
	all     bool
	limit   int
	rate    pace
	dryRun  bool
	yes     bool
	undoDir string
}

func deadDropVerb() verb {
	return verb{
		name:  "dead drop",
		usage: "TOPIC [--all] " + filterUsage + " [--limit N] [--rate N/s] [--dry-run] [--yes] [--undo-dir DIR]",
		short: "take jobs out of dead for good",
		long: `
Takes dead jobs, the oldest first, out of dead: they will not run. It wants to be told which: all, or those that a filter means. On a
terminal it asks before it begins, unless --yes says so. --dry-run shows which it would be and changes nothing.
Before a job is taken out it is written to a new file in admin.undo_dir, this directory or --undo-dir, by which sidecar dead undo puts it back: keep
that file as long as that may be wanted. It may be interrupted or killed at any moment and begun again.
` + filterHelp,
		flags: func(fs *flag.FlagSet) any {
			f := new(deadDropFlags)
			fs.BoolVar(&f.all, "all", false, "all dead jobs of the topic")
			fs.IntVar(&f.limit, "limit", 0, "how many jobs at most, 0 = all")
			f.flags(fs)
			fs.Var(&f.rate, "rate", "how many at most: `N/s`, or N/m in a minute")
			fs.BoolVar(&f.dryRun, "dry-run", false, "show, change nothing")
			fs.BoolVar(&f.yes, "yes", false, "do not ask")
			fs.StringVar(&f.undoDir, "undo-dir", "", "where the undo `file` goes, if not into admin.undo_dir or this directory")
			return f
		},
		run: deadDrop,
	}
}

func deadDrop(env Env, c call) int {
	f := c.flags.(*deadDropFlags)
	switch {
	case len(c.args) != 1:
		return usageError(env, deadDropVerb(), "want a topic, got %d arguments", len(c.args))
	case f.limit < 0:
		return usageError(env, deadDropVerb(), "--limit %d: want zero or more", f.limit)
	case !f.all && f.none():
		return usageError(env, deadDropVerb(), "want to be told which: --error, --like, --type, --since, --until or --uuid, or --all for all of them")
	case f.all && !f.none():
		return usageError(env, deadDropVerb(), "want either --all or a filter, got both")
	}
	return withDead(env, c, deadDropVerb(), &f.filter, func(ctx context.Context, rdb redis.UniversalClient, d deadSearch) int {
		m := newDeadMover(env, rdb, d, moveOptions{verb: queue.VerbDrop, limit: f.limit, pace: f.rate, undoDir: f.undoDir})
		err := m.count(ctx, f.dryRun)
		switch {
		case err != nil:
			return report(env, exitFailed, err)
		case f.dryRun:
			return exitOK
		case m.total > 0 && env.keyboard != nil && !f.yes && !agreed(ctx, env, m):
			return fail(env, "nothing was dropped")
		}
		return m.finish(ctx, m.run(ctx))
	})
}

// agreed asks whether to go on.
func agreed(ctx context.Context, env Env, m *mover) bool {
	fmt.Fprintf(env.Stderr, "Drop %s of %s? [y/N] ", plural.Of(m.total, "dead job", "dead jobs"), m.topic.Name)
	if !env.keyboard.typed(ctx) {
		fmt.Fprintln(env.Stderr)
		return false
	}
	answer, _ := bufio.NewReader(env.Stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
