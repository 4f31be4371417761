package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/config"
	"sidecar/queue"
)

// deadLimit is how many dead jobs are shown, and errorShown how many characters of each one's error, unless more is
// asked for.
const (
	deadLimit  = 20
	errorShown = 160
)

func deadVerb() verb {
	return verb{
		name:  "dead",
		short: "see which jobs are dead and why, run them again or drop them",
		long: `
Works on the jobs in delay:dead:TOPIC, or on those of a dead letter list that are TOPIC's. What replay and drop do is written to a file
first, and undo takes it back.`,
		subs: []verb{deadListVerb(), deadShowVerb(), deadReplayVerb(), deadDropVerb(), deadUndoVerb(), deadExportVerb()},
	}
}

type deadListFlags struct {
	filter
	by    string
	limit int
	json  bool
}

func deadListVerb() verb {
	return verb{
		name:  "dead list",
		usage: "TOPIC [--by error] [--limit 20] " + filterUsage + " [--json]",
		short: "show which jobs are dead, and why",
		long: `
Prints one line a dead job, the newest first: when it was buried, its uuid (in a list its job_id and type), how often it
had failed, and the error. Never its payload. Of a dead letter list that several lists share it shows those that are
TOPIC's; why the old worker buried one is in no key, so that its reason is unknown. Reads only.
--by error prints one line a cause instead, the most frequent first: how many died of it, when the first and the last did, one of them, and the error with
each word that has a digit in it as #. --like takes that. --json prints the same as one JSON object, with whole errors.
` + filterHelp,
		flags: func(fs *flag.FlagSet) any {
			f := new(deadListFlags)
			fs.IntVar(&f.limit, "limit", deadLimit, "how many jobs at most; of causes how many")
			fs.StringVar(&f.by, "by", "", "count by `error` instead of showing each")
			f.flags(fs)
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: deadList,
	}
}

// deadJob is one dead job's line. Its JSON names are a promise.
type deadJob struct {
	At    string `json:"at"` // in the configuration's time zone; "" where nobody wrote it down
	UUID  string `json:"uuid"`
	Name  string `json:"name,omitempty"` // what the other verbs take for a uuid where it has none
	Type  string `json:"type,omitempty"`
	Tries int    `json:"tries"`
	Error string `json:"error"`
}

func deadList(env Env, c call) int {
	f := c.flags.(*deadListFlags)
	if len(c.args) != 1 {
		return usageError(env, deadListVerb(), "want a topic, got %s", given(c.args))
	}
	if f.limit < 1 {
		return usageError(env, deadListVerb(), "--limit %d: want at least 1", f.limit)
	}
	if f.by != "" && f.by != "error" {
		return usageError(env, deadListVerb(), "--by %q: want error", f.by)
	}
	return withDead(env, c, deadListVerb(), &f.filter, func(ctx context.Context, _ redis.UniversalClient, d deadSearch) int {
		if f.by != "" {
			return deadCauses(ctx, env, d, f)
		}
		jobs := []deadJob{}
		for e, err := range d.entries(ctx, newProgress(env)) {
			if err != nil {
				return report(env, exitFailed, err)
			}
			if jobs = append(jobs, deadJobOf(d.topic, e)); len(jobs) == f.limit {
				break
			}
		}
		switch {
		case f.json:
			_ = json.NewEncoder(env.Stdout).Encode(map[string]any{"topic": d.topic.Name, "profile": d.topic.Profile(), "dead": jobs})
		case len(jobs) == 0:
			fmt.Fprintln(env.Stdout, f.noneOf(d.topic))
		default:
			printDead(env.Stdout, d.topic, jobs)
		}
		return exitOK
	})
}

// withDead opens the topic named in c and calls f with a search for what the filter means. ctx ends with a signal.
func withDead(env Env, c call, v verb, f *filter, work func(context.Context, redis.UniversalClient, deadSearch) int) int {
	cfg, topic, code := loadTopic(env, c)
	if cfg == nil {
		return code
	}
	return openUntilSignal(env, cfg, []queue.Options{topic.Queue}, func(ctx context.Context, rdb redis.UniversalClient) int {
		s := session{cfg, topic, queue.NewStore(rdb, cfg.Redis.KeyPrefix, topic.Queue)}
		d, err := newDeadSearch(ctx, rdb, s, f)
		var usage filterError
		switch {
		case errors.As(err, &usage):
			return usageError(env, v, "%v", err)
		case err != nil:
			return report(env, exitFailed, err)
		}
		return work(ctx, rdb, d)
	})
}

// noneOf says that the filter leaves no dead job of a topic.
func (f *filter) noneOf(t config.Topic) string {
	if f.none() {
		return t.Name + " has no dead jobs"
	}
	return t.Name + " has no such dead jobs"
}

func deadJobOf(topic config.Topic, e queue.Entry) deadJob {
	line := deadJob{At: e.At, UUID: compat.PlainUUID(e.UUID), Type: e.Type, Tries: e.Tries, Error: e.Error}
	if !e.Reason {
		line.Error = noReason(topic)
	}
	if e.UUID == "" {
		line.Name = e.Name()
	}
	return line
}

// noReason is what stands in place of an error where none is known.
func noReason(topic config.Topic) string {
	if topic.Queue.List != nil {
		return "unknown reason"
	}
	return "not a dead record"
}

func printDead(w io.Writer, topic config.Topic, jobs []deadJob) {
	var t table
	isList := topic.Queue.List != nil
	if isList {
		t.heads("AT", "JOB ID", "TYPE", "TRIES", "ERROR")
	} else {
		t.heads("AT", "UUID", "TRIES", "ERROR")
	}
	for _, j := range jobs {
		at, uuid, tries, why := field{cell(j.At), faint}, field{text: cell(cmp.Or(j.UUID, j.Name))}, field{text: fmt.Sprint(j.Tries)}, field{cell(j.Error), bad}
		if isList {
			t.row(at, uuid, field{text: cell(j.Type)}, tries, why)
		} else {
			t.row(at, uuid, tries, why)
		}
	}
	t.print(w, 0)
}

// cell returns text as one cell of a table shows it: in one line, and not all of it.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if short := compat.Cut(text, errorShown); short != text {
		text = short + "…"
	}
	if text == "" {
		return "-"
	}
	return text
}
