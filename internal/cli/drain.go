package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sidecar/queue"
)

const (
	// drainLook is how often drain looks.
	drainLook = 500 * time.Millisecond

	// settledAfter is how long running has to be empty to be believed: longer than a pause takes to reach every sidecar, and
	// a claim that was under way.
	settledAfter = 3 * time.Second
)

type drainFlags struct {
	pauseFlags
	timeout time.Duration
}

func drainVerb() verb {
	return verb{
		name:  "drain",
		usage: "TOPIC… [--all] [--timeout 10m] [--for 1h] [--reason TEXT]",
		short: "pause topics and wait until nothing of them runs",
		long: `
Pauses the topics as sidecar pause does, and waits until none of their jobs is in running any more, on any sidecar: then their code, or what
they depend on, can be changed. Tells meanwhile how many still run. When it ends, also by --timeout (exit code 1) or Ctrl-C, the topics stay
paused; sidecar resume has them go on. Old consumers beside the sidecars know nothing of a pause: stop them, or
running may never get empty.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(drainFlags)
			fs.BoolVar(&f.all, "all", false, "all topics of the configuration")
			fs.Var(&f.lasts, "for", "how long the pause lasts, a `duration` such as 1h; without it until resume")
			fs.StringVar(&f.reason, "reason", "", "why, for whoever wonders: a `text` that all can see")
			fs.DurationVar(&f.timeout, "timeout", 0, "how long to wait, such as 10m; without it for ever")
			return f
		},
		run: drainTopics,
	}
}

func drainTopics(env Env, c call) int {
	f := c.flags.(*drainFlags)
	if f.timeout < 0 {
		return usageError(env, drainVerb(), "--timeout %s: want more than nothing", f.timeout)
	}
	return withTopics(env, c, drainVerb(), f.all, func(ctx context.Context, s steering) error {
		if err := s.pause(ctx, time.Duration(f.lasts), f.reason); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if f.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, f.timeout)
			defer cancel()
		}
		return s.awaitStill(ctx)
	})
}

// awaitStill waits until nothing of the topics runs, and says how they go on.
func (s steering) awaitStill(ctx context.Context) error {
	p := newProgress(s.env)
	began, still := time.Now(), time.Time{} // since when running is empty
	last := ""
	for {
		n, what, err := s.running(ctx)
		if err == nil {
			last = cmp.Or(what, "nothing at the last look, for too short a time to be sure")
		}
		switch {
		case ctx.Err() != nil:
			p.done()
			return s.unfinished(ctx, last)
		case errors.Is(err, errGoesOn):
			p.done()
			return err
		case err != nil:
			still = time.Time{}
			p.tell("cannot look: %v", err)
		case n > 0:
			still = time.Time{}
			p.tell("%d still run (%s), for %s", n, what, time.Since(began).Round(time.Second))
		case still.IsZero():
			still = time.Now()
		case time.Since(still) >= settledAfter:
			p.done()
			fmt.Fprintf(s.env.Stdout, "nothing of it runs any more; to go on: %s\n", s.resumeLine())
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(drainLook):
		}
	}
}

// errGoesOn reports a pause that has ended, so that jobs begin again.
var errGoesOn = errors.New("is not paused any more: it was resumed, or --for is over. Its jobs run")

// running counts the jobs of the topics that somebody holds, and says of which topics they are.
func (s steering) running(ctx context.Context) (n int64, what string, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	pauses, _, err := s.pauses.All(ctx)
	if err != nil {
		return 0, "", err
	}
	var each []string
	for _, t := range s.topics {
		if _, paused := pauses[t.Name]; !paused {
			return 0, "", fmt.Errorf("%s %w", t.Name, errGoesOn)
		}
		d, depthsErr := queue.NewStore(s.rdb, s.cfg.Redis.KeyPrefix, t.Queue).Depths(ctx)
		if err = errors.Join(err, depthsErr); d.Running > 0 {
			n += d.Running
			each = append(each, fmt.Sprintf("%s %d", t.Name, d.Running))
		}
	}
	return n, strings.Join(each, ", "), err
}

// unfinished is why drain ends although something may still run.
func (s steering) unfinished(ctx context.Context, what string) error {
	why := "interrupted"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "--timeout is over"
	}
	if what == "" {
		what = "not known"
	}
	return fmt.Errorf("%s; still running: %s. The topics stay paused; to go on: %s. "+
		"If their number does not go down, an old consumer may be at work: a pause is nothing to it", why, what, s.resumeLine())
}

// resumeLine is the command that undoes the pause.
func (s steering) resumeLine() string {
	words := []string{"resume"}
	for _, t := range s.topics {
		words = append(words, t.Name)
	}
	return sidecarLine(s.cfg, words...)
}
