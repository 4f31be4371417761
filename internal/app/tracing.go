package app

import (
	"context"
	"time"

	"sidecar/internal/trace"
)

// tracesLast is how long the last spans may take to get away at the end.
const tracesLast = time.Second

// openTracer begins to trace, if o says where to, and returns what ends that.
func (a *app) openTracer(ctx context.Context, o trace.Options) (closeTracer func(), err error) {
	if o.Endpoint == "" {
		return func() {}, nil
	}
	tracer, err := trace.Open(ctx, o, a.opts.Version, a.tracing, a.log)
	if err != nil {
		return nil, err
	}
	a.tracer = tracer
	a.log.InfoContext(ctx, "tracing", "sample", o.Sample, "service", o.Service)
	return func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesLast)
		defer cancel()
		if err := tracer.Close(last); err != nil {
			a.log.WarnContext(last, "the last spans did not get away", "error", err)
		}
	}, nil
}
