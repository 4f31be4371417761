// Package admin is the sidecar's HTTP side: metrics for machines, probes for supervisors.
// Everything it serves is read-only.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The bounds of one HTTP exchange.
const (
	readTimeout     = 5 * time.Second
	writeTimeout    = 30 * time.Second
	shutdownTimeout = time.Second
	probeTimeout    = 3 * time.Second
	headerLimit     = 8 << 10 // bytes; net/http adds 4 KB to it
)

// Readiness says why the sidecar is not ready to run jobs; no reason means it is.
type Readiness func(ctx context.Context) []string

// Handler serves GET /metrics, /healthz, /readyz and, for monitoring that asked the old list worker's, /probe.
func Handler(gatherer prometheus.Gatherer, ready Readiness, lists Lists, version string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, // a silent Redis must not hide the other metrics
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, probe{Status: "alive", Version: version})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		if reasons := ready(ctx); len(reasons) > 0 {
			writeJSON(w, http.StatusServiceUnavailable, probe{Status: "not ready", Version: version, Reasons: reasons})
			return
		}
		writeJSON(w, http.StatusOK, probe{Status: "ready", Version: version})
	})
	mux.Handle("GET /probe", newListProbe(lists))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintf(w, "sidecar %s\n\n"+
			"/metrics       Prometheus metrics\n"+
			"/healthz       is the process alive?\n"+
			"/readyz        can it run jobs, and if not, why?\n"+
			"/probe?queue=  how long are a list and its dead letter list? as the old list worker's probe answers\n", version)
	})
	return mux
}

// probe is the body of both probes. Its JSON names are a promise.
type probe struct {
	Status  string   `json:"status"`
	Version string   `json:"version"`
	Reasons []string `json:"reasons,omitempty"`
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// Serve answers on ln until ctx is done. It closes ln. Whoever can connect costs no more than a bounded number of
// descriptors, bounded memory for each, and never the process its jobs.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger) {
	srv := &http.Server{
		Handler:           withoutBody(h),
		MaxHeaderBytes:    headerLimit,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	srv.SetKeepAlivesEnabled(false) // an idle connection would hold a place
	stopped := context.AfterFunc(ctx, func() {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if srv.Shutdown(drain) != nil {
			_ = srv.Close()
		}
	})
	defer stopped()
	if err := srv.Serve(newLimited(ln, connectionsAtOnce)); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.ErrorContext(ctx, "admin server stopped", "error", err)
	}
}
