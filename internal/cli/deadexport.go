package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/plural"
	"sidecar/queue"
)

type deadExportFlags struct {
	filter
	limit  int
	format string
	output string
}

func deadExportVerb() verb {
	return verb{
		name:  "dead export",
		usage: "TOPIC [--output FILE] [--format json|raw] [--limit N] " + filterUsage,
		short: "write dead jobs with their payloads to a file",
		long: `
Writes the dead jobs whole, payloads and traces included, the oldest first: to standard output or to a new file that only its owner may read. json is an
object a line; raw are the stored texts as they are, a line each. It changes nothing, and reads piece by piece: a job that
dies or is replayed meanwhile may be in it or not.

  sidecar dead export order_timeout --since 24h | jq -r .error | sort | uniq -c` + "\n" + filterHelp,
		flags: func(fs *flag.FlagSet) any {
			f := new(deadExportFlags)
			fs.StringVar(&f.output, "output", "", "the `file` to write, which must not exist yet")
			fs.StringVar(&f.format, "format", "json", "`json` or raw")
			fs.IntVar(&f.limit, "limit", 0, "how many jobs at most, 0 = all")
			f.flags(fs)
			return f
		},
		run: deadExport,
	}
}

// exportedJob is one dead job as it is exported. Its JSON names are a promise.
type exportedJob struct {
	Topic   string `json:"topic"`
	UUID    string `json:"uuid"`
	Type    string `json:"type,omitempty"`
	Tries   int    `json:"tries"`
	Crashes int    `json:"crashes"`
	At      string `json:"at"`
	Error   string `json:"error"`
	Trace   string `json:"trace"`
	Job     string `json:"job,omitempty"`    // the job's text
	Bytes   []byte `json:"bytes,omitempty"`  // the same in base64, where it is no text
	Record  []byte `json:"record,omitempty"` // what is stored, in base64, where no job can be read from it
}

func deadExport(env Env, c call) int {
	f := c.flags.(*deadExportFlags)
	switch {
	case len(c.args) != 1:
		return usageError(env, deadExportVerb(), "want a topic, got %s", given(c.args))
	case f.format != "json" && f.format != "raw":
		return usageError(env, deadExportVerb(), "--format %q: want json or raw", f.format)
	case f.limit < 0:
		return usageError(env, deadExportVerb(), "--limit %d: want zero or more", f.limit)
	}
	return withDead(env, c, deadExportVerb(), &f.filter, func(ctx context.Context, _ redis.UniversalClient, d deadSearch) int {
		to, closeTo, err := exportTo(env, f.output)
		if err != nil {
			return report(env, exitFailed, err)
		}
		d.query.Oldest = true
		n, unsure, err := export(ctx, to, d, f, newProgress(env))
		if err = errors.Join(err, closeTo()); err != nil {
			return report(env, exitFailed, fmt.Errorf("%s exported: %w", plural.Of(n, "job is", "jobs are"), err))
		}
		fmt.Fprintf(env.Stderr, "exported %s\n", plural.Of(n, "job", "jobs"))
		if unsure {
			return fail(env, "dead changed so much meanwhile that some may be missing or there twice; export again")
		}
		return exitOK
	})
}

// exportTo opens the file, or standard output as it is: what a pipe gets must not be changed.
func exportTo(env Env, path string) (io.Writer, func() error, error) {
	if path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("--output: %w", err)
		}
		w := bufio.NewWriter(file)
		return w, func() error { return errors.Join(w.Flush(), file.Sync(), file.Close()) }, nil
	}
	to := env.Stdout
	if v, ok := to.(visible); ok && env.terminal == nil {
		to = v.to
	}
	w := bufio.NewWriter(to)
	return w, w.Flush, nil
}

func export(ctx context.Context, to io.Writer, d deadSearch, f *deadExportFlags, progress *progress) (n int, unsure bool, err error) {
	defer progress.done()
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	for found, err := range d.found(ctx) {
		if err != nil {
			return n, unsure, err
		}
		for _, e := range found.Entries {
			if f.format == "raw" {
				_, err = io.WriteString(to, e.Stored+"\n")
			} else {
				err = enc.Encode(exported(d.topic.Name, e))
			}
			if err != nil {
				return n, unsure, fmt.Errorf("write: %w", err)
			}
			if n++; n == f.limit {
				return n, unsure, nil
			}
		}
		unsure = found.Unsure
		progress.tell("looked at %d of %s", found.Looked, plural.Of(found.Of, "dead job", "dead jobs"))
	}
	return n, unsure, nil
}

func exported(topic string, e queue.Entry) exportedJob {
	j := exportedJob{Topic: topic, UUID: e.UUID, Type: e.Type, Tries: e.Tries, Crashes: e.Crashes, At: e.At, Error: e.Error, Trace: e.Trace}
	switch {
	case e.Job == "":
		j.Record = []byte(e.Stored)
	case utf8.ValidString(e.Job):
		j.Job = e.Job
	default:
		j.Bytes = []byte(e.Job)
	}
	return j
}
