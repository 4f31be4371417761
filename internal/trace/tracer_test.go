package trace_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/compat"
	"sidecar/internal/trace"
	"sidecar/queue"
)

func TestHeadersOfTheEnvironmentHoldWhereNoFileNamesAny(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=of-the-environment")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	for want, headers := range map[string]map[string]queue.Secret{
		"of-the-environment": nil,
		"of-the-file":        {"Authorization": "of-the-file"},
	} {
		requests := make(chan *http.Request, 1)
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r }))
		t.Cleanup(collector.Close)
		o := trace.DefaultOptions()
		o.Endpoint, o.Headers = collector.URL, headers
		tracer, err := trace.Open(t.Context(), o, "dev", trace.NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		job, err := compat.ParseJob(`{"uuid":"one"}`)
		if err != nil {
			t.Fatal(err)
		}
		tracer.Claimed("mail", job, time.Now(), time.Now())
		if err := tracer.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(requests) == 0 {
			t.Fatal("nothing was sent")
		}
		r := <-requests
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("authorization is %q, want %q", got, want)
		}
		if got := r.Header.Get("Content-Encoding"); got != "gzip" {
			t.Errorf("compressed by %q, want gzip whatever the environment says", got)
		}
	}
}
