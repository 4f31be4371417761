package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	guarantees  = "docs/guarantees.md"
	threatModel = "docs/threat-model.md"
)

var (
	heldRow   = regexp.MustCompile(`(?m)^\|(.+)\|([^|]+)\|$`)
	phpTest   = regexp.MustCompile(`\b([A-Z][A-Za-z]+Test(?:Case)?)::(test[A-Za-z0-9]+)`)
	notYet    = regexp.MustCompile(`(?i)\bnot yet: `)
	countsAre = regexp.MustCompile(`(?s)<!-- counts -->\n.*<!-- /counts -->\n.*<!-- old-consumer -->\n.*<!-- /old-consumer -->\n`)
)

// A promise that no test holds is a wish, and so is a defence.
func TestEverySentenceNamesTestsThatExist(t *testing.T) {
	tests := testsByPackage(t)
	for _, page := range []string{guarantees, threatModel} {
		rows := 0
		for _, row := range heldRow.FindAllStringSubmatch(promises(read(t, page)), -1) {
			if strings.Contains(row[2], "held by") || strings.HasPrefix(strings.TrimSpace(row[2]), "---") {
				continue
			}
			rows++
			if !namedTest.MatchString(row[2]) && !phpTest.MatchString(row[2]) {
				t.Errorf("%s: nothing holds %q", page, row[1])
			}
		}
		if rows < 20 {
			t.Errorf("%s: %d rows found: the pattern misses them", page, rows)
		}
		wantNamedTests(t, page, tests)
	}
}

// promises is page without what is no promise: tables of counts, and of cases, which have a test of their own.
func promises(page string) string {
	page, _, _ = strings.Cut(page, "\n## Field cases\n")
	before, rest, found := strings.Cut(page, "\n## Counts\n")
	if !found {
		return page
	}
	if _, after, more := strings.Cut(rest, "\n## "); more {
		return before + "\n## " + after
	}
	return before
}

// wantNamedTests checks that every test that page names exists.
func wantNamedTests(t *testing.T, page string, tests map[string]bool) {
	t.Helper()
	text := read(t, page)
	for _, name := range namedTest.FindAllString(text, -1) {
		if !tests[name] {
			t.Errorf("%s names %s, which does not exist", page, name)
		}
	}
	for _, name := range phpTest.FindAllStringSubmatch(text, -1) {
		file := filepath.Join("php-client", "tests", name[1]+".php")
		code, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(code), "function "+name[2]+"(") {
			t.Errorf("%s names %s, which does not exist: %v", page, name[0], err)
		}
	}
}

// Every case of the field is held by a test, or the guarantees say what we do.
func TestEveryFieldCaseIsHeldOrExplained(t *testing.T) {
	_, explained, _ := strings.Cut(read(t, guarantees), "\n## Field cases\n")
	open := map[string]bool{}
	for _, row := range caseRow.FindAllStringSubmatch(read(t, fieldCases), -1) {
		if notYet.MatchString(row[3]) || !namedTest.MatchString(row[4]) {
			open[row[1]] = true
			if !strings.Contains(explained, "\n| "+row[1]+" | ") {
				t.Errorf("%s is not held by a test, and %s has no line for it", row[1], guarantees)
			}
		}
	}
	for _, id := range caseID.FindAllString(explained, -1) {
		if !open[id] {
			t.Errorf("%s explains %s, which is held or unknown", guarantees, id)
		}
	}
}

func TestTheCountsHaveTheirPlace(t *testing.T) {
	if !countsAre.MatchString(read(t, guarantees)) {
		t.Errorf("%s has lost the marks between which the counts stand", guarantees)
	}
}

// Whoever decides whether to use it finds both pages.
func TestTheReadmesLinkToTheGuaranteesAndTheThreatModel(t *testing.T) {
	for _, readme := range []string{"README.md", "README.zh-CN.md"} {
		for _, page := range []string{guarantees, threatModel} {
			if !strings.Contains(read(t, readme), "("+page+")") {
				t.Errorf("%s does not link to %s", readme, page)
			}
		}
	}
}
