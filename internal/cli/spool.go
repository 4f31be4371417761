package cli

import (
	"context"
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
	"sidecar/internal/spool"
	"sidecar/queue"
)

// progressEvery is how often a drain says how far it has come.
const progressEvery = time.Second

type spoolFlags struct {
	limit  int
	rate   int
	dryRun bool
}

func spoolVerb() verb {
	return verb{
		name:  "spool",
		usage: "drain|status NAME [--limit N] [--rate N] [--dry-run]",
		short: "bring in what PHP stored while Redis was away",
		long: `
drain moves the rows of [spool.NAME]'s table, which PHP-FPM reads for us, into the keys they belong to: the oldest
first, each exactly once. It may be interrupted or killed at any moment and begun again, also while a running
sidecar drains the same spool. Rows that Redis refuses stay in the table; the exit code is 1 then.
--dry-run shows what there is and changes nothing.

status shows how many rows there are for which keys, and since when.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(spoolFlags)
			fs.IntVar(&f.limit, "limit", 0, "how many rows at most, 0 = all")
			fs.IntVar(&f.rate, "rate", -1, "rows a second at most, 0 = as fast as it goes; rate in the configuration, if not given")
			fs.BoolVar(&f.dryRun, "dry-run", false, "show, change nothing")
			return f
		},
		run: runSpool,
	}
}

func runSpool(env Env, c call) int {
	f := c.flags.(*spoolFlags)
	if len(c.args) != 2 || c.args[0] != "drain" && c.args[0] != "status" {
		return usageError(env, spoolVerb(), "want drain or status and a spool, got %q", c.args)
	}
	if f.limit < 0 {
		return usageError(env, spoolVerb(), "--limit %d: want zero or more", f.limit)
	}
	if f.rate < -1 {
		return usageError(env, spoolVerb(), "--rate %d: want zero or more", f.rate)
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	o, err := spoolOf(cfg, c.args[1])
	if err != nil {
		return report(env, exitUsage, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return withSpool(ctx, env, cfg, o, func(table *spool.Table, drainer *spool.Drainer) int {
		if c.args[0] == "status" || f.dryRun {
			return showSpool(ctx, env, table)
		}
		return drain(ctx, env, drainer.Begin(f.limit, f.rate))
	})
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

func showSpool(ctx context.Context, env Env, table *spool.Table) int {
	s, err := table.Status(ctx)
	switch {
	case err != nil:
		return report(env, exitFailed, err)
	case s.Missing:
		fmt.Fprintln(env.Stdout, "0 rows: there is no table yet, nothing was ever stored in it")
		return exitOK
	case s.Rows == 0:
		fmt.Fprintln(env.Stdout, "0 rows")
		return exitOK
	}
	fmt.Fprintf(env.Stdout, "%d rows, the oldest stored %s ago\n", s.Rows, s.Oldest.Round(time.Second))
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
		fmt.Fprintf(env.Stdout, "%d rows are left\n", left)
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
	fmt.Fprintf(w, "%d rows went in, %d were in already, %d have to stay\n", p.Added, p.Before, p.Held)
}
