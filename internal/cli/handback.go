package cli

import (
	"context"
	"fmt"

	"sidecar/internal/plural"
)

func handbackVerb() verb {
	return verb{
		name:  "handback",
		usage: "LIST",
		short: "put a list's jobs that wait in keys of the sidecar back into the list",
		long: `
For the day when the old workers take a list over again: stop the sidecar first, or take the list out of its
configuration and reload, and give this verb the old file with -c. Puts back what no old worker would find: jobs that wait for their next run, and jobs whose
sidecar died, once their lease has ended. Nothing is counted. Prints how many came back, and how many are
still being run: then run it again when these are through. Exit code 0 when nothing is left.`,
		run: handback,
	}
}

func handback(env Env, c call) int {
	if len(c.args) != 1 {
		return usageError(env, handbackVerb(), "want a list, got %d arguments", len(c.args))
	}
	return withStore(env, c, func(ctx context.Context, s session) int {
		moved, running, err := s.store.HandBack(ctx)
		if moved > 0 || err == nil {
			fmt.Fprintf(env.Stdout, "handed back %s\n", plural.Of(moved, "job", "jobs"))
		}
		if err != nil {
			return report(env, exitFailed, err)
		}
		if running > 0 {
			fmt.Fprintln(env.Stderr, plural.Of(running, "job is still being run: it comes back when its lease ends, unless it ends before",
				"jobs are still being run: they come back when their lease ends, unless they end before"))
			return exitFailed
		}
		return exitOK
	})
}
