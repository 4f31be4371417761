package compat

import "context"

// TraceContext names the span that a run is part of, as W3C Trace Context writes it: traceparent and tracestate. Both are
// empty where nobody traces.
type TraceContext struct{ Parent, State string }

type traceContextKey struct{}

// WithTraceContext returns a context for a run that is part of t.
func WithTraceContext(ctx context.Context, t TraceContext) context.Context {
	return context.WithValue(ctx, traceContextKey{}, t)
}

// TraceContextOf returns the trace that ctx is part of, zero for none.
func TraceContextOf(ctx context.Context) TraceContext {
	t, _ := ctx.Value(traceContextKey{}).(TraceContext)
	return t
}
