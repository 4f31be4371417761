// Package admin is the sidecar's HTTP side: metrics for machines, probes for supervisors, and the door to the dashboard
// and the JSON API, which are the only ones behind which anything can be changed.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sidecar/internal/dash"
	"sidecar/queue"
)

// The bounds of one HTTP exchange.
const (
	readTimeout     = 5 * time.Second
	writeTimeout    = 30 * time.Second
	shutdownTimeout = time.Second
	idleTimeout     = 2 * time.Second // no longer than a silent client holds a place anyway
	probeTimeout    = 3 * time.Second
	headerLimit     = 8 << 10 // bytes; net/http adds 4 KB to it
)

// Readiness says why the sidecar is not ready to run jobs; no reason means it is.
type Readiness func(ctx context.Context) []string

// Holds says what holds topics back on purpose: pauses, windows, breakers, rates. It is no reason not to be ready.
type Holds func() []queue.HeldTopic

// Handler serves GET /metrics, /healthz, /readyz and, for monitoring that asked the old list worker's, /probe.
func Handler(gatherer prometheus.Gatherer, ready Readiness, holds Holds, lists Lists, version string) http.Handler {
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
		reasons := ready(ctx)
		answer, code := probe{Status: "ready", Version: version, Reasons: reasons, Holds: holds()}, http.StatusOK
		if len(reasons) > 0 {
			answer.Status, code = "not ready", http.StatusServiceUnavailable
		}
		writeJSON(w, code, answer)
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
	return withoutBody(mux)
}

// Options are what is served beside metrics and probes.
type Options struct {
	Gatherer prometheus.Gatherer
	Ready    Readiness
	Holds    Holds
	Lists    Lists
	Version  string

	Door   DoorOptions
	Pages  Pages
	Source dash.Source
}

// New serves what [Handler] does, the first page in the place of its list for browsers, and behind a door the dashboard's pages
// and the JSON API.
func New(o Options) http.Handler {
	door := NewDoor(o.Door)
	machines := closing(door.byName(Guard(Handler(o.Gatherer, o.Ready, o.Holds, o.Lists, o.Version), o.Door.Token)))
	people := door.Pages(o.Pages)
	mux := http.NewServeMux()
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/probe"} {
		mux.Handle(path, machines)
	}
	mux.Handle(apiRoot+"/", door.API(o.Source))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("live") || strings.Contains(r.Header.Get("Accept"), "text/html") {
			people.ServeHTTP(w, r)
			return
		}
		machines.ServeHTTP(w, r)
	})
	mux.Handle("/", people)
	return mux
}

// closing ends the connection with each answer: what asks every few seconds needs no place in between.
func closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		h.ServeHTTP(w, r)
	})
}

// probe is the body of both probes. Its JSON names are a promise.
type probe struct {
	Status  string            `json:"status"`
	Version string            `json:"version"`
	Reasons []string          `json:"reasons,omitempty"`
	Holds   []queue.HeldTopic `json:"holds,omitempty"` // of /readyz
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
		Handler:           h,
		MaxHeaderBytes:    headerLimit,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx }, // so that streams end with it
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
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
