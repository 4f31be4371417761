package dash

import (
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"
	"time"
	"unicode"
)

func TestEveryMessageIsThereInBothLanguagesWithTheSameArguments(t *testing.T) {
	verbs := regexp.MustCompile(`%(\[\d\])?[sq%]`)
	count := func(s string) int { return len(verbs.FindAllString(s, -1)) }
	for name, m := range messages {
		if strings.TrimSpace(m.en) == "" || strings.TrimSpace(m.zh) == "" {
			t.Errorf("%s lacks a language: %q, %q", name, m.en, m.zh)
		}
		if count(m.en) != count(m.zh) && !strings.HasSuffix(name, ".one") {
			t.Errorf("%s takes other arguments in Chinese: %q, %q", name, m.en, m.zh)
		}
		if strings.ContainsFunc(m.en, func(r rune) bool { return unicode.Is(unicode.Han, r) }) && name != "lang.other" {
			t.Errorf("%s has Chinese in its English: %q", name, m.en)
		}
		if one, is := strings.CutSuffix(name, ".one"); is {
			if _, there := messages[one]; !there {
				t.Errorf("%s has no plural", name)
			}
		}
	}
}

func TestStatesAndOutcomesAreToldApartInBothLanguages(t *testing.T) {
	en, zh := map[string]string{}, map[string]string{}
	for name, m := range messages {
		if family, _, _ := strings.Cut(name, "."); family != "state" && family != "outcome" || strings.HasSuffix(name, ".long") {
			continue
		}
		if en[m.en] != "" || zh[m.zh] != "" {
			t.Errorf("%s is called as %s is: %q, %q", name, en[m.en]+zh[m.zh], m.en, m.zh)
		}
		en[m.en], zh[m.zh] = name, name
	}
}

// closedSets are the messages of values that the code may have.
func closedSets() (names []string) {
	add := func(form string, values ...string) {
		for _, v := range values {
			names = append(names, fmt.Sprintf(form, v))
		}
	}
	add("key.%s", Keys...)
	add("outcome.%s", OutcomeNames...)
	add("event.%s", EventCreated, EventDue, EventTried, EventCrashed, EventStarted, EventDied, EventReplayed)
	problems := []string{
		ProblemRedisDown, ProblemRedisFull, ProblemStarting, ProblemStopping, ProblemNoSidecar, ProblemLost, ProblemNotReady, ProblemPoolDown,
		ProblemPoolSilent, ProblemShut, ProblemStalled, ProblemTrouble, ProblemUnconsumed, ProblemUnknown, ProblemLate, ProblemBreaker,
		ProblemPaused, ProblemPressed, ProblemDead, ProblemAlarm, ProblemRefuses, ProblemEvicts, ProblemDiffer, ProblemJobsLost, ProblemUnit, ProblemUnreadable, ProblemReload,
	}
	add("problem.%s", problems...)
	add("problem.%s.do", problems...)
	whys := []string{
		WhyFailed, WhyUnreadable, WhyNever, WhyBeyond, WhyRuns, WhyOld, WhyOrphan, WhyLeaseOver, WhyRetry, WhyNotDue, WhyDue, WhyReady, WhyPaused, WhyWindow, WhyBreaker, WhyShut, WhyLooking, WhyStalled,
		WhyTrouble, WhyUnconsumed, WhyPressed, WhyThrottled,
	}
	add("why.%s", whys...)
	add("do.%s", whys...)
	add("sidecar.%s", SidecarRunning, SidecarNotReady, SidecarStopping, SidecarLost, SidecarUnread)
	add("pause.for.%s", pauseFors...)
	add("col.%s", topicColumns...)
	add("alarm.%s", "backlog", "oldest_due", "dead", "dead_per_hour", "failed_share", "paused_for", "redis_latency", "stalled", "fpm_down", "redis_away")
	add("mode.%s", "request", "worker")
	add("search.try.%s", byPrefix, byField, byText)
	add("topic.none.%s", Keys...)
	add("unit.%s", "ms", "s", "min", "h", "d")
	charts := []string{"flow", "outcomes", "depths", "duration", "oldest"}
	add("chart.%s", charts...)
	add("chart.%s.unit", charts...)
	add("confirm.%s.what", VerbReplay, VerbDrop, VerbRequeue)
	// The trail's verbs: those of the pages, and of an alarm that a command silences.
	add("verb.%s", "silence")
	for verb := range verbKeys {
		add("verb.%s", verb)
		add("did.%s", verb)
		add("confirm.%s", verb)
		add("confirm.%s.do", verb)
	}
	return names
}

func TestEveryClosedSetHasItsMessages(t *testing.T) {
	for _, name := range closedSets() {
		if _, there := messages[name]; !there {
			t.Errorf("no message %s", name)
		}
	}
}

// trees are the parsed templates by file.
func trees(t *testing.T) map[string]*template.Template {
	t.Helper()
	files, err := filepath.Glob("templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	all := map[string]*template.Template{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = template.Must(template.New(file).Funcs(functions(english, time.UTC, newAssets())).Parse(string(text)))
	}
	return all
}

// walk calls visit for every node below n.
func walk(n parse.Node, visit func(parse.Node)) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			visit(child)
			walk(child, visit)
		}
	case *parse.IfNode:
		walk(n.List, visit)
		walk(n.ElseList, visit)
	case *parse.RangeNode:
		walk(n.List, visit)
		walk(n.ElseList, visit)
	case *parse.WithNode:
		walk(n.List, visit)
		walk(n.ElseList, visit)
	}
}

func TestNoTemplateHasBareText(t *testing.T) {
	tag := regexp.MustCompile(`(?s)<[^>]*>|^[^<]*>|<[^>]*$`)
	shown := regexp.MustCompile(`(?:title|placeholder|aria-label|alt|data-label)="[^"]*\pL`)
	for file, all := range trees(t) {
		for _, tree := range all.Templates() {
			if tree.Tree == nil {
				continue
			}
			walk(tree.Tree.Root, func(n parse.Node) {
				text, is := n.(*parse.TextNode)
				if !is {
					return
				}
				s := string(text.Text)
				// Within a tag that an action cuts in two there is no text but attributes.
				bare := tag.ReplaceAllString(s, " ")
				if !strings.ContainsAny(s, "<>") && strings.Contains(s, "=") || strings.HasPrefix(strings.TrimSpace(s), "selected") || strings.HasPrefix(strings.TrimSpace(s), "checked") {
					bare = ""
				}
				if letters := regexp.MustCompile(`\pL{2,}`).FindString(bare); letters != "" && strings.ContainsAny(s, "<>") {
					t.Errorf("%s %s: text %q belongs into the messages", file, tree.Name(), strings.TrimSpace(bare))
				}
				if shown.MatchString(s) {
					t.Errorf("%s %s: attribute in %q belongs into the messages", file, tree.Name(), s)
				}
			})
		}
	}
}

func TestEveryMessageThatATemplateNamesIsThereAndNoOtherIsKept(t *testing.T) {
	named := regexp.MustCompile(`\bt "([a-z0-9_.]+)"`)
	inGo := regexp.MustCompile(`"([a-z]+\.[a-z0-9_.]*)"`)
	used := map[string]bool{}
	for _, name := range closedSets() {
		used[name] = true
	}
	for _, pattern := range []string{"templates/*.html", "*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if strings.HasPrefix(file, "messages") || strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = true
				if _, there := messages[m[1]]; !there {
					t.Errorf("%s names %s, which is no message", file, m[1])
				}
			}
			for _, m := range inGo.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = true
			}
		}
	}
	for name := range messages {
		of := strings.TrimSuffix(name, ".one")
		if strings.HasPrefix(name, "error.") { // how to help it goes with what it is
			of = strings.TrimSuffix(name, ".help")
		}
		if !used[name] && !used[of] {
			t.Errorf("message %s is used nowhere", name)
		}
	}
}

// sources are the texts of the files of these patterns, tests apart.
func sources(t *testing.T, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

func TestNoClassIsStyledAndNoDataIsWrittenThatNobodyHas(t *testing.T) {
	css, script := sources(t, "assets/app.css"), sources(t, "assets/app.js")
	pages := sources(t, "templates/*.html", "*.go", "assets/app.js")
	for _, m := range regexp.MustCompile(`\.([a-z][a-z0-9_-]*)`).FindAllStringSubmatch(css, -1) {
		begun, _, _ := strings.Cut(m[1], "-") // "k-" is followed by a key, "o-" by an outcome
		if !regexp.MustCompile(`[ "'}]`+m[1]+`[ "'{]`).MatchString(pages) && !strings.Contains(pages, begun+"-{{") && !strings.Contains(pages, `"`+begun+`-"`) {
			t.Errorf("no page has anything of class %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\bdata-([a-z]+)`).FindAllStringSubmatch(sources(t, "templates/*.html"), -1) {
		if !strings.Contains(script, ".dataset."+m[1]) && !strings.Contains(script, "[data-"+m[1]+"]") && !strings.Contains(css, "attr(data-"+m[1]+")") {
			t.Errorf("nobody reads data-%s", m[1])
		}
	}
}

func TestEveryPartOfAPageHasItsPlace(t *testing.T) {
	for name, page := range pages {
		text, err := os.ReadFile("templates/" + name + ".html")
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range page.parts {
			for _, want := range []string{`id="` + partID(part) + `"`, `{{template "` + part + `" .}}`, `{{define "` + part + `"}}`} {
				if !strings.Contains(string(text), want) {
					t.Errorf("page %s lacks %s", name, want)
				}
			}
		}
	}
}

// luminance is that of WCAG 2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestTextsCanBeReadOnEveryGround(t *testing.T) {
	css, err := os.ReadFile("assets/app.css")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.SplitN(string(css), "@media (prefers-color-scheme: dark)", 2)
	for theme, text := range map[string]string{"light": blocks[0], "dark": blocks[1][:strings.Index(blocks[1], "* {")]} {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			colors[m[1]] = m[2]
		}
		least := func(front, back string, want float64) {
			a, b := luminance(t, colors[front]), luminance(t, colors[back])
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < want {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", theme, front, back, ratio, want)
			}
		}
		for _, back := range []string{"ground", "card", "soft", "ok-soft", "warn-soft", "bad-soft"} {
			least("text", back, 4.5)
		}
		for _, front := range []string{"muted", "link", "ok", "warn", "bad"} {
			least(front, "card", 4.5)
			least(front, "ground", 4.5)
		}
		for _, pair := range [][2]string{{"muted", "soft"}, {"link", "soft"}, {"ok", "ok-soft"}, {"warn", "warn-soft"}, {"bad", "bad-soft"}, {"on-primary", "primary"}, {"link", "bad-soft"}, {"link", "warn-soft"}} {
			least(pair[0], pair[1], 4.5)
		}
		for _, line := range []string{"done", "deferred", "failed", "timed", "crashed", "rejected", "unavailable", "focus"} {
			least(line, "card", 2.5) // of charts: their numbers stand beside them
		}
	}
}
