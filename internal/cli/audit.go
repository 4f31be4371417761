package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/queue"
)

// auditUsual is how many lines are shown unless others are asked for.
const auditUsual = 50

type auditFlags struct {
	json  bool
	limit int
}

// auditedLine is a line of the trail. Its JSON names are a promise.
type auditedLine struct {
	At     string `json:"at"` // in the configuration's time zone
	By     string `json:"by"`
	Verb   string `json:"verb"`
	Topic  string `json:"topic,omitempty"`
	Count  int    `json:"count"`
	UUID   string `json:"uuid,omitempty"`
	Filter string `json:"filter,omitempty"`
	File   string `json:"file,omitempty"`
	Note   string `json:"note,omitempty"`
}

func auditVerb() verb {
	return verb{
		name:  "audit",
		usage: "[--limit N] [--json]",
		short: "show who has replayed, dropped, requeued, paused or undone what",
		long: `
Prints the audit trail, the newest line first: what people did by hand, by command or on the dashboard, and what the sidecar did by
itself. Of the last 1000 acts there is a line. Reads only.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(auditFlags)
			fs.BoolVar(&f.json, "json", false, "print JSON")
			fs.IntVar(&f.limit, "limit", auditUsual, "how many lines at most")
			return f
		},
		run: audit,
	}
}

func audit(env Env, c call) int {
	f := c.flags.(*auditFlags)
	if len(c.args) > 0 {
		return usageError(env, auditVerb(), "want no arguments, got %s", given(c.args))
	}
	if f.limit < 1 || f.limit > queue.AuditKept {
		return usageError(env, auditVerb(), "--limit %d: want 1 to %d", f.limit, queue.AuditKept)
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	return withRedis(env, cfg, nil, func(ctx context.Context, rdb redis.UniversalClient) int {
		trail, err := queue.NewAudit(rdb, cfg.Redis.KeyPrefix).Recent(ctx, f.limit)
		if err != nil {
			return fail(env, "%w", err)
		}
		lines := make([]auditedLine, 0, len(trail))
		for _, l := range trail {
			lines = append(lines, auditedLine{compat.FormatAt(l.At, cfg.Timezone), l.By, l.Verb, l.Topic, l.Count, l.UUID, l.Filter, l.File, l.Note})
		}
		if f.json {
			_ = json.NewEncoder(env.Stdout).Encode(map[string]any{"lines": lines})
			return exitOK
		}
		showAudit(env.Stdout, lines)
		return exitOK
	})
}

func showAudit(w io.Writer, lines []auditedLine) {
	if len(lines) == 0 {
		fmt.Fprintln(w, "nothing was done by hand")
		return
	}
	var t table
	t.heads("AT", "BY", "VERB", "TOPIC", "JOBS", "WHAT")
	for _, l := range lines {
		what := strings.Join(strings.Fields(strings.Join([]string{l.UUID, l.Filter, l.Note, l.File}, " ")), " ")
		t.row(field{text: l.At}, field{text: l.By}, field{text: l.Verb}, field{text: orDash(l.Topic)}, field{text: fmt.Sprint(l.Count)}, field{text: orDash(what)})
	}
	t.print(w, 0)
}
