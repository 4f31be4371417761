package deploy_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is a dashboard of Grafana, as far as it is read here.
type dashboard struct {
	ID            *int
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct{ List []variable }
	Annotations   struct {
		List []struct {
			Expr       string
			Datasource datasource
		}
	}
}

type datasource struct{ Type, UID string }

type variable struct {
	Name, Type, Definition string
	Datasource             *datasource
}

type panel struct {
	ID          int
	Type, Title string
	Description string
	GridPos     struct{ H, W, X, Y int }
	Datasource  *datasource
	Targets     []struct {
		RefID      string
		Expr       string
		Datasource *datasource
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "grafana/sidecar.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// One with an id of another Grafana's database cannot be imported; one without an own uid makes a new one each time.
func TestTheDashboardCanBeImported(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	if d.ID != nil || d.UID == "" || d.Title == "" || d.SchemaVersion < 36 {
		t.Errorf("id %v, uid %q, title %q, schema %d", d.ID, d.UID, d.Title, d.SchemaVersion)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if p.ID <= 0 || ids[p.ID] {
			t.Errorf("%q: id %d is taken or none", p.Title, p.ID)
		}
		ids[p.ID] = true
		if !slices.Contains([]string{"row", "stat", "timeseries", "table"}, p.Type) {
			t.Errorf("%q is a %q, which not every Grafana has", p.Title, p.Type)
		}
		if p.Title == "" || p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %d: title %q, description %q, %d targets", p.ID, p.Title, p.Description, len(p.Targets))
		}
	}
}

func TestNoPanelLiesOnAnother(t *testing.T) {
	t.Parallel()
	taken := map[string]string{} // by "x y"
	for _, p := range readDashboard(t).Panels {
		g := p.GridPos
		if g.W <= 0 || g.H <= 0 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%q: %+v, want it within 24 columns", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				at := fmt.Sprint(x, " ", y)
				if other := taken[at]; other != "" {
					t.Fatalf("%q lies on %q", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
	}
}

// A data source by name or id is another one's.
func TestThePanelsAskTheChosenDataSource(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	want := datasource{"prometheus", "${datasource}"}
	check := func(where string, got *datasource) {
		if got == nil || *got != want {
			t.Errorf("%s: data source %v, want %v", where, got, want)
		}
	}
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		check(p.Title, p.Datasource)
		for _, target := range p.Targets {
			check(p.Title+" "+target.RefID, target.Datasource)
		}
	}
	for _, a := range d.Annotations.List {
		check("annotation", &a.Datasource)
	}
	for i, v := range d.Templating.List {
		if i == 0 && (v.Name != "datasource" || v.Type != "datasource") {
			t.Errorf("the first variable is %s, want the data source: the others are asked of it", v.Name)
		} else if i > 0 {
			check("$"+v.Name, v.Datasource)
		}
	}
}

func TestTheDashboardAsksForWhatIsExported(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	known := exportedMetrics(t)
	var used strings.Builder
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			checkExpr(t, p.Title, filled(target.Expr), known)
			used.WriteString(target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := regexp.MustCompile(`^label_values\((.+), ([a-z]+)\)$`).FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("$%s: %q is no label_values", v.Name, v.Definition)
			continue
		}
		checkExpr(t, "$"+v.Name, "sum by ("+m[2]+") ("+filled(m[1])+")", known)
		if !strings.Contains(used.String(), `=~"$`+v.Name+`"`) {
			t.Errorf("no panel goes by $%s", v.Name)
		}
	}
}

// promtool reads expressions in rules only, so each panel's becomes one.
func TestTheDashboardsExpressionsAreValid(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	file.WriteString("groups:\n  - name: panels\n    rules:\n")
	n := 0
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			n++
			expr, err := json.Marshal(filled(target.Expr)) // a JSON text is a YAML text
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&file, "      - record: panel:%d:%s%d\n        expr: %s\n", p.ID, strings.ToLower(target.RefID), n, expr)
		}
	}
	if n < 30 {
		t.Errorf("%d expressions found", n)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "panels.yml"), file.String(), 0o600)
	promtool(t, dir, "check", "rules", "panels.yml")
}

// filled returns an expression with what Grafana puts in for its variables.
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$job", "sidecar", "$topic", "mail|sms", "$pool", ".*").Replace(expr)
}
