package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"sidecar/internal/plural"
	"sidecar/queue"
)

// causesMost is of how many causes dead list --by error keeps count. Those that are met later are counted together.
const causesMost = 1000

// cause is what dead jobs of one cause have in common. Its JSON names are a promise.
type cause struct {
	Error   string `json:"error"` // in its normal form: what --like takes
	Count   int    `json:"count"`
	First   string `json:"first"`   // when the oldest died, in the configuration's time zone; "" where nobody wrote it down
	Last    string `json:"last"`    // likewise the newest
	Example string `json:"example"` // the uuid of one, or what the other verbs take for one

	told bool // somebody wrote it down: --like takes it
}

// causes are the causes of dead jobs, and how many died of others than are kept.
type causes struct {
	list   []*cause
	of     map[string]*cause
	others int
}

// add counts a dead job.
func (c *causes) add(d deadSearch, e queue.Entry) {
	class := queue.ErrorClass(deadJobOf(d.topic, e).Error)
	one := c.of[class]
	switch {
	case one == nil && len(c.list) == causesMost:
		c.others++
		return
	case one == nil:
		one = &cause{Error: class, First: e.At, Last: e.At, Example: e.Name(), told: e.Reason}
		c.list, c.of[class] = append(c.list, one), one
	}
	one.Count++
	if e.At != "" {
		one.First, one.Last = cmp.Or(min(one.First, e.At), e.At), max(one.Last, e.At)
	}
}

// deadCauses prints one line a cause, the most frequent first.
func deadCauses(ctx context.Context, env Env, d deadSearch, f *deadListFlags) int {
	c := causes{list: []*cause{}, of: make(map[string]*cause)}
	for e, err := range d.entries(ctx, newProgress(env)) {
		if err != nil {
			return report(env, exitFailed, err)
		}
		c.add(d, e)
	}
	slices.SortStableFunc(c.list, func(a, b *cause) int { return cmp.Compare(b.Count, a.Count) })
	shown := c.list[:min(f.limit, len(c.list))]
	for _, one := range c.list[len(shown):] {
		c.others += one.Count
	}
	if f.json {
		_ = json.NewEncoder(env.Stdout).Encode(map[string]any{"topic": d.topic.Name, "profile": d.topic.Profile(), "causes": shown, "others": c.others})
		return exitOK
	}
	if len(shown) == 0 {
		fmt.Fprintln(env.Stdout, f.noneOf(d.topic))
		return exitOK
	}
	printCauses(env.Stdout, shown)
	if c.others > 0 {
		fmt.Fprintf(env.Stderr, "%s of other causes; --limit shows more\n", plural.Of(c.others, "job is dead", "jobs are dead"))
	}
	if first := shown[0]; first.told {
		same := ""
		if !f.none() {
			same = ", with the same filter"
		}
		fmt.Fprintf(env.Stderr, "%s takes those of the first line%s\n", sidecarLine(d.cfg, "dead", "replay", d.topic.Name, "--limit", "0", "--like", first.Error), same)
	}
	return exitOK
}

func printCauses(w io.Writer, list []*cause) {
	var t table
	t.heads("JOBS", "FIRST", "LAST", "ONE OF THEM", "ERROR")
	for _, one := range list {
		t.row(field{text: fmt.Sprint(one.Count)}, field{cell(one.First), faint}, field{cell(one.Last), faint}, field{text: one.Example}, field{cell(one.Error), bad})
	}
	t.print(w, 0)
}
