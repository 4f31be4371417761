package main

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const fieldCases = "docs/field-cases.md"

var (
	caseRow    = regexp.MustCompile(`(?m)^\| (C[0-9]+) \|([^|]+)\|([^|]+)\|([^|]*)\|$`)
	caseID     = regexp.MustCompile(`\bC[0-9]{2,3}\b`)
	namedTest  = regexp.MustCompile(`\b([a-z0-9]+)\.(Test[A-Za-z0-9]+)`)
	testHeader = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(t \*testing\.T\)`)
)

// A case without a test is one that nobody holds the code to, and a test that is gone holds nothing.
func TestEveryFieldCaseNamesTestsThatExist(t *testing.T) {
	tests := testsByPackage(t)
	rows := caseRow.FindAllStringSubmatch(read(t, fieldCases), -1)
	if len(rows) < 90 {
		t.Fatalf("%d cases found: the pattern misses them", len(rows))
	}
	seen := make(map[string]bool)
	for _, row := range rows {
		id, named := row[1], namedTest.FindAllStringSubmatch(row[0], -1)
		if seen[id] {
			t.Errorf("%s has two rows", id)
		}
		seen[id] = true
		if len(named) == 0 && !strings.Contains(row[3], "not yet: ") {
			t.Errorf("%s names no test and does not say that it is not held yet", id)
		}
		for _, name := range named {
			if !tests[name[0]] {
				t.Errorf("%s names %s, which does not exist", id, name[0])
			}
		}
	}
	for row := range strings.SplitSeq(read(t, fieldCases), "\n") {
		if strings.HasPrefix(row, "| C") && !caseRow.MatchString(row) {
			t.Errorf("not a row of four columns: %s", row)
		}
	}
}

func TestEveryFieldCaseThatATestNamesIsInTheTable(t *testing.T) {
	known := make(map[string]bool)
	for _, row := range caseRow.FindAllStringSubmatch(read(t, fieldCases), -1) {
		known[row[1]] = true
	}
	found := 0
	for _, file := range textFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, id := range caseID.FindAllString(read(t, file), -1) {
			found++
			if !known[id] {
				t.Errorf("%s names %s, which is not in %s", file, id, fieldCases)
			}
		}
	}
	if found < 90 {
		t.Errorf("%d cases found in tests: the pattern misses them", found)
	}
}

// testsByPackage returns all tests as package.TestName.
func testsByPackage(t *testing.T) map[string]bool {
	t.Helper()
	tests := make(map[string]bool)
	for _, file := range textFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range testHeader.FindAllStringSubmatch(read(t, file), -1) {
			tests[path.Base(filepath.ToSlash(filepath.Dir(file)))+"."+m[1]] = true
		}
	}
	return tests
}
