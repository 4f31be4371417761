package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "sidecar"

// layers is the one way that imports run: a package may import packages of later layers only.
var layers = [][]string{
	{"."},
	{"internal/cli"},
	{"internal/app", "internal/doctor"},
	{"internal/admin", "internal/config"},
	{"internal/spool", "internal/trace", "internal/pulse", "internal/alert", "internal/undo"},
	{"queue", "fastcgi"},
	{"compat/encoding"},
	{"compat", "php-client", "internal/proc", "internal/dash", "internal/mask"},
	{"internal/sse", "internal/shell", "internal/plural", "internal/stage"},
}

// testOnly are packages that no shipped code may import, and whose own code may import everything.
var testOnly = []string{"internal/testenv", "internal/testenv/wire", "internal/e2e", "internal/faults"}

// importers says which packages may import a foreign module: each has its place (docs/decisions/0006).
var importers = map[string][]string{
	"github.com/yookoala/gofast":          {"fastcgi"},
	"github.com/redis/go-redis/v9":        {"queue", "internal/app", "internal/cli", "internal/pulse", "internal/doctor"},
	"github.com/BurntSushi/toml":          {"internal/config"},
	"github.com/prometheus/client_golang": {"queue", "fastcgi", "internal/spool", "internal/pulse", "internal/trace", "internal/app", "internal/admin", "internal/cli", "internal/doctor", "internal/alert"},
	"github.com/prometheus/client_model":  {"queue"},
	"go.uber.org/automaxprocs":            {"internal/cli"},
	"github.com/coreos/go-systemd/v22":    {"internal/app"},
	"github.com/klauspost/compress":       {"compat/encoding"},
	"github.com/pierrec/lz4/v4":           {"compat/encoding"},
	"golang.org/x/net":                    {"internal/admin"},
	"golang.org/x/sys":                    {"internal/cli"},
	"go.opentelemetry.io/otel":            {"internal/trace"},
}

func TestImportsRunOneWay(t *testing.T) {
	for dir, imports := range shippedImports(t) {
		if slices.Contains(testOnly, dir) {
			continue
		}
		own := layerOf(dir)
		if own < 0 {
			t.Errorf("%s is in no layer: add it to layers, where it belongs", dir)
			continue
		}
		for _, imported := range imports {
			to, ok := strings.CutPrefix(imported, module+"/")
			if ok && layerOf(to) <= own {
				t.Errorf("%s imports %s, which is not in a layer below it", dir, to)
			}
		}
	}
}

func TestForeignModulesStayInTheirPlace(t *testing.T) {
	for dir, imports := range shippedImports(t) {
		if slices.Contains(testOnly, dir) {
			continue
		}
		for _, imported := range imports {
			first, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(first, ".") {
				continue // the standard library, or our own
			}
			foreign := foreignModule(imported)
			if foreign == "" {
				t.Errorf("%s imports %s, a module without a decision record", dir, imported)
			} else if !slices.Contains(importers[foreign], dir) {
				t.Errorf("%s imports %s, which belongs into %v", dir, imported, importers[foreign])
			}
		}
	}
}

func TestPHPClientOnlyEmbeds(t *testing.T) {
	for _, imported := range shippedImports(t)["php-client"] {
		if imported != "embed" {
			t.Errorf("php-client imports %s: it is a PHP package that lets its bridge be embedded, no more", imported)
		}
	}
}

// layerOf returns the layer of a directory of this module, or -1.
func layerOf(dir string) int {
	return slices.IndexFunc(layers, func(layer []string) bool { return slices.Contains(layer, dir) })
}

// foreignModule returns the allowed module that an import path belongs to, or "".
func foreignModule(imported string) string {
	for foreign := range importers {
		if imported == foreign || strings.HasPrefix(imported, foreign+"/") {
			return foreign
		}
	}
	return ""
}

// shippedImports returns the import paths of every directory with Go files, tests left out.
func shippedImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); file != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(file))
		if _, known := imports[dir]; !known {
			imports[dir] = nil // also a package that imports nothing needs its layer
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[dir] = append(imports[dir], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}
