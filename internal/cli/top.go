package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/plural"
)

type topFlags struct {
	every time.Duration
	count int
	sort  string
	json  bool
}

func topVerb() verb {
	return verb{
		name:  "top",
		usage: "[--every 2s] [--count N] [--sort backlog|oldest|dead|topic] [--json]",
		short: "show the topics with the most to do first, live",
		long: `
Shows all topics and lists in one table that is drawn again every 2 s, those with the largest backlog first, and of equal
ones that whose oldest due job has been due longest. BACKLOG is what could run now: due and ready. IN/MIN and OUT/MIN are how
many jobs came and were done with in the last full minute that running sidecars wrote down. GROWS is by how many jobs a
second all that is not dead grew since the look before. q or Ctrl-C ends it. Without a terminal it prints one table, or
as many as --count says. Reads only.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(topFlags)
			fs.DurationVar(&f.every, "every", watchEvery, "how often to look")
			fs.IntVar(&f.count, "count", 0, "how often in all, 0 = until told to stop, without a terminal once")
			fs.StringVar(&f.sort, "sort", "backlog", "by `what`: backlog, oldest, dead or topic")
			fs.BoolVar(&f.json, "json", false, "print JSON, an object a line")
			return f
		},
		run: top,
	}
}

// topLine is one topic's line. Its JSON names are a promise: those of status, and what is done in a minute.
type topLine struct {
	topicStatus
	Backlog int64  `json:"backlog"`
	In      *int64 `json:"in_per_minute,omitempty"` // in the last full minute that sidecars wrote down
	Out     *int64 `json:"out_per_minute,omitempty"`
}

// orders are the ways to sort, each by what comes first.
var orders = map[string]func(a, b topLine) int{
	"backlog": func(a, b topLine) int { return cmp.Compare(b.Backlog, a.Backlog) },
	"oldest":  func(a, b topLine) int { return cmp.Compare(b.OldestDueSeconds, a.OldestDueSeconds) },
	"dead":    func(a, b topLine) int { return cmp.Compare(b.Dead, a.Dead) },
	"topic":   func(a, b topLine) int { return strings.Compare(a.Topic, b.Topic) },
}

func top(env Env, c call) int {
	f := c.flags.(*topFlags)
	order, known := orders[f.sort]
	switch {
	case len(c.args) > 0:
		return usageError(env, topVerb(), "want no arguments, got %s", given(c.args))
	case !known:
		return usageError(env, topVerb(), "--sort %q: want backlog, oldest, dead or topic", f.sort)
	case f.every < minEvery:
		return usageError(env, topVerb(), "--every %s: want at least %s", f.every, minEvery)
	case f.count < 0:
		return usageError(env, topVerb(), "--count %d: want zero or more", f.count)
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	w := watch{f.every, f.count}
	if w.count == 0 && (env.terminal == nil || f.json) {
		w.count = 1
	}
	return openRedis(env, cfg, cfg.Queues(), func(rdb redis.UniversalClient) int {
		flows := newFlows(cfg, rdb)
		return watchTopics(env, cfg, rdb, w, func(ctx context.Context, seen sample) frame {
			return topFrame(seen, flows.look(ctx), order, f.json)
		})
	})
}

func topFrame(seen sample, flows map[string]flow, order func(a, b topLine) int, asJSON bool) frame {
	lines := make([]topLine, 0, len(seen.topics))
	for _, t := range seen.topics {
		line := topLine{topicStatus: t, Backlog: t.Due + t.Ready}
		if f, known := flows[t.Topic]; known {
			line.In, line.Out = &f.in, &f.out
		}
		lines = append(lines, line)
	}
	slices.SortStableFunc(lines, func(a, b topLine) int {
		return cmp.Or(order(a, b), orders["backlog"](a, b), orders["oldest"](a, b), orders["topic"](a, b))
	})
	if asJSON {
		return func(w io.Writer, _, _ int) {
			_ = json.NewEncoder(w).Encode(map[string]any{"at": seen.at, "topics": lines})
		}
	}
	return func(w io.Writer, columns, most int) { drawTop(w, columns, most, seen, lines) }
}

func drawTop(w io.Writer, columns, most int, seen sample, lines []topLine) {
	var sum topLine
	for _, l := range lines {
		sum.Backlog, sum.Running, sum.Dead = sum.Backlog+l.Backlog, sum.Running+l.Running, sum.Dead+l.Dead
	}
	head := fmt.Sprintf("%s  %s  backlog %d  running %d  dead %d",
		seen.at, plural.Of(len(lines), "topic", "topics"), sum.Backlog, sum.Running, sum.Dead)
	if columns > 0 {
		head = first(head, columns)
	}
	paint(w, faint, head+"\n")
	t := table{width: columns}
	t.heads("TOPIC", "BACKLOG", "OLDEST DUE", "IN/MIN", "OUT/MIN", "GROWS", "POOL", "READY", "RUNNING", "DEAD")
	for _, l := range lines {
		if l.Error != "" {
			t.row(field{text: l.Topic}, field{l.Error, bad})
			continue
		}
		grows := field{text: "-"}
		if c := l.PerSecond; c != nil {
			grows = growth(c.Pool + c.Ready + c.Running)
			l.PerSecond = nil
		}
		t.row(field{text: l.Topic}, field{text: fmt.Sprint(l.Backlog)}, field{text: l.age()},
			perMinute(l.In), perMinute(l.Out), grows,
			moving(l.Pool, 0), moving(l.Ready, 0), moving(l.Running, 0), moving(l.Dead, 0))
	}
	t.print(w, most-1)
}

// perMinute is how many there were in the last full minute.
func perMinute(n *int64) field {
	if n == nil {
		return field{text: "-"}
	}
	return field{text: fmt.Sprint(*n)}
}

// growth is by how much a topic grows a second.
func growth(perSecond float64) field {
	f := field{text: fmt.Sprintf("%+.1f/s", perSecond)}
	switch {
	case perSecond > 0:
		f.style = warned
	case perSecond < 0:
		f.style = good
	}
	return f
}
