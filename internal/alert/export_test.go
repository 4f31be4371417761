package alert

import (
	"log/slog"
	"net/http"
	"time"
)

// NewEngineAt is NewEngine with a clock and a client of the test's.
func NewEngineAt(instance string, client *http.Client, m *Metrics, log *slog.Logger, now func() time.Time) *Engine {
	return newEngine(instance, client, m, log, now)
}
