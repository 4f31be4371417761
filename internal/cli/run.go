package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"go.uber.org/automaxprocs/maxprocs"

	"sidecar/internal/app"
	"sidecar/internal/config"
)

func runVerb() verb {
	return verb{
		name:  "run",
		short: "consume the configured topics until told to stop",
		long: `
Consumes every configured topic in the foreground. The log goes to standard error, one line an event.

TERM or INT     take nothing new, finish the jobs in hand within grace, exit 0
the same again  stop the jobs in hand now, put their texts back, exit 0
HUP             read the configuration again; a bad one is refused and the old one stays`,
		run: run,
	}
}

func run(env Env, c call) int {
	if len(c.args) > 0 {
		return usageError(env, runVerb(), "want no arguments, got %s", given(c.args))
	}
	sig := watchSignals() // first of all: a HUP before that would kill
	defer sig.stop()
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	var level slog.LevelVar
	level.Set(cfg.Log.Level)
	log := newLogger(env.Stderr, cfg.Log.Format, &level)
	for _, w := range cfg.Warnings() {
		log.Warn("configuration", "warning", w)
	}
	if _, err := maxprocs.Set(); err != nil {
		log.Warn("set GOMAXPROCS", "error", err)
	}
	collectLater()

	err := app.Run(sig.ctx, app.Options{
		Config:  cfg,
		Load:    func() (*config.Config, error) { return config.Load(c.configPath) },
		Reload:  sig.reload,
		Abort:   sig.abort,
		Version: env.Version,
		Log:     log,
		Level:   &level,
	})
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, app.ErrRefused):
		return report(env, exitRefused, err)
	}
	return report(env, exitFailed, err)
}

// collectLater trades some megabytes for processor time. Nearly all that is allocated is the texts of jobs, which are
// garbage some milliseconds later, and the live heap is a few megabytes; with Go's own setting a sixth of the time went
// to the collector. GOGC in the environment has its way.
func collectLater() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

const gcPercent = 250

// newLogger returns the process's log as configured: one line an event.
func newLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	ho := &slog.HandlerOptions{Level: level}
	if format == "json" {
		ho.ReplaceAttr = readableDuration
		return slog.New(slog.NewJSONHandler(w, ho))
	}
	return slog.New(slog.NewTextHandler(w, ho))
}

// readableDuration writes durations as "1.5s", as the text log does; slog's JSON has bare nanoseconds.
func readableDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// signals are the process's signals as the app wants them.
type signals struct {
	ctx    context.Context //nolint:containedctx // the signal is the context
	abort  <-chan struct{}
	reload <-chan struct{}
	stop   func()
}

// watchSignals turns TERM and INT into the end of ctx, the second of them into abort, and HUP into reload.
func watchSignals() signals {
	ctx, cancel := context.WithCancel(context.Background())
	abort, reload := make(chan struct{}), make(chan struct{}, 1)
	in := make(chan os.Signal, 4)
	signal.Notify(in, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		stops := 0
		for {
			select {
			case <-done:
				return
			case s := <-in:
				if s == syscall.SIGHUP {
					select {
					case reload <- struct{}{}:
					default: // one is waiting already
					}
					continue
				}
				stops++
				switch stops {
				case 1:
					cancel()
				case 2:
					close(abort)
				}
			}
		}
	}()
	return signals{ctx: ctx, abort: abort, reload: reload, stop: func() {
		signal.Stop(in)
		close(done)
		cancel()
	}}
}
