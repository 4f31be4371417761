package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wallReaders are the methods and functions by which a time stops being a reading of the monotonic clock: what a step
// of the host's clock moves comes through one of them. (A time.Now that only ever meets Sub, Since, Before, After and
// Add is monotonic, however the host's clock is set.)
var wallReaders = []string{
	"Unix", "UnixMilli", "UnixMicro", "UnixNano", "Format", "AppendFormat", "In", "UTC", "Local", "Date", "Clock", "Weekday",
	"YearDay", "Truncate", "ParseInLocation", "ModTime", "Time",
}

// wallUses are all uses of these in shipped code, by file and name, and why a step of the host's clock does no harm there.
var wallUses = map[string]string{
	"compat/times.go UnixMicro":                  "what a job says of itself, to be shown",
	"compat/times.go UTC":                        "likewise",
	"compat/dead.go Format":                      "of a time that is handed in: Redis's",
	"compat/dead.go In":                          "of a time that is handed in: Redis's",
	"internal/app/pidfile.go ModTime":            "a step ahead can make a pid file look like one of before the boot: then two sidecars consume, which is allowed",
	"internal/cli/sample.go Time":                "Redis's, to be shown",
	"internal/cli/situation.go In":               "Redis's time, to be shown",
	"internal/cli/foundjob.go In":                "likewise",
	"internal/cli/foundjob.go ParseInLocation":   "what dead records say, to be put in order",
	"internal/cli/deadfilter.go ParseInLocation": "what a person wrote, compared with dates in dead records",
	"internal/undo/log.go Truncate":              "a file's length",
	"internal/undo/writer.go Truncate":           "a file's length",
	"internal/undo/writer.go Format":             "Redis's time, in the name of a file",
	"internal/undo/writer.go UTC":                "Redis's time, so that the name says its zone",
	"internal/cli/deadfilter.go Time":            "Redis's",
	"internal/cli/requeuewaiting.go Time":        "Redis's",
	"internal/cli/consumers.go Time":             "Redis's, which heartbeats have too",
	"queue/store_replay.go Time":                 "Redis's, for replayed_at",
	"fastcgi/code.go ModTime":                    "a file's, compared with itself",
	"fastcgi/code.go UnixNano":                   "a file's, compared with itself",
	"fastcgi/run.go UnixMilli":                   "raw mode tells the script its deadline, by the clock of its host; the sidecar keeps it by its own",
	"internal/app/lost.go In":                    "Redis's time, beside lines dated by it",
	"internal/app/panel.go In":                   "Redis's time, to be shown",
	"internal/app/panel_audit.go Format":         "a time that somebody typed, for the audit trail",
	"internal/app/panel_running.go UnixMicro":    "Redis's time, as the queue has it",
	"internal/app/panel_sidecars.go Format":      "Redis's time, to be shown",
	"internal/app/panel_sidecars.go In":          "Redis's time, to be shown",
	"internal/doctor/check_consumers.go In":      "Redis's time",
	"internal/doctor/check_sidecars.go Format":   "Redis's time, for people",
	"internal/doctor/check_sidecars.go In":       "Redis's time, for people",
	"internal/app/panel_jobs.go In":              "Redis's time, to be shown",
	"internal/app/panel_jobs.go ParseInLocation": "of a dead record, to be shown",
	"internal/pulse/hour.go UTC":                 "of a minute by Redis's clock",
	"internal/pulse/hour.go Unix":                "the same",
	"queue/alive.go Time":                        "Redis's, for heartbeats",
	"queue/alive.go UTC":                         "of Redis's time",
	"queue/dangers.go Time":                      "compares the host's clock with Redis's, to warn of it",

	"internal/doctor/ask_keys.go Time":              "Redis's",
	"internal/doctor/ask_keys.go UnixMicro":         "of Redis's time",
	"internal/doctor/ask_redis.go Time":             "Redis's, for the age of an entry of its slow log",
	"internal/doctor/check_keys.go In":              "Redis's time, beside that of a dead record",
	"internal/doctor/check_keys.go ParseInLocation": "what a dead record says, only ever told to a person",
	"internal/doctor/check_php.go In":               "compares two time zones",
	"internal/doctor/check_php.go UnixMicro":        "compares the host's clock with PHP's, to warn of it",

	"internal/dash/chart.go Format":          "Redis's time, for people",
	"internal/dash/chart.go In":              "Redis's time, for people",
	"internal/dash/chart.go Truncate":        "Redis's time, for people",
	"internal/dash/format.go Format":         "Redis's time, for people",
	"internal/dash/format.go In":             "Redis's time, for people",
	"internal/dash/format.go Truncate":       "of a length",
	"internal/dash/format.go YearDay":        "Redis's time, for people",
	"internal/dash/functions.go Format":      "Redis's time, for people",
	"internal/dash/functions.go In":          "Redis's time, for people",
	"internal/dash/live.go Format":           "Redis's time, for people",
	"internal/dash/live.go In":               "Redis's time, for people",
	"internal/dash/topic.go ParseInLocation": "a person's, to be compared with when jobs were buried",
	"internal/dash/topic.go Truncate":        "Redis's time, for people",

	"queue/head.go In":                 "Redis's time, for a heartbeat",
	"queue/head.go Truncate":           "likewise",
	"queue/pause.go UTC":               "Redis's time",
	"queue/pause.go Truncate":          "Redis's time",
	"queue/pauses.go In":               "Redis's time",
	"queue/holds.go Format":            "of Redis's time, for the log",
	"queue/window.go In":               "Redis's time; this host's only until Redis has told it",
	"queue/window.go Truncate":         "likewise",
	"queue/window.go Weekday":          "likewise",
	"queue/window.go Date":             "no clock's: a Monday",
	"queue/rules.go In":                "Redis's time, for a dead record",
	"queue/search.go In":               "a due time, by Redis's clock",
	"queue/search.go ParseInLocation":  "what a dead record says, only ever compared with what a person asks for",
	"queue/handmove.go Time":           "Redis's, for replayed_at, and for when a requeued job is due",
	"queue/waiting.go UnixMicro":       "of a time by Redis's clock, as a score",
	"queue/audit.go Time":              "Redis's, for an audit line",
	"queue/audit.go UTC":               "of Redis's time",
	"queue/types.go In":                "Redis's time, for a dead record",
	"queue/types.go UnixMicro":         "Redis's time becomes Go's",
	"internal/alert/bodies.go In":      "when a message was sent, to be read",
	"internal/alert/message.go In":     "Redis's time, to be read",
	"internal/alert/message.go Format": "Redis's time, to be read",
	"internal/alert/sign.go Unix":      "the services compare it with their own clocks",
	"internal/alert/sign.go UnixMilli": "the services compare it with their own clocks",
	"internal/app/alerts.go Time":      "asks Redis; only how long that takes is looked at",
	"queue/alerts.go Time":             "Redis's",
	"queue/alerts.go UTC":              "Redis's time",
	"queue/minutes.go Unix":            "the epoch, for the minute that Redis's time is in",
	"internal/cli/held.go In":          "Redis's time, for a person",
	"internal/cli/held.go Format":      "likewise",
	"internal/cli/pause.go In":         "likewise",
	"internal/cli/pause.go Format":     "likewise",
}

// The host's wall clock can be stepped for no single process here, so the code is looked at instead: nothing that
// decides when a job runs, or how long a claim is held, reads it (DESIGN 8: time is Redis's, or monotonic).
func TestNothingThatMattersReadsTheHostsWallClock(t *testing.T) {
	found := make(map[string]bool)
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !shipped(file, entry) {
			if entry != nil && entry.IsDir() && skipDir(file) {
				return fs.SkipDir
			}
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if method, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(wallReaders, method.Sel.Name) && ofTime(method) {
				found[fmt.Sprintf("%s %s", filepath.ToSlash(file), method.Sel.Name)] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range slices.Sorted(maps.Keys(found)) {
		if wallUses[use] == "" {
			t.Errorf("%s reads a wall clock: go by Redis's time or by the monotonic clock, or say here why it does no harm", use)
		}
	}
	for _, use := range slices.Sorted(maps.Keys(wallUses)) {
		if !found[use] {
			t.Errorf("%s is listed and not there any more", use)
		}
	}
}

// ofTime leaves out what has such a name and is no time: functions of other packages.
func ofTime(method *ast.SelectorExpr) bool {
	x, ok := method.X.(*ast.Ident)
	return !ok || !slices.Contains([]string{"toml", "template", "url", "flag", "parser", "compat", "strconv", "prometheus", "redis", "slog", "sync", "path"}, x.Name)
}

func shipped(file string, entry fs.DirEntry) bool {
	return !entry.IsDir() && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
}

// skipDir says which directories hold nothing that is shipped.
func skipDir(dir string) bool {
	return dir != "." && strings.HasPrefix(filepath.Base(dir), ".") || slices.Contains(testOnly, filepath.ToSlash(dir)) || filepath.Base(dir) == "testdata"
}
