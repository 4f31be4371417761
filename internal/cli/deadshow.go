package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
)

type deadShowFlags struct {
	payload bool
	json    bool
}

func deadShowVerb() verb {
	return verb{
		name:  "dead show",
		usage: "TOPIC UUID [--payload] [--json]",
		short: "show all there is to know about a dead job",
		long: `
Shows the dead jobs of TOPIC with this uuid (in a list job_id), with their whole errors. What has no uuid goes by the name that dead list
shows in its place, such as record:8f14e45fceea167a5a36, whatever it holds. --payload shows what may hold personal data, too: the
job's text and the trace. Reads only. Exit code 1 when there is none.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(deadShowFlags)
			fs.BoolVar(&f.payload, "payload", false, "show the job's text and the trace, too")
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: deadShow,
	}
}

// shownJob is one dead job, whole. Its JSON names are a promise.
type shownJob struct {
	foundJob
	Trace string `json:"trace,omitempty"` // where it was asked for
}

func deadShow(env Env, c call) int {
	f := c.flags.(*deadShowFlags)
	if len(c.args) != 2 {
		return usageError(env, deadShowVerb(), "want a topic and a uuid, got %s", given(c.args))
	}
	only := &filter{uuids: words{c.args[1]}}
	return withDead(env, c, deadShowVerb(), only, func(ctx context.Context, _ redis.UniversalClient, d deadSearch) int {
		jobs := []shownJob{}
		for e, err := range d.entries(ctx, newProgress(env)) {
			if err != nil {
				return report(env, exitFailed, err)
			}
			j := shownJob{foundJob: situation{cfg: d.cfg, topic: d.topic}.job(e, 0)}
			if f.payload {
				j.Payload, j.Trace = cmp.Or(e.Job, e.Stored), e.Trace // what is no record is all there is
			}
			jobs = append(jobs, j)
		}
		if f.json {
			_ = json.NewEncoder(env.Stdout).Encode(map[string]any{"topic": d.topic.Name, "profile": d.topic.Profile(), "dead": jobs})
		}
		for _, j := range jobs {
			if !f.json {
				j.print(env)
			}
		}
		if len(jobs) == 0 {
			return fail(env, "%s is not among the dead jobs of %s; sidecar find looks everywhere", compat.PlainUUID(c.args[1]), d.topic.Name)
		}
		return exitOK
	})
}

func (j shownJob) print(env Env) {
	whole := j.Error
	j.Error = ""
	j.foundJob.print(env.Stdout)
	if whole != "" {
		fmt.Fprintf(env.Stdout, "  error:\n%s\n", whole)
	}
	if j.Trace != "" {
		fmt.Fprintf(env.Stdout, "  trace:\n%s\n", j.Trace)
	}
	if j.Payload != "" {
		fmt.Fprintf(env.Stdout, "  payload:\n%s\n", j.Payload)
	}
}
