package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/plural"
)

func tryVerb() verb {
	return verb{
		name:  "try",
		usage: "TOPIC JSON|-",
		short: "run one job through PHP-FPM, Redis untouched",
		long: `
Runs one job exactly as the consumer would, through the topic's PHP-FPM pool and settings, and shows the
verdict, the output, the stderr and the time it took. Redis is neither read nor written, so nothing is counted,
retried or buried. The job is real for the PHP code: what that does is done. A list's job goes by the route of its type.
Exit code 0 when the verdict is done, 1 otherwise.

  sidecar try order_timeout '{"uuid":"test-1","order_id":42}'`,
		run: try,
	}
}

func try(env Env, c call) int {
	if len(c.args) != 2 {
		return usageError(env, tryVerb(), "want a topic and a job, got %s", plural.Of(len(c.args), "argument", "arguments"))
	}
	cfg, topic, code := loadTopic(env, c)
	if cfg == nil {
		return code
	}
	text, err := textFrom(env, c.args[1])
	if err != nil {
		return report(env, exitFailed, err)
	}
	job, err := jobOf(topic, text)
	if err != nil {
		return fail(env, "this is not a job, the consumer would bury it: %v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return tryJob(ctx, env, cfg, topic, job)
}

func tryJob(ctx context.Context, env Env, cfg *config.Config, topic config.Topic, job compat.Job) int {
	log := slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	pool := fastcgi.NewPool(cfg.FPM[topic.Pool], log, fastcgi.NewMetrics(prometheus.NewRegistry(), []string{topic.Pool}, []string{topic.Name}))
	t := pool.NewTopic(topic.FPM)
	if err := pool.Prepare(ctx); err != nil {
		return report(env, exitFailed, err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { pool.Run(running) })
	defer wg.Wait()
	defer stop()

	result := t.Try(ctx, job)
	printResult(env.Stdout, result)
	if result.Outcome.Verdict != compat.Done {
		return exitFailed
	}
	return exitOK
}

func printResult(w io.Writer, r fastcgi.Result) {
	fmt.Fprintf(w, "verdict: %s\n", r.Outcome.Verdict)
	if r.Outcome.Error != "" {
		fmt.Fprintf(w, "error:   %s\n", strings.ReplaceAll(r.Outcome.Error, "\n", "\n         "))
	}
	if r.Outcome.Verdict == compat.Deferred {
		fmt.Fprintf(w, "delay:   %s\n", r.Outcome.Delay)
	}
	fmt.Fprintf(w, "time:    %s\n", r.Elapsed.Round(10*time.Microsecond))
	if r.Boot > 0 {
		fmt.Fprintf(w, "boot:    %s of it\n", r.Boot.Round(10*time.Microsecond))
	}
	if r.Memory > 0 {
		fmt.Fprintf(w, "memory:  %.1f MB at its peak\n", float64(r.Memory)/(1<<20))
	}
	section(w, "output", string(r.Output))
	section(w, "stderr", string(r.Stderr))
	section(w, "trace", r.Outcome.Trace)
}

// section prints a part of the result under its own heading, if there is one.
func section(w io.Writer, name, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(w, "--- %s\n%s\n", name, text)
}
