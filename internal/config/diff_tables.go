package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"sidecar/internal/alert"
)

// options are a table's, by name.
type options map[string]reflect.Value

// tablesOf returns the tables of the file that c was read from, with their options.
func tablesOf(c *Config) map[string]options {
	tables := map[string]options{
		"":          optionsOf(*c, "Path", "Redis", "Admin", "FPM", "Topics", "Spools", "Trace", "Alert", "Log"),
		"admin":     optionsOf(c.Admin).rename("token", "token_file"),
		"redis":     optionsOf(c.Redis, "TLS"),
		"redis.tls": optionsOf(c.Redis.TLS).rename("insecure", "skip_verify"),
		"trace":     optionsOf(c.Trace).rename("headers", "headers_file"),
	}
	tables[""]["log"], tables[""]["log_level"] = reflect.ValueOf(c.Log.Format), reflect.ValueOf(c.Log.Level)
	for name, o := range c.FPM {
		tables[fmt.Sprintf("fpm %q", name)] = optionsOf(o, "Name")
	}
	for _, o := range c.Spools {
		tables[fmt.Sprintf("spool %q", o.Name)] = optionsOf(o, "Name").rename("every", "drain_every").rename("pool", "fpm")
	}
	for _, t := range c.Topics {
		addTopic(tables, t)
	}
	addAlert(tables, c.Alert)
	return tables
}

func addTopic(tables map[string]options, t Topic) {
	all := optionsOf(t.FPM, "Topic", "Workers", "Routes")
	all["fpm"] = reflect.ValueOf(t.Pool)
	name, without := "topic", []string{"Topic", "List", "LookAhead"}
	if t.Queue.List != nil {
		name, without = "list", append(without, "ReadyMax", "ScoreUnit") // a list has none
		collect(all, reflect.ValueOf(*t.Queue.List), "Types", "Default", "Foreign")
	}
	collect(all, reflect.ValueOf(t.Queue), without...)
	name = fmt.Sprintf("%s %q", name, t.Name)
	tables[name] = all
	for kind, target := range t.FPM.Routes {
		tables[fmt.Sprintf("%s: route %q", name, kind)] = optionsOf(target)
	}
}

// addAlert adds [alert], its targets and its rules, among them those that are built in.
func addAlert(tables map[string]options, o alert.Options) {
	tables["alert"] = optionsOf(o, "Zone", "Targets", "Rules")
	for _, t := range o.Targets {
		tables[fmt.Sprintf("alert.target %q", t.Name)] = optionsOf(t, "Name").rename("secret", "secret_file")
	}
	for _, r := range o.Rules {
		rule := optionsOf(r, "Name")
		for name, limit := range map[string]alert.Limit{"oldest_due": r.OldestDue, "paused_for": r.PausedFor, "redis_latency": r.RedisLatency} {
			rule[name] = reflect.ValueOf(timeLimit(limit))
		}
		tables[fmt.Sprintf("alert.rule %q", r.Name)] = rule
	}
}

// timeLimit is a limit of seconds as the file has it: a duration, or "" where none is set.
func timeLimit(l alert.Limit) any {
	if !l.Set {
		return ""
	}
	return time.Duration(math.Round(l.Above * float64(time.Second)))
}

func optionsOf(v any, without ...string) options {
	all := options{}
	collect(all, reflect.ValueOf(v), without...)
	return all
}

// collect adds the fields of a struct of options, which are named as in the file (word for word, but for its capitals).
func collect(all options, v reflect.Value, without ...string) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.IsExported() && len(f.Index) == 1 && !slices.Contains(without, f.Name) {
			all[optionName(f.Name)] = v.FieldByIndex(f.Index)
		}
	}
}

// rename gives an option the name that it has in the file.
func (o options) rename(from, to string) options {
	o[to] = o[from]
	delete(o, from)
	return o
}

var words = regexp.MustCompile(`([a-z])([A-Z])|([A-Z])([A-Z][a-z])`)

// optionName turns ScanInterval into scan_interval, and PIDFile into pid_file.
func optionName(field string) string {
	return strings.ToLower(words.ReplaceAllString(field, "${1}${3}_${2}${4}"))
}
