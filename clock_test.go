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
	"compat/dead.go Format":           "of a time that is handed in: Redis's",
	"compat/dead.go In":               "of a time that is handed in: Redis's",
	"internal/app/pidfile.go ModTime": "a step ahead can make a pid file look like one of before the boot: then two sidecars consume, which is allowed",
	"queue/store_replay.go Time":      "Redis's, for replayed_at",
	"fastcgi/code.go ModTime":         "a file's, compared with itself",
	"fastcgi/code.go UnixNano":        "a file's, compared with itself",
	"fastcgi/run.go UnixMilli":        "raw mode tells the script its deadline, by the clock of its host; the sidecar keeps it by its own",
	"queue/check.go Time":             "compares the host's clock with Redis's, to warn of it",
	"queue/rules.go In":               "Redis's time, for a dead record",
	"queue/types.go In":               "Redis's time, for a dead record",
	"queue/types.go UnixMicro":        "Redis's time becomes Go's",
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
