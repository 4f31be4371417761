package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/queue"
)

// watchEvery is how often status --watch and top look, unless they are told.
const watchEvery = 2 * time.Second

type statusFlags struct {
	json  bool
	watch every
}

func statusVerb() verb {
	return verb{
		name:  "status",
		usage: "[--watch [2s]] [--json]",
		short: "show what waits, runs and is dead in each topic",
		long: `
Prints one line a topic or list: jobs in the pool, how many of them are due, ready, running and dead,
and for how long the oldest that is due or ready has been due. Of ready that is an estimate, by what the sidecars claimed last and told
within ten seconds. The pool of a list holds retries that wait, ready is what lies in all
its shards, and dead is the whole of its dead letter list, which other lists may share. HELD says that a topic is paused for all
sidecars, or in a pause window, and until when; or else on which sidecars its breaker has tripped, PHP-FPM or something else keeps it from running (the last lines say
what), or its rate is reached, as they told last, within ten seconds; "?" that nobody can tell, and the last line why. The last line also says when no sidecar lives, or Redis is at
maxmemory and takes no writes of producers, or a sidecar goes on with the settings of before, since a reload was
refused, as the sidecars told last. Reads only; works without a running sidecar. --json prints the same as one JSON object, times in seconds, and each shard's ready by its number.
--watch looks again every 2 s, or as often as it says, and shows by how many jobs a second each number changed: on a
terminal in place, until q or Ctrl-C, elsewhere line below line (with --json an object a line).`,
		flags: func(fs *flag.FlagSet) any {
			f := new(statusFlags)
			fs.BoolVar(&f.json, "json", false, "print JSON")
			fs.Var(&f.watch, "watch", "look again and again")
			return f
		},
		run: status,
	}
}

// every is a flag that may stand alone, for watchEvery, or say how often. 0: it was not given.
type every time.Duration

// IsBoolFlag lets the flag stand alone.
func (e *every) IsBoolFlag() bool { return true }

func (e *every) String() string { return "" }

// Set takes the flag's value.
func (e *every) Set(text string) error {
	if text == "true" { // it stands alone
		*e = every(watchEvery)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minEvery {
		return fmt.Errorf("want how often, such as 2s, at least %s", minEvery)
	}
	*e = every(d)
	return nil
}

// minEvery keeps a display from being a load.
const minEvery = 100 * time.Millisecond

// topicStatus is one topic's line. Its JSON names are a promise.
type topicStatus struct {
	Topic            string  `json:"topic"`
	Pool             int64   `json:"pool"`
	Due              int64   `json:"due"`
	Ready            int64   `json:"ready"`
	Running          int64   `json:"running"`
	Dead             int64   `json:"dead"`
	OldestDueSeconds float64 `json:"oldest_due_seconds"`
	Profile          string  `json:"profile"`
	Shards           []int64 `json:"shards,omitempty"` // of a list
	Error            string  `json:"error,omitempty"`

	held // what holds it back on all sidecars

	PerSecond *change `json:"per_second,omitempty"` // since the look before
}

func status(env Env, c call) int {
	f := c.flags.(*statusFlags)
	if f.watch > 0 && len(c.args) == 1 { // "--watch 5s", in which 5s is no value of a flag that may stand alone
		if err := f.watch.Set(c.args[0]); err != nil {
			return usageError(env, statusVerb(), "--watch %s: %v", c.args[0], err)
		}
		c.args = nil
	}
	if len(c.args) > 0 {
		return usageError(env, statusVerb(), "want no arguments, got %s", given(c.args))
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	count := 1
	if f.watch > 0 {
		count = 0
	}
	return openRedis(env, cfg, cfg.Queues(), func(rdb redis.UniversalClient) int {
		return watchTopics(env, cfg, rdb, watch{time.Duration(f.watch), count}, func(_ context.Context, seen sample) frame {
			if f.json {
				return statusJSON(seen)
			}
			return statusFrame(seen, f.watch > 0)
		})
	})
}

// statusJSON writes an object a look. Its names are a promise.
func statusJSON(seen sample) frame {
	return func(w io.Writer, _, _ int) {
		_ = json.NewEncoder(w).Encode(struct {
			Topics []topicStatus `json:"topics"`
			Full   bool          `json:"redis_full,omitempty"`
		}{seen.topics, len(seen.full) > 0})
	}
}

// statusFrame draws the table of status.
func statusFrame(seen sample, watching bool) frame {
	return func(w io.Writer, columns, lines int) {
		t := table{width: columns}
		if watching {
			paint(w, faint, seen.at+"\n")
			lines--
		}
		t.heads("TOPIC", "PROFILE", "POOL", "DUE", "READY", "RUNNING", "DEAD", "OLDEST DUE", "HELD")
		for _, l := range seen.topics {
			t.row(l.fields()...)
		}
		t.print(w, lines-strings.Count(seen.foot(), "\n"))
		paint(w, bad, seen.foot())
	}
}

// fields are the line's fields in status.
func (l topicStatus) fields() []field {
	if l.Error != "" {
		return []field{{text: l.Topic}, {text: l.Profile}, {l.Error, bad}}
	}
	var c change
	if l.PerSecond != nil {
		c = *l.PerSecond
	}
	return []field{
		{text: l.Topic},
		{text: l.Profile},
		moving(l.Pool, c.Pool),
		{text: fmt.Sprint(l.Due)},
		moving(l.Ready, c.Ready),
		moving(l.Running, c.Running), deadField(l.Dead, c.Dead),
		{text: l.age()},
		{text: l.mark()},
	}
}

// age is for how long the oldest due job has been due.
func (l topicStatus) age() string {
	if l.Due == 0 && l.OldestDueSeconds == 0 {
		return "-"
	}
	return rounded(time.Duration(l.OldestDueSeconds * float64(time.Second))).String()
}

// moving is a number and by how much it changes each second.
func moving(n int64, perSecond float64) field {
	if perSecond == 0 {
		return field{text: fmt.Sprint(n)}
	}
	return field{text: fmt.Sprintf("%d (%+.1f/s)", n, perSecond)}
}

// deadField is moving for dead, where more is bad news.
func deadField(n int64, perSecond float64) field {
	f := moving(n, perSecond)
	if perSecond > 0 {
		f.style = bad
	}
	return f
}

// statusOf is one topic's line.
func statusOf(t config.Topic, read queue.DepthsRead) topicStatus {
	if read.Err != nil {
		return topicStatus{Topic: t.Name, Profile: t.Profile(), Error: read.Err.Error()}
	}
	d := read.Depths
	return topicStatus{
		Topic: t.Name, Pool: d.Pool, Due: d.Due, Ready: d.Ready, Running: d.Running, Dead: d.Dead,
		OldestDueSeconds: d.OldestDueAge.Seconds(), Profile: t.Profile(), Shards: d.Shards,
	}
}

// watchTopics shows what draw makes of each look at all topics. Without a count it goes on when Redis does not answer;
// with one it fails if the last look did.
func watchTopics(env Env, cfg *config.Config, rdb redis.UniversalClient, w watch, draw func(context.Context, sample) frame) int {
	sampler := newSampler(cfg, rdb)
	code := w.run(env, func(ctx context.Context) (frame, error) { return draw(ctx, sampler.look(ctx)), nil })
	if code == exitOK && w.count > 0 && sampler.last.failed() {
		return exitFailed
	}
	return code
}
