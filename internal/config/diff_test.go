package config_test

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/queue"
)

func TestDurationsAreToldAsTheFileWritesThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0s": "0s", "30s": "30s", "10m0s": "10m", "1h0m0s": "1h", "1h30m": "1h30m", "1h0m1s": "1h0m1s", "1.5s": "1.5s", "100ms": "100ms", "24h": "24h",
	} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Written(d); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
	rule := func(limits string) *config.Config {
		return parse(t, diffBase+"[alert.target.ops]\nkind = \"json\"\nurl = \"http://127.0.0.1/\"\n[alert.rule.slow]\n"+limits)
	}
	got := config.Diff(rule("paused_for = \"1h\"\nredis_latency = \"1.1s\""), rule("paused_for = \"90s\"\nredis_latency = \"20ms\""))
	want := []config.Change{{`alert.rule "slow"`, "paused_for", "1h", "1m30s"}, {`alert.rule "slow"`, "redis_latency", "1.1s", "20ms"}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

const diffBase = `
[fpm.default]
listen = "unix:///run/php.sock"
[topic.mail]
script = "/srv/mail.php"
retry = ["5s"]
[topic.old]
script = "/srv/old.php"
`

func TestDiffNamesWhatChangesWithItsValues(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(diffBase, "topic.old", "topic.new")
	text = strings.Replace(text, `retry = ["5s"]`, `retry = ["5s", "1m"]`+"\nworkers = 3\nrate = \"10/s\"\npause_windows = [\"02:00-04:00\"]\nsuccess_body = '^ok'", 1)
	text = strings.Replace(text, `php.sock"`, `php.sock"`+"\nchildren = 4", 1)
	got := config.Diff(parse(t, diffBase), parse(t, "grace = \"5s\"\nlog_level = \"debug\"\n"+text))
	want := []config.Change{
		{"", "grace", "25s", "5s"},
		{"", "log_level", "INFO", "DEBUG"},
		{`fpm "default"`, "children", "8", "4"},
		{`topic "mail"`, "pause_windows", "[]", "[02:00-04:00]"},
		{`topic "mail"`, "rate", "", "10/s"},
		{`topic "mail"`, "retry", "[5s]", "[5s 1m]"},
		{`topic "mail"`, "success_body", "", "^ok"},
		{`topic "mail"`, "workers", "8", "3"},
		{`topic "new"`, "", "", "there"},
		{`topic "old"`, "", "there", ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if same := config.Diff(parse(t, text), parse(t, text)); len(same) != 0 {
		t.Errorf("two readings of one file differ by %q", same)
	}
}

const diffAlert = `
[trace]
endpoint = "http://127.0.0.1:4318"
[alert.target.ops]
kind = "json"
url = "http://127.0.0.1/"
[alert.target.old]
kind = "json"
url = "http://127.0.0.1/"
[alert.rule.backlog]
backlog = 1000
oldest_due = "5m"
`

func TestDiffNamesTargetsRulesAndRoutes(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("target.old", "target.new", "backlog = 1000", "backlog = 2000\ndead = 5", `oldest_due = "5m"`, `for = "1m"`,
		":4318", ":4319", `"json"`, `"json"`+"\nrate = 5").Replace(diffAlert)
	got := config.Diff(parse(t, diffBase+diffAlert), parse(t, diffBase+text))
	want := []config.Change{
		{`alert.rule "backlog"`, "backlog", "1000", "2000"},
		{`alert.rule "backlog"`, "dead", "", "5"},
		{`alert.rule "backlog"`, "for", "5m", "1m"},
		{`alert.rule "backlog"`, "oldest_due", "5m", ""},
		{`alert.target "new"`, "", "", "there"},
		{`alert.target "old"`, "", "there", ""},
		{`alert.target "ops"`, "rate", "10", "5"},
		{"trace", "endpoint", "http://127.0.0.1:4318", "http://127.0.0.1:4319"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestDiffNamesWhatChangesInAlarms(t *testing.T) {
	t.Parallel()
	const target = "[alert.target.ops]\nkind = \"json\"\nurl = \"https://ops.internal/first-secret\"\n"
	const more = "timezone = \"Asia/Shanghai\"\n[alert]\nbuiltin = true\nlanguage = \"zh\"\n[alert.rule.backlog]\nbacklog = 50\n"
	changes := config.Diff(parse(t, diffBase+target), parse(t, more+diffBase+strings.ReplaceAll(target, "first", "second")))
	want := []config.Change{
		{"", "timezone", "Local", "Asia/Shanghai"},
		{"alert", "language", "en", "zh"},
		{`alert.rule "backlog"`, "backlog", "1000", "50"},
		{`alert.target "ops"`, "url", "[hidden]", "[hidden]"},
	}
	if !slices.Equal(changes, want) {
		t.Errorf("got  %q\nwant %q", changes, want)
	}
}

func TestDiffTellsOfEachSecretAndShowsNone(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(c *config.Config, s queue.Secret){
		"redis password": func(c *config.Config, s queue.Secret) { c.Redis.Password = s },
		"redis url":      func(c *config.Config, s queue.Secret) { c.Redis.URL = "redis://u:" + string(s) + "@a" },
		"admin token_file": func(c *config.Config, s queue.Secret) {
			c.Admin.Token = s
		},
		"trace headers_file": func(c *config.Config, s queue.Secret) {
			c.Trace.Headers = map[string]queue.Secret{"Authorization": s}
		},
		`alert.target "ops" url`:         func(c *config.Config, s queue.Secret) { c.Alert.Targets[1].URL = s },
		`alert.target "ops" secret_file`: func(c *config.Config, s queue.Secret) { c.Alert.Targets[1].Secret = s },
	} {
		a, b := parse(t, diffBase+diffAlert), parse(t, diffBase+diffAlert)
		set(a, "first-secret")
		set(b, "second-secret")
		got := config.Diff(a, b)
		if len(got) != 1 || got[0].Table+" "+got[0].Option != name || got[0].From != got[0].To || strings.Contains(got[0].To, "secret") {
			t.Errorf("%s: told is %q", name, got)
		}
		set(a, "second-secret")
		if got := config.Diff(a, b); len(got) != 0 {
			t.Errorf("%s has not changed: %q", name, got)
		}
	}
}

// Whoever reads of a change looks for the option in the file.
func TestDiffNamesOptionsAsTheFileDoes(t *testing.T) {
	t.Parallel()
	keys := map[string][]string{}
	for _, home := range config.Schema() {
		keys[home.Name] = home.Keys
	}
	named := regexp.MustCompile(` ?"[^"]*"`)
	seen := map[string]bool{}
	for table, names := range config.OptionNames(everyOption(t)) {
		home := "[" + strings.ReplaceAll(named.ReplaceAllString(strings.Replace(table, ": route", ".route", 1), ".<name>"), "route.<name>", "route.<type>") + "]"
		if table == "" {
			home = "the top of the file"
		}
		if seen[home] = true; keys[home] == nil {
			t.Errorf("%s is no table of the file", home)
		}
		for _, name := range names {
			if !slices.Contains(keys[home], name) && !slices.Contains(keys[home], name+"_file") {
				t.Errorf("%s has no %s", home, name)
			}
		}
	}
	for home := range keys {
		if !seen[home] && home != "[defaults]" {
			t.Errorf("of %s no change is told", home)
		}
	}
}

// An option that is added is forgotten here by nobody.
func TestEveryFieldOfTheConfigurationIsToldOrLeftOut(t *testing.T) {
	t.Parallel()
	told := map[string]bool{} // in one table at least
	a := everyOption(t)
	for i := 0; ; i++ {
		b := everyOption(t)
		w := walk{change: i}
		w.into(reflect.ValueOf(b).Elem(), "")
		if w.changed == "" {
			break
		}
		told[w.changed] = told[w.changed] || len(config.Diff(a, b)) > 0
	}
	var untold []string
	for _, path := range slices.Sorted(maps.Keys(told)) {
		if !told[path] {
			untold = append(untold, path)
		}
	}
	want := []string{
		"Alert.Zone", // the top's timezone
		"FPM.Name",
		"Path",
		"Topics.FPM.Topic",
		"Topics.FPM.Workers", // Queue's
		"Topics.Queue.List.Default",
		"Topics.Queue.List.Foreign",
		"Topics.Queue.List.Types",
		"Topics.Queue.LookAhead",
		"Topics.Queue.Topic",
	}
	if !slices.Equal(untold, want) {
		t.Errorf("not told are %q\nwant %q", untold, want)
	}
}

// everyOption returns a configuration with every table and option.
func everyOption(t *testing.T) *config.Config {
	t.Helper()
	data, err := os.ReadFile("../../testdata/config/valid-every-option.toml")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data))
}

// walk goes over all values of a configuration in the same order each time, and changes one of them.
type walk struct {
	change, at int
	changed    string // its path
}

// opaque are types whose values show nothing of their parts.
var opaque = []reflect.Type{reflect.TypeFor[*time.Location](), reflect.TypeFor[*regexp.Regexp](), reflect.TypeFor[[]queue.Window]()}

func (w *walk) into(v reflect.Value, path string) {
	switch {
	case slices.Contains(opaque, v.Type()):
		w.leaf(v, path)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		w.into(v.Elem(), path)
	case v.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if f.IsExported() && len(f.Index) == 1 {
				w.into(v.FieldByIndex(f.Index), strings.TrimPrefix(path+"."+f.Name, "."))
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		for i := range v.Len() {
			w.into(v.Index(i), path)
		}
	case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		for _, name := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(name))
			w.into(one, path)
			v.SetMapIndex(name, one)
		}
	case v.Kind() != reflect.Pointer && v.Type() != reflect.TypeFor[map[string]fastcgi.Target](): // nil ones
		w.leaf(v, path)
	}
}

// leaf changes the value whose turn it is.
func (w *walk) leaf(v reflect.Value, path string) {
	if w.at++; w.at != w.change+1 {
		return
	}
	w.changed = path
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		v.SetBool(!v.Bool())
	case kind == reflect.String:
		v.SetString(v.String() + "x")
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	case kind == reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		if one.Kind() == reflect.String {
			one.SetString("x")
		} else if v.Len() > 0 {
			one = v.Index(0)
		}
		v.Set(reflect.Append(v, one))
	case kind == reflect.Map:
		v.Set(reflect.ValueOf(map[string]queue.Secret{"X": "x"}))
	default:
		v.Set(other(v))
	}
}

// other returns another value than v, a pattern or a time zone.
func other(v reflect.Value) reflect.Value {
	if v.Type() == reflect.TypeFor[*time.Location]() {
		return reflect.ValueOf(time.FixedZone("other", 1))
	}
	return reflect.ValueOf(regexp.MustCompile("other"))
}
