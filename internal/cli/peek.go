package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/plural"
	"sidecar/queue"
)

// peekMost is how many jobs one look may show: as many as one command reads.
const peekMost = 500

type peekFlags struct {
	pool, ready, running bool
	limit                int
	offset               int64
	payload              bool
	json                 bool
}

func peekVerb() verb {
	return verb{
		name:  "peek",
		usage: "TOPIC --pool|--ready|--running [--limit 20] [--offset N] [--payload] [--json]",
		short: "show jobs that wait or run, in their order",
		long: `
Shows the jobs of one place: of the pool by when they are due, of ready the next one first (of a list shard by shard), of
running by when their leases end. --offset begins further behind. No payload without --payload. Reads only, and one
piece of one key. For dead jobs there is sidecar dead list.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(peekFlags)
			fs.BoolVar(&f.pool, "pool", false, "what waits until it is due")
			fs.BoolVar(&f.ready, "ready", false, "what may run")
			fs.BoolVar(&f.running, "running", false, "what runs")
			fs.IntVar(&f.limit, "limit", deadLimit, "how many jobs at most, up to 500")
			fs.Int64Var(&f.offset, "offset", 0, "how many to pass over")
			fs.BoolVar(&f.payload, "payload", false, "show the jobs' texts, too")
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: peek,
	}
}

// peeked is what peek shows. Its JSON names are a promise.
type peeked struct {
	Topic   string     `json:"topic"`
	Profile string     `json:"profile"`
	Place   string     `json:"place"`
	Total   int64      `json:"total"`
	Offset  int64      `json:"offset"`
	Next    int64      `json:"next,omitempty"` // the offset of the next page
	Jobs    []foundJob `json:"jobs"`
}

// place is the one place that was asked for.
func (f *peekFlags) place() (place queue.Place, ok bool) {
	n := 0
	for flagged, p := range map[*bool]queue.Place{&f.pool: queue.InPool, &f.ready: queue.InReady, &f.running: queue.InRunning} {
		if *flagged {
			place, n = p, n+1
		}
	}
	return place, n == 1
}

func peek(env Env, c call) int {
	f := c.flags.(*peekFlags)
	place, ok := f.place()
	switch {
	case len(c.args) != 1:
		return usageError(env, peekVerb(), "want a topic, got %s", given(c.args))
	case !ok:
		return usageError(env, peekVerb(), "want one of --pool, --ready and --running")
	case f.limit < 1 || f.limit > peekMost:
		return usageError(env, peekVerb(), "--limit %d: want 1 to %d", f.limit, peekMost)
	case f.offset < 0:
		return usageError(env, peekVerb(), "--offset %d: want zero or more", f.offset)
	}
	cfg, topic, code := loadTopic(env, c)
	if cfg == nil {
		return code
	}
	return withRedis(env, cfg, []queue.Options{topic.Queue}, func(ctx context.Context, rdb redis.UniversalClient) int {
		store := queue.NewStore(rdb, cfg.Redis.KeyPrefix, topic.Queue)
		page, err := store.Peek(ctx, place, queue.Page{Offset: f.offset, Limit: int64(f.limit)})
		if err != nil {
			return report(env, exitFailed, err)
		}
		result := peeked{topic.Name, topic.Profile(), string(place), page.Total, f.offset, page.Next, []foundJob{}}
		where := lookAround(ctx, cfg, rdb).of(topic)
		for _, e := range page.Entries {
			j := where.job(e, page.Now)
			if f.payload {
				j.Payload = e.Job
			}
			result.Jobs = append(result.Jobs, j)
		}
		if f.json {
			_ = json.NewEncoder(env.Stdout).Encode(result)
			return exitOK
		}
		printPeeked(env.Stdout, result)
		return exitOK
	})
}

func printPeeked(w io.Writer, p peeked) {
	if len(p.Jobs) == 0 {
		fmt.Fprintf(w, "%s has %s in %s", p.Topic, plural.Of(p.Total, "job", "jobs"), p.Place)
		if p.Total > 0 {
			fmt.Fprintf(w, ", and none behind --offset %d", p.Offset)
		}
		fmt.Fprintln(w)
		return
	}
	var t table
	when := map[string]string{string(queue.InPool): "DUE", string(queue.InRunning): "LEASE ENDS", string(queue.InReady): "KEY"}[p.Place]
	t.heads("UUID", "TYPE", when, "TRIES", "MEANS")
	for _, j := range p.Jobs {
		at := j.Due + j.LeaseEnds
		if p.Place == string(queue.InReady) {
			at = j.Key
		}
		t.row(field{text: cell(j.UUID)}, field{text: cell(j.Type)}, field{cell(at), faint}, field{text: fmt.Sprint(j.Tries)}, field{text: j.Meaning})
		if j.Payload != "" {
			t.row(field{"  " + j.Payload, faint})
		}
	}
	t.print(w, 0)
	if p.Next > 0 {
		fmt.Fprintf(w, "%d in all; --offset %d shows those behind\n", p.Total, p.Next)
	}
}
