package deploy_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// rules is a file of rules for Prometheus, as far as it is read here.
type rules struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Alert, Record, Expr, For string
	Labels, Annotations      map[string]string
}

// ruleTests is a file for promtool test rules, likewise.
type ruleTests struct {
	RuleFiles          []string `yaml:"rule_files"`
	EvaluationInterval string   `yaml:"evaluation_interval"`
	Tests              []struct {
		Interval    string
		InputSeries []struct{ Series, Values string } `yaml:"input_series"`
		Exprs       []struct {
			Expr       string
			EvalTime   string `yaml:"eval_time"`
			ExpSamples []struct {
				Labels string
				Value  float64
			} `yaml:"exp_samples"`
		} `yaml:"promql_expr_test"`
	}
}

// decode reads a YAML file into v, every field of which must be known.
func decode(t *testing.T, path string, v any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader([]byte(read(t, path))))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func readRules(t *testing.T) (all []rule) {
	t.Helper()
	var file rules
	decode(t, "prometheus/sidecar.rules.yml", &file)
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func TestAlertsFireAndStaySilent(t *testing.T) {
	t.Parallel()
	promtool(t, "prometheus", "check", "rules", "sidecar.rules.yml")
	promtool(t, "prometheus", "test", "rules", "tests.yml")
}

// An alert that is in no scenario could be misspelt and never fire.
func TestEveryAlertHasAScenario(t *testing.T) {
	t.Parallel()
	var tests ruleTests
	decode(t, "prometheus/tests.yml", &tests)
	fired := map[string]bool{}
	usual := 0
	for _, scenario := range tests.Tests {
		silent, alerts := 0, 0
		for _, e := range scenario.Exprs {
			if len(e.ExpSamples) == 0 {
				silent++
			}
			for _, s := range e.ExpSamples {
				if name := regexp.MustCompile(`^\{alertname="(\w+)"\}$`).FindStringSubmatch(s.Labels); name != nil {
					fired[name[1]] = true
					alerts++
				}
			}
		}
		if alerts > 0 && silent == 0 {
			t.Errorf("a scenario fires from its first look on: %v", scenario.Exprs)
		}
		if silent == len(scenario.Exprs) {
			usual++
		}
	}
	if usual != 1 {
		t.Errorf("%d scenarios in which nothing fires, want the one of what is usual", usual)
	}
	for _, r := range readRules(t) {
		if r.Alert != "" && !fired[r.Alert] {
			t.Errorf("%s fires in no scenario", r.Alert)
		}
	}
}

// Whoever is woken at night reads these, and nothing else.
func TestEveryAlertSaysWhatToDo(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Sidecar") {
			t.Errorf("%s: want a name of its own that begins with Sidecar", r.Alert)
		}
		seen[r.Alert] = true
		if !slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) {
			t.Errorf("%s: severity is %q, want page or ticket", r.Alert, r.Labels["severity"])
		}
		for note, least := range map[string]int{"summary": 20, "description": 15, "runbook": 40} {
			if len(r.Annotations[note]) < least {
				t.Errorf("%s: %s is %q, want a sentence that helps", r.Alert, note, r.Annotations[note])
			}
		}
	}
}

// verbs are the sidecar's own commands in a text, up to their arguments.
var verbs = regexp.MustCompile("`sidecar ((?:[a-z]+ ?)+)")

func TestRunbooksCallVerbsThatThereAre(t *testing.T) {
	t.Parallel()
	page := read(t, "../docs/commands.md")
	found := 0
	for _, r := range readRules(t) {
		for _, call := range verbs.FindAllStringSubmatch(r.Annotations["runbook"], -1) {
			found++
			if words := strings.Fields(call[1]); !hasVerb(page, words[:1]) && !hasVerb(page, words[:min(2, len(words))]) {
				t.Errorf("%s: docs/commands.md knows no `sidecar %s`", r.Alert, strings.TrimSpace(call[1]))
			}
		}
	}
	if found == 0 {
		t.Error("no runbook calls a verb")
	}
}

func hasVerb(page string, words []string) bool {
	return strings.Contains(page, "\n### sidecar "+strings.Join(words, " ")+"\n")
}

func TestRulesUseWhatIsExported(t *testing.T) {
	t.Parallel()
	known := exportedMetrics(t)
	for _, r := range readRules(t) {
		if r.Record != "" {
			known[r.Record] = nil
		}
	}
	for _, r := range readRules(t) {
		checkExpr(t, r.Alert+r.Record, r.Expr, known)
	}
	var tests ruleTests
	decode(t, "prometheus/tests.yml", &tests)
	for _, scenario := range tests.Tests {
		for _, s := range scenario.InputSeries {
			checkExpr(t, "tests.yml", s.Series, known)
		}
	}
}
