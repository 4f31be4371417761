// Package trace tells an OpenTelemetry collector of jobs (docs/decisions/0026): one span a claim, in it those of the
// claim's request, of the run and of the settlement, under the traceparent that the job brought along. It is the only
// package that knows OpenTelemetry.
package trace

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"sidecar/compat"
	"sidecar/queue"
)

// The bounds of what a collector that is slow or away may cost.
const (
	exportTimeout = 10 * time.Second
	exportEvery   = 2 * time.Second
	spansWaiting  = 8192 // those beyond are dropped
)

// Tracer makes the spans of jobs and sends them. It implements [queue.Tracer].
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	parents  propagation.TraceContext
}

// Open returns a Tracer that sends to o.Endpoint. Nothing is dialled yet, and a collector that is away costs the spans only.
func Open(ctx context.Context, o Options, version string, metrics *Metrics, log *slog.Logger) (*Tracer, error) {
	client, err := otlptracehttp.New(ctx, o.clientOptions()...)
	if err != nil {
		return nil, fmt.Errorf("make the exporter for %s: %w", o.url(), err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&exporter{SpanExporter: client, metrics: metrics, log: log}, sdktrace.WithMaxQueueSize(spansWaiting), sdktrace.WithBatchTimeout(exportEvery)),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sample))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", o.Service), attribute.String("service.version", version), attribute.String("telemetry.sdk.language", "go"),
		)),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("sidecar")}, nil
}

// clientOptions are what the exporter's client is told. Any headers would stand in place of those that the environment names, none at
// all, too.
func (o Options) clientOptions() []otlptracehttp.Option {
	all := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(o.url()),
		otlptracehttp.WithTimeout(exportTimeout), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
	}
	if len(o.Headers) == 0 {
		return all
	}
	headers := make(map[string]string, len(o.Headers))
	for name, value := range o.Headers {
		headers[name] = string(value)
	}
	return append(all, otlptracehttp.WithHeaders(headers))
}

// Close sends what waits, for as long as ctx lets it.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Claimed implements [queue.Tracer]. The parent is the job's own traceparent, if that is one.
func (t *Tracer) Claimed(topic string, job compat.Job, asked, given time.Time) queue.JobTrace {
	parent := t.parents.Extract(context.Background(), propagation.MapCarrier{
		"traceparent": job.Lookup("traceparent"), "tracestate": job.Lookup("tracestate"),
	})
	ctx, whole := t.tracer.Start(parent, "process "+topic, trace.WithTimestamp(asked), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("messaging.system", "redis"),
		attribute.String("messaging.destination.name", topic),
		attribute.String("messaging.operation.type", "process"),
		attribute.String("messaging.operation.name", "process"),
		attribute.String("messaging.message.id", job.PlainUUID()),
		attribute.Int("sidecar.tries", job.Tries()),
		attribute.Int("sidecar.crashes", job.Crashes()),
	))
	j := &jobTrace{tracer: t, topic: topic, whole: whole}
	_, receive := j.start(ctx, "receive", asked)
	receive.End(trace.WithTimestamp(given))
	return j
}
