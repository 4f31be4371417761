package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cited are the documents that comments cite by a short form and a section's number (CONTRIBUTING.md).
var cited = map[string]string{
	"CONTRACT":  "docs/contract.md",
	"DESIGN":    "docs/design.md",
	"FPM-FACTS": "docs/fpm-facts.md",
}

var (
	citation = regexp.MustCompile(`\b(CONTRACT|DESIGN|FPM-FACTS) ([0-9][0-9.]*(?:(?:, | and )[0-9][0-9.]*)*)`)
	section  = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)*`)
	heading  = regexp.MustCompile(`(?m)^#+ ([0-9]+(?:\.[0-9]+)*)\.? `)
)

func TestEveryCitedSectionIsThere(t *testing.T) {
	sections := make(map[string][]string)
	for form, path := range cited {
		for _, m := range heading.FindAllStringSubmatch(read(t, path), -1) {
			sections[form] = append(sections[form], m[1])
		}
	}
	found := 0
	for _, path := range textFiles(t) {
		for _, m := range citation.FindAllStringSubmatch(read(t, path), -1) {
			for _, number := range section.FindAllString(m[2], -1) {
				found++
				if !slices.Contains(sections[m[1]], number) {
					t.Errorf("%s cites %s %s, which is no section of %s", path, m[1], number, cited[m[1]])
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("%d citations found: the pattern misses them", found)
	}
}

// textFiles returns the files that may cite.
func textFiles(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case slices.Contains([]string{".go", ".php", ".lua", ".md", ".sh"}, filepath.Ext(path)):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
