package app

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/alert"
	"sidecar/internal/config"
	"sidecar/internal/mask"
)

func TestAnAlarmOfAPoolIsNoneOfATopic(t *testing.T) {
	pools, topics := alert.DefaultRule(), alert.DefaultRule()
	pools.Name, pools.For, pools.FPMDown = "down", 0, true
	topics.Name, topics.For, topics.OldestDue = "late", 0, alert.Over(300)
	o := alert.DefaultOptions()
	o.Rules, o.Zone = []alert.Rule{pools, topics}, time.UTC
	target := alert.DefaultTarget()
	target.Name, target.Kind, target.URL = "ops", alert.JSON, "http://127.0.0.1:1/"
	o.Targets = []alert.Target{target}
	a := &app{alerts: alert.NewEngine("web1:1", alert.NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))}
	a.alerts.Tick(t.Context(), o, alert.NewMemory(time.Now), alert.Snapshot{
		At: time.Now(), Pools: map[string]alert.Pool{"default": {Down: "refused"}},
		Topics: map[string]alert.Topic{"mail": {Known: true, OldestDue: 455551 * time.Millisecond}},
	})
	t.Cleanup(a.alerts.Wait)

	cfg := &config.Config{Alert: o}
	for range 2 { // then of rules that only others have
		got := (&panel{app: a, mask: mask.New(cfg.Admin.Mask)}).alarms(&generation{cfg: cfg}, time.Now())
		if len(got) != 2 {
			t.Fatalf("%d alarms, want 2", len(got))
		}
		if d := got[0]; d.Topic != "" || d.Pool != "default" || d.Text != "PHP-FPM does not answer: refused" || len(d.Readings) != 1 {
			t.Errorf("of the pool there is %+v", d)
		}
		if d := got[1]; d.Topic != "mail" || d.Pool != "" || d.Text != "oldest due job waits for: 7m36s > 5m0s" || d.Readings[0].Value != 455.551 {
			t.Errorf("of the topic there is %+v", d)
		}
		cfg = &config.Config{Alert: alert.DefaultOptions()}
	}
}
