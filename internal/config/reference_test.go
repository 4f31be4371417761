package config_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sidecar/fastcgi"
	"sidecar/internal/alert"
	"sidecar/internal/config"
	"sidecar/internal/spool"

	"github.com/BurntSushi/toml"
)

// option matches a line of sidecar.toml that sets a key, commented out or not, with its explanation.
var option = regexp.MustCompile(`^#?([a-z_]+ = |\[)`)

// reference returns the repository's sidecar.toml, as it is and with every option taken out of its comment.
func reference(t *testing.T) (asIs, complete string) {
	t.Helper()
	data, err := os.ReadFile("../../sidecar.toml")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if option.MatchString(line) {
			line = strings.TrimPrefix(line, "#")
		}
		b.WriteString(line)
	}
	return string(data), b.String()
}

func TestTheRepositorysFileSaysTheDefaults(t *testing.T) {
	asIs, complete := reference(t)
	want := parse(t, asIs)
	got := parse(t, complete)
	if len(got.Warnings()) > 0 || len(want.Warnings()) > 0 {
		t.Errorf("it warns: %q %q", want.Warnings(), got.Warnings())
	}
	isTopic := func(t config.Topic) bool { return t.Queue.List == nil }
	wantListDefaults(t, slices.DeleteFunc(slices.Clone(got.Topics), isTopic))
	got.Topics = slices.DeleteFunc(got.Topics, func(t config.Topic) bool { return !isTopic(t) })
	wantSpoolDefaults(t, got.Spools)
	got.Spools = nil
	wantAlertDefaults(t, got.Alert)
	got.Alert = want.Alert
	// Only how an empty array is kept may differ.
	got.Redis.Addrs, want.Redis.Addrs = nil, nil
	got.Admin.Hosts, got.Admin.Mask = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("an option is written with another value than its default\n got %+v\nwant %+v", got, want)
	}
	plain := config.Default()
	plain.Path, plain.FPM, plain.Topics = got.Path, got.FPM, got.Topics
	if !reflect.DeepEqual(*got, plain) {
		t.Errorf("its live lines change a default\n got %+v\nwant %+v", *got, plain)
	}
}

// wantListDefaults fails unless lists is one that differs from a list's defaults in what each list must say itself.
func wantListDefaults(t *testing.T, lists []config.Topic) {
	t.Helper()
	if len(lists) != 1 {
		t.Fatalf("it shows %d lists, want one", len(lists))
	}
	got, want := lists[0], config.DefaultList()
	want.Name, want.Queue.Topic, want.FPM.Topic = got.Name, got.Name, got.Name
	want.Queue.List.Key, want.Queue.List.Dead, want.FPM.Script = "queue:prod:send_sms", "queue:prod:dead_letter", got.FPM.Script
	want.Queue.List.Types, want.Queue.List.Default = []string{"send_sms", "sms_template"}, true
	want.Queue.Workers, want.FPM.Workers = 8, 8 // the pool's children
	want.FPM.Routes = map[string]fastcgi.Target{"sms_template": {Script: "/srv/shop/jobs/sms_template.php"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("an option of the list is written with another value than its default\n got %+v\nwant %+v", got, want)
	}
}

// wantSpoolDefaults fails unless spools is one that differs from a spool's defaults in its dsn alone.
func wantSpoolDefaults(t *testing.T, spools []spool.Options) {
	t.Helper()
	want := spool.DefaultOptions()
	want.Name, want.DSN = "web", "sqlite:/var/lib/shop/spool.sqlite"
	if !slices.Equal(spools, []spool.Options{want}) {
		t.Errorf("an option of the spool is written with another value than its default\n got %+v\nwant %+v", spools, want)
	}
}

// wantAlertDefaults fails unless o has a target and a rule beside the built-in ones that differ from the defaults in what
// each must say itself.
func wantAlertDefaults(t *testing.T, o alert.Options) {
	t.Helper()
	target := alert.DefaultTarget()
	target.Name, target.Kind, target.At = "ops", alert.DingTalk, []string{}
	target.URL = "https://oapi.dingtalk.com/robot/send?access_token=…"
	rule := alert.DefaultRule()
	rule.Name, rule.Topics, rule.Targets = "overload", []string{}, []string{}
	want := alert.DefaultOptions()
	want.Zone, want.Targets = o.Zone, []alert.Target{target}
	i := slices.IndexFunc(o.Rules, func(r alert.Rule) bool { return r.Name == rule.Name })
	if i < 0 {
		t.Fatal("it shows no rule")
	}
	shown := o.Rules[i]
	for _, limit := range []*alert.Limit{
		&shown.Backlog, &shown.OldestDue, &shown.Dead, &shown.DeadPerHour, &shown.FailedShare, &shown.PausedFor, &shown.RedisLatency,
	} {
		*limit = alert.Limit{}
	}
	if !reflect.DeepEqual(shown, rule) {
		t.Errorf("an option of the rule is written with another value than its default\n got %+v\nwant %+v", shown, rule)
	}
	o.Rules = slices.Delete(slices.Clone(o.Rules), i, i+1)
	want.Rules = alert.BuiltIn()
	if !reflect.DeepEqual(o, want) {
		t.Errorf("an option of [alert] is written with another value than its default\n got %+v\nwant %+v", o, want)
	}
}

func TestTheRepositorysFileNamesEveryOptionAndNoOther(t *testing.T) {
	_, complete := reference(t)
	var root map[string]any
	if _, err := toml.Decode(complete, &root); err != nil {
		t.Fatal(err)
	}
	table := func(path ...string) map[string]any {
		m := root
		for _, name := range path {
			m, _ = m[name].(map[string]any)
		}
		return m
	}
	topic, list := table("topic", "order_timeout"), table("list", "send_sms")
	tables := map[string]map[string]any{
		"the top of the file":        root,
		"[admin]":                    table("admin"),
		"[redis]":                    table("redis"),
		"[redis.tls]":                table("redis", "tls"),
		"[fpm.<name>]":               table("fpm", "default"),
		"[topic.<name>]":             topic,
		"[list.<name>]":              list,
		"[list.<name>.route.<type>]": table("list", "send_sms", "route", "sms_template"),
		"[defaults]":                 table("defaults"),
		"[spool.<name>]":             table("spool", "web"),
		"[trace]":                    table("trace"),
		"[alert]":                    table("alert"),
		"[alert.target.<name>]":      table("alert", "target", "ops"),
		"[alert.rule.<name>]":        table("alert", "rule", "overload"),
	}
	elsewhere := map[string][]map[string]any{"[list.<name>]": {topic}, "[defaults]": {topic, list}} // not written again
	for _, home := range config.Schema() {
		known := tables[home.Name]
		for _, key := range home.Keys {
			has := func(m map[string]any) bool { _, ok := m[key]; return ok }
			if !has(known) && !slices.ContainsFunc(elsewhere[home.Name], has) {
				t.Errorf("%s: %s is missing", home.Name, key)
			}
		}
		for key := range known {
			if !slices.Contains(home.Keys, key) {
				t.Errorf("%s: %s is no option", home.Name, key)
			}
		}
		delete(tables, home.Name)
	}
	for name := range tables {
		t.Errorf("%s is no table of the file", name)
	}
}

func TestTheRepositorysFileExplainsEveryOptionInItsLine(t *testing.T) {
	asIs, _ := reference(t)
	for line := range strings.Lines(asIs) {
		if option.MatchString(line) && strings.Contains(line, " = ") && !strings.Contains(line, "  # ") {
			t.Errorf("no explanation in: %s", line)
		}
	}
}
