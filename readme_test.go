package main

import (
	"os"
	"path"
	"path/filepath"
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
	headingText = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noSlug      = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
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
		link := strings.ReplaceAll(m[1], ".zh-CN.md", ".md") // each leads to pages in its own language
		if !strings.HasPrefix(link, "#") {                   // headings have other names
			o.links = append(o.links, link)
		}
	}
	slices.Sort(o.links)
	o.links = slices.Compact(o.links)
	return o
}

// translated are the pages that are there in Chinese, too; docs/frameworks.md has a test of its own.
var translated = []string{"README", "docs/workers", "docs/lists", "docs/redis-down", "docs/configuration"}

// Who changes one page changes the other, too.
func TestTheChinesePagesKeepStepWithTheEnglishOnes(t *testing.T) {
	for _, page := range translated {
		t.Run(page, func(t *testing.T) { wantTwins(t, page+".md", page+".zh-CN.md") })
	}
}

func wantTwins(t *testing.T, englishPage, chinesePage string) {
	t.Helper()
	english, chinese := read(t, englishPage), read(t, chinesePage)
	if !strings.Contains(english, "]("+path.Base(chinesePage)+")") || !strings.Contains(chinese, "]("+path.Base(englishPage)+")") {
		t.Error("they do not link to each other")
	}
	en, zh := outlineOf(english), outlineOf(chinese)
	if len(en.headings) == 0 || len(en.links) == 0 {
		t.Fatalf("found in %s only %+v: the patterns miss what is there", englishPage, en)
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
	wantSameBlocks(t, en, zh)
}

func wantSameBlocks(t *testing.T, en, zh outline) {
	t.Helper()
	if len(en.blocks) != len(zh.blocks) {
		t.Fatalf("%d code blocks and %d", len(en.blocks), len(zh.blocks))
	}
	for i := range en.blocks {
		if en.blocks[i] != zh.blocks[i] {
			t.Errorf("code block %d differs:\n%s\n%s", i+1, en.blocks[i], zh.blocks[i])
		}
	}
}

func TestThePatternsOfTheReadmeFindWhatIsThere(t *testing.T) {
	o := outlineOf(read(t, "README.md"))
	if len(o.headings) < 5 || len(o.blocks) < 5 || len(o.tables) < 10 || len(o.links) < 10 {
		t.Errorf("found only %+v", o)
	}
}

// Whoever follows a link arrives; pictures, too.
func TestThePagesLinkToFilesThatAreThere(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "deploy/README.md", "php-client/README.md") {
		text := codeBlock.ReplaceAllString(read(t, page), "")
		for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if !isThere(t, file, anchor) {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}

// isThere reports that file exists, and has a heading that the anchor names as GitHub makes them.
func isThere(t *testing.T, file, anchor string) bool {
	t.Helper()
	if _, err := os.Stat(file); err != nil || anchor == "" {
		return err == nil
	}
	for _, m := range headingText.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, file), ""), -1) {
		slug := strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return false
}
