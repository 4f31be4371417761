package main

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What users copy from the notes is what the tests of the examples run.
func TestEveryBlockOfTheFrameworkNotesIsCutOutOfAnExample(t *testing.T) {
	var examples []string
	err := filepath.WalkDir("php-client/examples", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			examples = append(examples, read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := codeBlock.FindAllStringSubmatch(read(t, "docs/frameworks.md"), -1)
	if len(blocks) < 10 {
		t.Errorf("%d blocks found: the pattern misses them", len(blocks))
	}
	for _, m := range blocks {
		_, code, _ := strings.Cut(m[1], "\n") // the first line names the language
		if !slices.ContainsFunc(examples, func(text string) bool { return strings.Contains(text, code) }) {
			t.Errorf("this is in no example:\n%s", code)
		}
	}
}

func TestTheFrameworkNotesLinkToFilesThatAreThere(t *testing.T) {
	for _, m := range linkTarget.FindAllStringSubmatch(read(t, "docs/frameworks.md"), -1) {
		if _, err := filepath.EvalSymlinks(filepath.Join("docs", m[1])); err != nil {
			t.Errorf("docs/frameworks.md links to %s: %v", m[1], err)
		}
	}
}

func TestTheChineseFrameworkNotesKeepStep(t *testing.T) {
	en, zh := outlineOf(read(t, "docs/frameworks.md")), outlineOf(read(t, "docs/frameworks.zh-CN.md"))
	same := func(link string) bool { return strings.HasPrefix(link, "frameworks") } // each names the other
	en.links, zh.links = slices.DeleteFunc(en.links, same), slices.DeleteFunc(zh.links, same)
	for part, pair := range map[string][2][]string{
		"headings": {en.headings, zh.headings},
		"blocks":   {en.blocks, zh.blocks},
		"links":    {en.links, zh.links},
	} {
		if len(pair[0]) == 0 || !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s differ:\n%q\n%q", part, pair[0], pair[1])
		}
	}
	if len(en.tables) == 0 || !slices.Equal(en.tables, zh.tables) {
		t.Errorf("tables differ in their rows:\n%v\n%v", en.tables, zh.tables)
	}
}
