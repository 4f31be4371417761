package trace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"sidecar/compat"
)

// jobTrace is the span of one claim and that of its part under way, if there is one.
type jobTrace struct {
	tracer *Tracer
	topic  string
	whole  trace.Span
	part   trace.Span
}

// start begins a part of the claim's span, at some time or now.
func (j *jobTrace) start(ctx context.Context, name string, at time.Time) (context.Context, trace.Span) {
	return j.tracer.tracer.Start(trace.ContextWithSpan(ctx, j.whole), name+" "+j.topic, trace.WithTimestamp(at), trace.WithSpanKind(trace.SpanKindClient))
}

// Running implements [queue.JobTrace].
func (j *jobTrace) Running(ctx context.Context) context.Context {
	ctx, j.part = j.start(ctx, "run", time.Now())
	told := propagation.MapCarrier{}
	j.tracer.parents.Inject(ctx, told)
	return compat.WithTraceContext(ctx, compat.TraceContext{Parent: told["traceparent"], State: told["tracestate"]})
}

// Ran implements [queue.JobTrace]. What the handler said of a failure stays out of the trace: it may hold personal data.
func (j *jobTrace) Ran(o compat.Outcome) {
	verdict := o.Verdict.String()
	for _, span := range []trace.Span{j.part, j.whole} {
		span.SetAttributes(attribute.String("sidecar.outcome", verdict))
		switch o.Verdict {
		case compat.Failed, compat.Rejected, compat.Crashed, compat.TimedOut, compat.Unavailable:
			span.SetAttributes(attribute.String("error.type", verdict))
			span.SetStatus(codes.Error, verdict)
		case compat.Done, compat.Deferred:
		}
	}
	j.part.End()
	_, j.part = j.start(context.Background(), "settle", time.Now())
}

// Settled implements [queue.JobTrace].
func (j *jobTrace) Settled(action string) {
	became := attribute.String("sidecar.action", action)
	if j.part != nil {
		j.part.SetAttributes(became)
		j.part.End()
	}
	j.whole.SetAttributes(became)
	j.whole.End()
}
