package trace

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The results of an export, as the metric spells them.
const (
	exportSent   = "sent"
	exportFailed = "failed"
)

// Metrics count spans.
type Metrics struct {
	spans *prometheus.CounterVec
}

// NewMetrics registers them with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{spans: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sidecar_trace_spans_total", Help: "Spans by whether the trace collector took them.",
	}, []string{"result"})}
	for _, result := range []string{exportSent, exportFailed} {
		m.spans.WithLabelValues(result)
	}
	reg.MustRegister(m.spans)
	return m
}

// exporter counts what is exported and tells of a collector that is away, once at the beginning and once at the end of
// that. It hides errors from the SDK, which would hand them to a global handler.
type exporter struct {
	sdktrace.SpanExporter
	metrics *Metrics
	log     *slog.Logger

	mu   sync.Mutex
	away bool // guarded by mu
}

// ExportSpans implements the SDK's SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	result := exportSent
	if err != nil {
		result = exportFailed
	}
	e.metrics.spans.WithLabelValues(result).Add(float64(len(spans)))
	e.tell(ctx, err)
	return nil
}

func (e *exporter) tell(ctx context.Context, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	away := err != nil
	switch {
	case away && !e.away:
		e.log.WarnContext(ctx, "the trace collector does not take spans; they are dropped, jobs go on", "error", err)
	case !away && e.away:
		e.log.InfoContext(ctx, "the trace collector takes spans again")
	}
	e.away = away
}
