package deploy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// metricRow is a metric as docs/metrics.md lists it: name, type, labels. internal/app holds that page to the registry.
var metricRow = regexp.MustCompile("(?m)^\\| `(sidecar_[a-z_]+)` \\| ([a-z]+) \\| ([a-z, ]+) \\|")

// scraped are metrics that are not the sidecar's own: Prometheus's, and those of its client for Go.
var scraped = []string{
	"up", "ALERTS", "process_open_fds", "process_max_fds", "process_resident_memory_bytes", "process_cpu_seconds_total",
}

// byPrometheus are labels that every series has once it is scraped.
var byPrometheus = []string{"job", "instance"}

// exportedMetrics returns the labels of each series that a sidecar exports; nil where any may be.
func exportedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	for _, m := range metricRow.FindAllStringSubmatch(read(t, "../docs/metrics.md"), -1) {
		name, kind, labels := m[1], m[2], append(strings.Split(m[3], ", "), byPrometheus...)
		if kind != "histogram" {
			known[name] = labels
			continue
		}
		known[name+"_count"], known[name+"_sum"] = labels, labels
		known[name+"_bucket"] = append(slices.Clone(labels), "le")
	}
	if len(known) < 60 {
		t.Fatalf("%d metrics on the page", len(known))
	}
	for _, name := range scraped {
		known[name] = nil
	}
	return known
}

var (
	selector = regexp.MustCompile(`\b((?:[a-z_]+:)?(?:sidecar|process|go)_[a-z_0-9]+(?::[a-z_0-9]+)?|up|ALERTS)\b(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping = regexp.MustCompile(`\b(?:by|on)\s*\(([a-z_, ]+)\)`)
	quoted   = regexp.MustCompile(`"[^"]*"`)
)

// checkExpr checks that the metrics of a PromQL expression are known, and have the labels that it selects and groups by.
func checkExpr(t *testing.T, where, expr string, known map[string][]string) {
	t.Helper()
	for _, fault := range exprFaults(expr, known) {
		t.Errorf("%s: %s, in %s", where, fault, expr)
	}
}

func exprFaults(expr string, known map[string][]string) (faults []string) {
	bare := quoted.ReplaceAllString(expr, `""`)
	found := selector.FindAllStringSubmatch(bare, -1)
	if len(found) == 0 {
		return []string{"no metric"}
	}
	var labels []string
	free := false // one of them may have any label
	for _, m := range found {
		has, ok := known[m[1]]
		if !ok {
			faults = append(faults, m[1]+" is not exported")
		}
		labels, free = append(labels, has...), free || has == nil
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if has != nil && !slices.Contains(has, l[1]) {
				faults = append(faults, m[1]+" has no label "+l[1])
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(bare, -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			if label = strings.TrimSpace(label); !free && !slices.Contains(labels, label) {
				faults = append(faults, "nothing has the label "+label)
			}
		}
	}
	return faults
}

func TestWhatIsNotExportedIsFound(t *testing.T) {
	known := map[string][]string{"sidecar_depth_jobs": {"topic", "job"}}
	for _, expr := range []string{
		`sidecar_depths_jobs > 1`, `max by (key) (sidecar_depth_jobs)`, `sidecar_depth_jobs{queue="mail"}`, `1 > 0`,
	} {
		if exprFaults(expr, known) == nil {
			t.Errorf("nothing is said of %s", expr)
		}
	}
	if faults := exprFaults(`sum by (topic) (rate(sidecar_depth_jobs{job=~"a|b"}[5m]))`, known); faults != nil {
		t.Errorf("got %q", faults)
	}
}
