package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidecar/internal/alert"
	"sidecar/queue"
)

// alertFields are the keys of [alert].
func alertFields(o *alert.Options) []field {
	return []field{
		{"name", text(&o.Name)},
		{"language", oneOf(&o.Language, alert.English, alert.Chinese)},
		{"every", duration(&o.Every)},
		{"builtin", flag(&o.Builtin)},
		{"target", nil},
		{"rule", nil},
	}
}

// targetFiles are files with a target's secrets.
type targetFiles struct{ url, secret string }

// targetFields are the keys of [alert.target.<name>].
func targetFields(t *alert.Target, files *targetFiles) []field {
	return []field{
		{"kind", text(&t.Kind)},
		{"url", text(&t.URL)},
		{"url_file", text(&files.url)},
		{"secret_file", text(&files.secret)},
		{"at", texts(&t.At)},
		{"rate", integer(&t.Rate)},
	}
}

// ruleFields are the keys of [alert.rule.<name>].
func ruleFields(r *alert.Rule) []field {
	return []field{
		{"enabled", flag(&r.Enabled)},
		{"topics", texts(&r.Topics)},
		{"backlog", above(&r.Backlog)},
		{"oldest_due", aboveTime(&r.OldestDue)},
		{"dead", above(&r.Dead)},
		{"dead_per_hour", above(&r.DeadPerHour)},
		{"failed_share", aboveShare(&r.FailedShare)},
		{"paused_for", aboveTime(&r.PausedFor)},
		{"redis_latency", aboveTime(&r.RedisLatency)},
		{"stalled", flag(&r.Stalled)},
		{"fpm_down", flag(&r.FPMDown)},
		{"redis_away", flag(&r.RedisAway)},
		{"for", duration(&r.For)},
		{"recover_after", duration(&r.RecoverAfter)},
		{"severity", text(&r.Severity)},
		{"targets", texts(&r.Targets)},
		{"repeat_every", duration(&r.RepeatEvery)},
		{"recovery", flag(&r.Recovery)},
	}
}

// above sets a limit of jobs.
func above(dst *alert.Limit) func(any) error {
	return func(v any) error {
		var n int64
		if err := integer(&n)(v); err != nil {
			return err
		}
		*dst = alert.Over(float64(n))
		return nil
	}
}

// aboveTime sets a limit of seconds.
func aboveTime(dst *alert.Limit) func(any) error {
	return func(v any) error {
		var d time.Duration
		if err := duration(&d)(v); err != nil {
			return err
		}
		*dst = alert.Over(d.Seconds())
		return nil
	}
}

// aboveShare sets a limit that is a part of the whole.
func aboveShare(dst *alert.Limit) func(any) error {
	return func(v any) error {
		switch n := v.(type) {
		case float64:
			*dst = alert.Over(n)
		case int64:
			*dst = alert.Over(float64(n))
		default:
			return errors.New("want a number such as 0.2, without quotes")
		}
		return nil
	}
}

// defaultAlert returns what a file without [alert] says: there are rules, and nobody to be told.
func defaultAlert() alert.Options {
	o := alert.DefaultOptions()
	o.Zone, o.Rules = time.Local, alert.BuiltIn()
	return o
}

func (b *builder) buildAlert(t *table) {
	o := &b.cfg.Alert
	o.Zone = b.cfg.Timezone
	t.decode(alertFields(o))
	if !o.Builtin {
		o.Rules = nil
	}
	t.faults(o.Validate())
	targets, rules := t.section("target", "tables [alert.target.<name>]"), t.section("rule", "tables [alert.rule.<name>]")
	for _, name := range slices.Sorted(maps.Keys(targets.keys)) {
		b.buildTarget(name, b.table(fmt.Sprintf("alert.target %q", name), "a table [alert.target.<name>]", targets.keys[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(rules.keys)) {
		b.buildRule(name, b.table(fmt.Sprintf("alert.rule %q", name), "a table [alert.rule.<name>]", rules.keys[name]))
	}
	slices.SortFunc(o.Rules, func(x, y alert.Rule) int { return strings.Compare(x.Name, y.Name) })
	if len(rules.keys) > 0 && len(targets.keys) == 0 {
		b.warn(rules.head, "alert: nobody is told: want a table [alert.target.<name>] with it")
	}
}

func (b *builder) buildTarget(name string, t *table) {
	if t.keys == nil {
		return
	}
	o := alert.DefaultTarget()
	o.Name = name
	var files targetFiles
	t.decode(targetFields(&o, &files))
	switch {
	case o.URL != "" && files.url != "":
		t.faults(errors.New("url_file: want it or url, not both"))
	case o.URL != "":
		b.exposed(t, "url", b.path)
	case files.url != "":
		o.URL = b.passwordFrom(t, "url_file", files.url)
		t.bad["url"] = o.URL == "" // that is said already
	}
	if files.secret != "" {
		o.Secret = b.passwordFrom(t, "secret_file", files.secret)
	}
	o.URL = queue.Secret(strings.TrimSpace(string(o.URL)))
	t.faults(o.Validate())
	b.cfg.Alert.Targets = append(b.cfg.Alert.Targets, o)
}

func (b *builder) buildRule(name string, t *table) {
	if t.keys == nil {
		return
	}
	o := &b.cfg.Alert
	at := slices.IndexFunc(o.Rules, func(r alert.Rule) bool { return r.Name == name })
	r := alert.DefaultRule()
	r.Name = name
	if at >= 0 {
		r = o.Rules[at] // a built-in one, changed in what the table says
	}
	t.decode(ruleFields(&r))
	t.faults(r.Validate())
	b.checkNames(t, "topics", r.Topics, b.cfg.TopicNames(), "a topic or list of this file")
	b.checkNames(t, "targets", r.Targets, o.TargetNames(), "one of the tables [alert.target.<name>]")
	if at >= 0 {
		o.Rules[at] = r
	} else {
		o.Rules = append(o.Rules, r)
	}
}

// checkNames reports names that are not among known.
func (b *builder) checkNames(t *table, option string, names, known []string, want string) {
	for i, name := range names {
		if !slices.Contains(known, name) {
			t.faults(fmt.Errorf("%s[%d] = %q: want %s: %s", option, i, name, want, strings.Join(known, ", ")))
		}
	}
}
