package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commandsPage is where every verb is told of.
const commandsPage = "../../docs/commands.md"

// callable returns the verbs that do something by themselves.
func callable() (all []verb) {
	for _, v := range verbs() {
		if v.subs == nil {
			all = append(all, v)
			continue
		}
		all = append(all, v.subs...)
	}
	return all
}

// flagRow is how the page tells of a flag.
func flagRow(f *flag.Flag) string {
	name, why := flag.UnquoteUsage(f)
	word := dashed(f.Name)
	if name != "" && !isBool(f) {
		word += " " + name
	}
	return fmt.Sprintf("| `%s` | %s |", word, why)
}

func TestThePageOfCommandsHasEveryVerbAndFlagAndNoOther(t *testing.T) {
	text, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]string)
	for _, part := range strings.Split(string(text), "\n### sidecar ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		body, _, _ = strings.Cut(body, "\n## ")
		sections[name] = body
	}
	for _, v := range callable() {
		body, there := sections[v.name]
		if !there {
			t.Errorf("%s has no section: ### sidecar %s", commandsPage, v.name)
			continue
		}
		delete(sections, v.name)
		wantFlags(t, v, body)
		wantJSON(t, v, body)
		if !strings.Contains(body, "```sh\nsidecar "+v.name) {
			t.Errorf("sidecar %s has no example", v.name)
		}
	}
	for name := range sections {
		t.Errorf("%s tells of sidecar %s, which there is not", commandsPage, name)
	}
}

var flagWord = regexp.MustCompile("(?:^|[\\s`|])(--?[a-z][a-z-]*)")

// wantFlags fails unless the section has a row for each flag of v and mentions no others.
func wantFlags(t *testing.T, v verb, body string) {
	t.Helper()
	fs, _ := v.flagSet()
	var rows, words []string
	fs.VisitAll(func(f *flag.Flag) {
		words = append(words, dashed(f.Name))
		if f.Name != "c" { // all have it
			rows = append(rows, flagRow(f))
		}
	})
	for _, row := range rows {
		if !strings.Contains(body, row+"\n") {
			t.Errorf("sidecar %s: want the row\n%s", v.name, row)
		}
	}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "| `-") && !slices.Contains(rows, strings.TrimSuffix(line, "\n")) {
			t.Errorf("sidecar %s has no such flag:\n%s", v.name, line)
		}
		if !strings.Contains(line, "sidecar "+v.name+" ") {
			continue
		}
		for _, m := range flagWord.FindAllStringSubmatch(strings.Split(line, " | ")[0], -1) {
			if !slices.Contains(words, m[1]) {
				t.Errorf("sidecar %s knows no %s:\n%s", v.name, m[1], line)
			}
		}
	}
}

// wantJSON fails unless the section of a verb that prints JSON shows some.
func wantJSON(t *testing.T, v verb, body string) {
	t.Helper()
	if fs, _ := v.flagSet(); fs.Lookup("json") == nil {
		return
	}
	_, example, _ := strings.Cut(body, "```json\n")
	example, _, _ = strings.Cut(example, "```")
	if example == "" {
		t.Errorf("sidecar %s: its JSON is not shown", v.name)
	}
	for d := json.NewDecoder(strings.NewReader(example)); d.More(); {
		if err := d.Decode(new(any)); err != nil {
			t.Errorf("sidecar %s: its JSON is none: %v", v.name, err)
			return
		}
	}
}

// The places that usages name are what completions fill.
func TestUsagesNamePlacesThatCanBeFilled(t *testing.T) {
	for _, v := range callable() {
		fs, _ := v.flagSet()
		for _, m := range flagWord.FindAllStringSubmatch(v.usage, -1) {
			if fs.Lookup(strings.TrimLeft(m[1], "-")) == nil {
				t.Errorf("the usage of %s names %s, which is no flag of it", v.name, m[1])
			}
		}
		fs.VisitAll(func(f *flag.Flag) {
			if f.Name != "c" && !strings.Contains(v.usage, "--"+f.Name) {
				t.Errorf("the usage of %s does not name --%s", v.name, f.Name)
			}
		})
		for _, place := range v.places() {
			if strings.HasPrefix(place, "-") && place != "-" {
				t.Errorf("%s: %q is taken for a place", v.name, place)
			}
		}
	}
}
