package queue_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sidecar/compat"
	"sidecar/queue"
)

func TestEverySeriesExistsFromTheStart(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	queue.NewMetrics(reg, []string{"mail", "sms"})
	for name, want := range map[string]int{
		"sidecar_outcomes_total":           2 * len(compat.Verdicts()),
		"sidecar_redis_errors_total":       2 * len(queue.Faults()),
		"sidecar_run_duration_seconds":     2,
		"sidecar_lateness_seconds":         2,
		"sidecar_claims_total":             2,
		"sidecar_promoted_total":           2,
		"sidecar_expired_total":            2,
		"sidecar_leases_lost_total":        2,
		"sidecar_twins_total":              2,
		"sidecar_twins_merged_total":       2,
		"sidecar_readded_total":            2,
		"sidecar_settle_retries_total":     2,
		"sidecar_settle_abandoned_total":   2,
		"sidecar_backpressure":             2,
		"sidecar_backpressure_scans_total": 2,
		"sidecar_in_hand":                  2,
		"sidecar_buried_total":             2,
		"sidecar_unreadable_total":         2,
		"sidecar_done_before_total":        2,
	} {
		got, err := testutil.GatherAndCount(reg, name)
		if err != nil || got != want {
			t.Errorf("%s: got %d series (%v), want %d", name, got, err, want)
		}
	}
}

func TestMetricsFollowTheConventions(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	queue.NewMetrics(reg, []string{"mail"})
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestAForgottenTopicLeavesNoSeries(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := queue.NewMetrics(reg, []string{"mail", "sms"})
	both, err := testutil.GatherAndCount(reg)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := testutil.GatherAndCount(reg, "sidecar_redis_script_seconds") // the scripts', of all topics together
	if err != nil {
		t.Fatal(err)
	}
	m.Forget("sms")
	if one, err := testutil.GatherAndCount(reg); err != nil || 2*(one-shared) != both-shared {
		t.Errorf("%d of %d series are left (%v), %d of them shared, want half of the others", one, both, err, shared)
	}
}
