package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/queue"
)

type statusFlags struct{ json bool }

func statusVerb() verb {
	return verb{
		name:  "status",
		usage: "[--json]",
		short: "show what waits, runs and is dead in each topic",
		long: `
Prints one line a topic or list: jobs in the pool, how many of them are due, ready, running and dead,
and for how long the oldest due job has been due. The pool of a list holds retries that wait, ready is what lies in all
its shards, and dead is the whole of its dead letter list, which other lists may share. Reads only; works without a
running sidecar. --json prints the same as one JSON object, times in seconds, and each shard's ready by its number.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(statusFlags)
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: status,
	}
}

// topicStatus is one topic's line. Its JSON names are a promise.
type topicStatus struct {
	Topic            string  `json:"topic"`
	Pool             int64   `json:"pool"`
	Due              int64   `json:"due"`
	Ready            int64   `json:"ready"`
	Running          int64   `json:"running"`
	Dead             int64   `json:"dead"`
	OldestDueSeconds float64 `json:"oldest_due_seconds"`
	Profile          string  `json:"profile"`
	Shards           []int64 `json:"shards,omitempty"` // of a list
	Error            string  `json:"error,omitempty"`
}

func status(env Env, c call) int {
	if len(c.args) > 0 {
		return usageError(env, statusVerb(), "want no arguments, got %q", c.args)
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	return withRedis(env, cfg, cfg.Queues(), func(ctx context.Context, rdb redis.UniversalClient) int {
		return showStatus(ctx, env, cfg, rdb, c.flags.(*statusFlags).json)
	})
}

func showStatus(ctx context.Context, env Env, cfg *config.Config, rdb redis.UniversalClient, asJSON bool) int {
	var lines []topicStatus
	code := exitOK
	for _, t := range cfg.Topics {
		line := statusOf(ctx, queue.NewStore(rdb, cfg.Redis.KeyPrefix, t.Queue), t)
		if line.Error != "" {
			code = exitFailed
		}
		lines = append(lines, line)
	}
	if asJSON {
		_ = json.NewEncoder(env.Stdout).Encode(map[string]any{"topics": lines})
	} else {
		printStatus(env.Stdout, lines)
	}
	return code
}

func statusOf(ctx context.Context, store *queue.Store, t config.Topic) topicStatus {
	d, err := store.Depths(ctx)
	if err != nil {
		return topicStatus{Topic: t.Name, Profile: t.Profile(), Error: err.Error()}
	}
	return topicStatus{
		Topic: t.Name, Pool: d.Pool, Due: d.Due, Ready: d.Ready, Running: d.Running, Dead: d.Dead,
		OldestDueSeconds: d.OldestDueAge.Seconds(), Profile: t.Profile(), Shards: d.Shards,
	}
}

func printStatus(w io.Writer, lines []topicStatus) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TOPIC\tPROFILE\tPOOL\tDUE\tREADY\tRUNNING\tDEAD\tOLDEST DUE")
	for _, l := range lines {
		if l.Error != "" {
			fmt.Fprintf(tw, "%s\t%s\t%s\n", l.Topic, l.Profile, l.Error)
			continue
		}
		age := "-"
		if l.Due > 0 || l.OldestDueSeconds > 0 {
			age = time.Duration(l.OldestDueSeconds * float64(time.Second)).Round(time.Millisecond).String()
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", l.Topic, l.Profile, l.Pool, l.Due, l.Ready, l.Running, l.Dead, age)
	}
	_ = tw.Flush()
}
