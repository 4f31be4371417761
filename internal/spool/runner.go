package spool

import (
	"context"
	"log/slog"
	"time"

	"sidecar/queue"
)

// Runner drains a spool again and again.
type Runner struct {
	opts    Options
	drainer *Drainer
	metrics *Metrics
	log     *slog.Logger

	said string // the last error that was logged; of Run's goroutine only
}

// NewRunner returns a Runner of the spool in opts, whose Every is above 0.
func NewRunner(opts Options, d *Drainer, m *Metrics, log *slog.Logger) *Runner {
	return &Runner{opts: opts, drainer: d, metrics: m, log: log.With("spool", opts.Name)}
}

// Run drains the spool every opts.Every until ctx is done.
func (r *Runner) Run(ctx context.Context) {
	tick := time.NewTicker(r.opts.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		r.runOnce(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// runOnce makes one pass.
func (r *Runner) runOnce(ctx context.Context) {
	pass := r.drainer.Begin(0, -1)
	var err error
	for more := true; more && err == nil; {
		before := pass.Progress().Added
		more, err = pass.Step(ctx)
		r.metrics.drained.WithLabelValues(r.opts.Name).Add(float64(pass.Progress().Added - before))
	}
	left, finishErr := pass.Finish(ctx)
	if finishErr == nil {
		r.metrics.left.WithLabelValues(r.opts.Name).Set(float64(left))
	}
	for _, next := range []error{finishErr, pass.Faults()} {
		if err == nil {
			err = next
		}
	}
	r.tell(ctx, pass.Progress(), left, err)
}

// tell logs what came of a pass: errors on change only.
func (r *Runner) tell(ctx context.Context, p Progress, left int, err error) {
	if ctx.Err() != nil {
		err = nil // it was cut off, and goes on elsewhere or after the next start
	}
	if p.Added+p.Before > 0 {
		r.log.InfoContext(ctx, "spool drained", "added", p.Added, "before", p.Before, "left", left)
	}
	said := ""
	if err != nil {
		said = err.Error()
		if fault := queue.FaultOf(err); fault.OfServer() { // the text has a port in it, another one with every try
			said = fault.String()
		}
		r.metrics.faults.WithLabelValues(r.opts.Name).Inc()
	}
	switch {
	case said == r.said:
	case err != nil:
		r.log.WarnContext(ctx, "spool not drained", "held", p.Held, "error", err)
	default:
		r.log.InfoContext(ctx, "spool can be drained again")
	}
	r.said = said
}
