package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

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

type deadFlags struct {
	limit int
	json  bool
}

func deadVerb() verb {
	return verb{
		name:  "dead",
		usage: "list TOPIC [--limit 20] [--json]",
		short: "show which jobs are dead, and why",
		long: `
Prints one line a dead job, the newest first: when it was buried, its uuid (in a list its job_id and type), how often it
had failed, and the error. Never its payload. Of a dead letter list that several lists share it shows those that are
TOPIC's; why the old worker buried one is in no key, so that its reason is unknown. Reads only.
--json prints the same as one JSON object, with whole errors.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(deadFlags)
			fs.IntVar(&f.limit, "limit", deadLimit, "how many jobs at most")
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: dead,
	}
}

// deadJob is one dead job's line. Its JSON names are a promise.
type deadJob struct {
	At    string `json:"at"` // in the configuration's time zone; "" where nobody wrote it down
	UUID  string `json:"uuid"`
	Type  string `json:"type,omitempty"`
	Tries int    `json:"tries"`
	Error string `json:"error"`
}

func dead(env Env, c call) int {
	f := c.flags.(*deadFlags)
	if len(c.args) != 2 || c.args[0] != "list" {
		return usageError(env, deadVerb(), "want list and a topic, got %q", c.args)
	}
	if f.limit < 1 {
		return usageError(env, deadVerb(), "--limit %d: want at least 1", f.limit)
	}
	c.args = c.args[1:]
	return withStore(env, c, func(ctx context.Context, s session) int {
		found, err := s.store.Dead(ctx, f.limit)
		if err != nil {
			return report(env, exitFailed, err)
		}
		jobs := make([]deadJob, 0, len(found))
		for _, d := range found {
			jobs = append(jobs, deadJobOf(s.topic, d))
		}
		if f.json {
			_ = json.NewEncoder(env.Stdout).Encode(map[string]any{"topic": s.topic.Name, "profile": s.topic.Profile(), "dead": jobs})
		} else {
			printDead(env.Stdout, s.topic, jobs)
		}
		return exitOK
	})
}

func deadJobOf(topic config.Topic, d queue.DeadJob) deadJob {
	line := deadJob{At: d.At, UUID: compat.PlainUUID(d.UUID), Type: d.Type, Tries: d.Tries, Error: d.Error}
	switch {
	case d.Reason:
	case topic.Queue.List != nil:
		line.Error = "unknown reason"
	default:
		line.Error = "not a dead record"
	}
	return line
}

func printDead(w io.Writer, topic config.Topic, jobs []deadJob) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	isList := topic.Queue.List != nil
	columns := []string{"AT", "UUID", "TRIES", "ERROR"}
	if isList {
		columns = []string{"AT", "JOB ID", "TYPE", "TRIES", "ERROR"}
	}
	fmt.Fprintln(tw, strings.Join(columns, "\t"))
	for _, j := range jobs {
		cells := []string{cell(j.At), cell(j.UUID), fmt.Sprint(j.Tries), cell(j.Error)}
		if isList {
			cells = []string{cells[0], cells[1], cell(j.Type), cells[2], cells[3]}
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	_ = tw.Flush()
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
