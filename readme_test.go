package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeBlock   = regexp.MustCompile("(?ms)^```(.*?)^```$")
	codeComment = regexp.MustCompile(`(?m)(^|\s+)(#|//).*$`)
	readmeHead  = regexp.MustCompile(`(?m)^(#+) `)
	tableRow    = regexp.MustCompile(`(?m)^\|.*\|$`)
	linkTarget  = regexp.MustCompile(`\]\(([^)]+)\)`)
)

// outline is what a README and its translation have in common.
type outline struct {
	headings []string // their levels, in order
	blocks   []string // code without comments, in order
	tables   []int    // the cells of each row of each table, in order
	links    []string // where to, sorted, each once
}

func outlineOf(text string) (o outline) {
	for _, block := range codeBlock.FindAllString(text, -1) {
		code := strings.Fields(codeComment.ReplaceAllString(block, "")) // how far a comment is indented is no matter
		o.blocks = append(o.blocks, strings.Join(code, " "))
	}
	text = codeBlock.ReplaceAllString(text, "") // a comment in it looks like a heading
	for _, m := range readmeHead.FindAllStringSubmatch(text, -1) {
		o.headings = append(o.headings, m[1])
	}
	for _, row := range tableRow.FindAllString(text, -1) {
		o.tables = append(o.tables, strings.Count(row, "|")-1)
	}
	for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "README") { // each names the other
			o.links = append(o.links, m[1])
		}
	}
	slices.Sort(o.links)
	o.links = slices.Compact(o.links)
	return o
}

// Who changes one README changes the other, too.
func TestTheChineseReadmeKeepsStepWithTheEnglishOne(t *testing.T) {
	english, chinese := read(t, "README.md"), read(t, "README.zh-CN.md")
	if !strings.Contains(english, "](README.zh-CN.md)") || !strings.Contains(chinese, "](README.md)") {
		t.Error("they do not link to each other")
	}
	en, zh := outlineOf(english), outlineOf(chinese)
	if len(en.headings) == 0 || len(en.blocks) == 0 || len(en.tables) == 0 || len(en.links) == 0 {
		t.Fatalf("found in README.md only %+v: the patterns miss what is there", en)
	}
	if !slices.Equal(en.headings, zh.headings) {
		t.Errorf("headings differ:\n%v\n%v", en.headings, zh.headings)
	}
	if !slices.Equal(en.tables, zh.tables) {
		t.Errorf("tables differ in their rows:\n%v\n%v", en.tables, zh.tables)
	}
	if !slices.Equal(en.links, zh.links) {
		t.Errorf("links differ:\n%v\n%v", en.links, zh.links)
	}
	if len(en.blocks) != len(zh.blocks) {
		t.Fatalf("%d code blocks and %d", len(en.blocks), len(zh.blocks))
	}
	for i := range en.blocks {
		if en.blocks[i] != zh.blocks[i] {
			t.Errorf("code block %d differs:\n%s\n%s", i+1, en.blocks[i], zh.blocks[i])
		}
	}
}
