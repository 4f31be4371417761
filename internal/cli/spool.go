package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/fastcgi"
	"sidecar/internal/app"
	"sidecar/internal/config"
	"sidecar/internal/plural"
	"sidecar/internal/spool"
	"sidecar/queue"
)

// progressEvery is how often a drain says how far it has come.
const progressEvery = time.Second

func spoolVerb() verb {
	return verb{
		name:  "spool",
		short: "bring in what PHP stored while Redis was away",
		long:  "Works on the table of [spool.NAME], which PHP-FPM reads for us.",
		subs:  []verb{spoolDrainVerb(), spoolStatusVerb()},
	}
}

type spoolDrainFlags struct {
	limit  int
	rate   int
	dryRun bool
}

func spoolDrainVerb() verb {
	return verb{
		name:  "spool drain",
		usage: "SPOOL [--limit N] [--rate N] [--dry-run]",
		short: "move the table's rows to the keys they belong to",
		long: `
Moves the rows of [spool.SPOOL]'s table, which PHP-FPM reads for us, into the keys they belong to: the oldest
first, each exactly once. It may be interrupted or killed at any moment and begun again, also while a running
sidecar drains the same spool. Rows that Redis refuses stay in the table; the exit code is 1 then.
--dry-run shows what there is and changes nothing.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(spoolDrainFlags)
			fs.IntVar(&f.limit, "limit", 0, "how many rows at most, 0 = all")
			fs.IntVar(&f.rate, "rate", -1, "rows a second at most, 0 = as fast as it goes; rate in the configuration, if not given")
			fs.BoolVar(&f.dryRun, "dry-run", false, "show, change nothing")
			return f
		},
		run: runSpoolDrain,
	}
}

func runSpoolDrain(env Env, c call) int {
	f := c.flags.(*spoolDrainFlags)
	if f.limit < 0 {
		return usageError(env, spoolDrainVerb(), "--limit %d: want zero or more", f.limit)
	}
	if f.rate < -1 {
		return usageError(env, spoolDrainVerb(), "--rate %d: want zero or more", f.rate)
	}
	return onSpool(env, c, spoolDrainVerb(), func(ctx context.Context, table *spool.Table, drainer *spool.Drainer) int {
		if f.dryRun {
			return showSpool(ctx, env, table, false)
		}
		return drain(ctx, env, drainer.Begin(f.limit, f.rate))
	})
}

type spoolStatusFlags struct{ json bool }

func spoolStatusVerb() verb {
	return verb{
		name:  "spool status",
		usage: "SPOOL [--json]",
		short: "show how many rows there are for which keys, and since when",
		long: `
Shows how many rows [spool.SPOOL]'s table has for which keys, and since when. Reads only. --json prints the same as one
JSON object.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(spoolStatusFlags)
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: func(env Env, c call) int {
			return onSpool(env, c, spoolStatusVerb(), func(ctx context.Context, table *spool.Table, _ *spool.Drainer) int {
				return showSpool(ctx, env, table, c.flags.(*spoolStatusFlags).json)
			})
		},
	}
}

// onSpool opens the spool named in c and calls f with it, while its pool runs and until a signal ends ctx.
func onSpool(env Env, c call, v verb, f func(context.Context, *spool.Table, *spool.Drainer) int) int {
	if len(c.args) != 1 {
		return usageError(env, v, "want a spool, got %s", given(c.args))
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	o, err := spoolOf(cfg, c.args[0])
	if err != nil {
		return report(env, exitUsage, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return withSpool(ctx, env, cfg, o, func(table *spool.Table, drainer *spool.Drainer) int { return f(ctx, table, drainer) })
}

// spoolOf finds a configured spool, or says which there are.
func spoolOf(cfg *config.Config, name string) (spool.Options, error) {
	var names []string
	for _, o := range cfg.Spools {
		if o.Name == name {
			return o, nil
		}
		names = append(names, o.Name)
	}
	if names == nil {
		return spool.Options{}, fmt.Errorf("no spool %q in %s; a table [spool.%s] makes it one", name, cfg.Path, name)
	}
	return spool.Options{}, fmt.Errorf("no spool %q in %s; it has: %s", name, cfg.Path, strings.Join(names, ", "))
}

// withSpool opens the spool and calls f with it, while its pool runs.
func withSpool(ctx context.Context, env Env, cfg *config.Config, o spool.Options, f func(*spool.Table, *spool.Drainer) int) int {
	rdb, err := queue.Open(cfg.Redis, cfg.Queues())
	if err != nil {
		return report(env, exitRefused, err)
	}
	defer rdb.Close()
	log := slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	pool := fastcgi.NewPool(cfg.FPM[o.Pool], log, fastcgi.NewMetrics(prometheus.NewRegistry(), []string{o.Pool}, nil))
	if err := pool.Prepare(ctx); err != nil {
		return report(env, exitFailed, err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { pool.Run(running) })
	defer wg.Wait()
	defer stop()
	return f(app.NewSpool(cfg, o, pool, rdb))
}

// spoolState is what spool status shows. Its JSON names are a promise.
type spoolState struct {
	Rows          int64      `json:"rows"`
	Table         bool       `json:"table"` // there is one
	OldestSeconds float64    `json:"oldest_seconds"`
	Keys          []spoolKey `json:"keys"`
}

type spoolKey struct {
	Key  string `json:"key"`
	Rows int64  `json:"rows"`
}

func showSpool(ctx context.Context, env Env, table *spool.Table, asJSON bool) int {
	s, err := table.Status(ctx)
	if err != nil {
		return report(env, exitFailed, err)
	}
	if asJSON {
		state := spoolState{Rows: int64(s.Rows), Table: !s.Missing, OldestSeconds: s.Oldest.Seconds(), Keys: []spoolKey{}}
		for _, k := range s.Keys {
			state.Keys = append(state.Keys, spoolKey{k.Key, int64(k.Rows)})
		}
		_ = json.NewEncoder(env.Stdout).Encode(state)
		return exitOK
	}
	switch {
	case s.Missing:
		fmt.Fprintln(env.Stdout, "0 rows: there is no table yet, nothing was ever stored in it")
		return exitOK
	case s.Rows == 0:
		fmt.Fprintln(env.Stdout, "0 rows")
		return exitOK
	}
	fmt.Fprintf(env.Stdout, "%s, the oldest stored %s ago\n", plural.Of(s.Rows, "row", "rows"), s.Oldest.Round(time.Second))
	for _, k := range s.Keys {
		fmt.Fprintf(env.Stdout, "  %d for %s\n", k.Rows, k.Key)
	}
	return exitOK
}

// drain makes the pass, says how far it has come, and sums up.
func drain(ctx context.Context, env Env, pass *spool.Pass) int {
	var err error
	said := time.Now()
	for more := true; more && err == nil; {
		more, err = pass.Step(ctx)
		if time.Since(said) >= progressEvery {
			said = time.Now()
			printProgress(env.Stdout, pass.Progress())
		}
	}
	left, finishErr := pass.Finish(ctx)
	p := pass.Progress()
	printProgress(env.Stdout, p)
	if finishErr == nil {
		fmt.Fprintf(env.Stdout, "%s left\n", plural.Of(left, "row is", "rows are"))
	}
	code := exitOK
	for _, err := range []error{err, finishErr, pass.Faults()} {
		if err != nil {
			code = report(env, exitFailed, err)
		}
	}
	if err != nil || finishErr != nil {
		fmt.Fprintln(env.Stderr, "sidecar: not finished; run it again, it goes on where this left off")
	}
	return code
}

func printProgress(w io.Writer, p spool.Progress) {
	fmt.Fprintf(w, "%s, %s, %s\n", plural.Of(p.Added, "row went in", "rows went in"),
		plural.Of(p.Before, "was in already", "were in already"), plural.Of(p.Held, "has to stay", "have to stay"))
}
