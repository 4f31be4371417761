package cli

import (
	"context"
	"errors"
	"flag"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/internal/stage"
	"sidecar/queue"
)

type findFlags struct {
	prefix string
	text   string
	fields fields
	limit  int
	json   bool
}

// fields is a flag that names what a field of the text is to hold, and may be given several times.
type fields []queue.Field

func (f *fields) String() string { return "" }

// Set adds a field.
func (f *fields) Set(text string) error {
	field, ok := queue.ParseField(text)
	if !ok {
		return errors.New("want name=value, such as order_id=2104 or payload.order.id=2104")
	}
	*f = append(*f, field)
	return nil
}

func findVerb() verb {
	return verb{
		name:  "find",
		usage: "UUID [TOPIC…] | [TOPIC…] [--prefix ord_web] [--field order_id=2104] [--text 2104] [--limit 100] [--json]",
		short: "find a job: where it is, and why it does not run",
		long: `
Looks for the job with this uuid (in a list job_id) in the pool, ready, running and dead of all topics, or of those named,
and says of each place in which key it lies, since when it runs or is dead, when it is due, how often it was tried, and what that means. Where
the topic uses idempotency it says whether the job was done within the last day. Without a UUID --prefix looks for all jobs whose uuid begins so,
--field for those that have a field of this name with this value, a number or a text, at any depth (names with dots between them: one in the other; given again: both), and
--text for those that have this anywhere in their text, letter for letter. It reads keys piece by piece, never whole: with a million jobs that takes a while. A job that moves on
meanwhile may be shown twice. Never a payload. Exit code 1 when it is nowhere.

  sidecar find 6f1c1f34-0f6e-4c57-9d0e-3b5f6a3c2d11
  sidecar find --prefix ord_web order_timeout
  sidecar find --field order_id=2104`,
		flags: func(fs *flag.FlagSet) any {
			f := new(findFlags)
			fs.StringVar(&f.prefix, "prefix", "", "look for all whose uuid begins with this `text`")
			fs.StringVar(&f.text, "text", "", "look for all that have this `text` in theirs")
			fs.Var(&f.fields, "field", "look for all that have a field with this value: `name=value`; may be given again")
			fs.IntVar(&f.limit, "limit", 100, "how many jobs at most")
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: find,
	}
}

// finding is what find came to. Its JSON names are a promise.
type finding struct {
	UUID   string     `json:"uuid,omitempty"`
	Prefix string     `json:"prefix,omitempty"`
	Text   string     `json:"text,omitempty"`
	Fields []string   `json:"fields,omitempty"`
	Jobs   []foundJob `json:"jobs"`
	Marks  []mark     `json:"marks"`
	ByHand []byHand   `json:"by_hand,omitempty"` // of a uuid that is nowhere: what the audit trail says
	Topics []string   `json:"topics"`            // where it was looked
	Looked int64      `json:"looked"`            // texts
	Unsure bool       `json:"unsure"`            // keys changed so much meanwhile that some may have been passed over

	Failed []failedLook `json:"failed,omitempty"` // where it could not be looked
}

// failedLook is a topic that could not be looked through, or not to its end. Its JSON names are a promise.
type failedLook struct {
	Topic string `json:"topic"`
	Error string `json:"error"`
}

// mark is what is known of a job that is done. Its JSON names are a promise.
type mark struct {
	Topic   string `json:"topic"`
	Meaning string `json:"meaning"`
}

func find(env Env, c call) int {
	f := c.flags.(*findFlags)
	names := c.args
	result := newFinding(f)
	byUUID := f.prefix == "" && f.text == "" && len(f.fields) == 0
	switch {
	case byUUID && len(c.args) == 0:
		return usageError(env, findVerb(), "want a uuid, --prefix, --field or --text")
	case f.limit < 1:
		return usageError(env, findVerb(), "--limit %d: want at least 1", f.limit)
	case byUUID:
		result.UUID, names = c.args[0], c.args[1:]
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	topics, err := topicsOf(cfg, names)
	if err != nil {
		if _, swapped := topicOf(cfg, result.UUID); byUUID && swapped == nil {
			return usageError(env, findVerb(), "%v; the uuid comes first, then topics: sidecar find %s %s", err, names[0], result.UUID)
		}
		return report(env, exitUsage, err)
	}
	return openUntilSignal(env, cfg, queuesOf(topics), func(ctx context.Context, rdb redis.UniversalClient) int {
		query := queue.Query{UUID: result.UUID, Prefix: f.prefix, Text: f.text, Fields: f.fields}
		look := lookFor{cfg: cfg, rdb: rdb, progress: newProgress(env), limit: f.limit, query: query, result: &result}
		if err := look.in(ctx, topics); err != nil {
			return report(env, exitFailed, err)
		}
		look.byHand(ctx)
		stage.InOrder(result.Jobs, func(j foundJob) stage.Turn { return j.turn })
		return showFinding(env, result, f.json)
	})
}

func newFinding(f *findFlags) finding {
	r := finding{Prefix: f.prefix, Text: f.text, Jobs: []foundJob{}, Marks: []mark{}, Topics: []string{}}
	for _, field := range f.fields {
		r.Fields = append(r.Fields, field.Name+"="+field.Value)
	}
	return r
}

// topicsOf finds the configured topics of these names; without any all.
func topicsOf(cfg *config.Config, names []string) (topics []config.Topic, err error) {
	if len(names) == 0 {
		return cfg.Topics, nil
	}
	for _, name := range names {
		t, err := topicOf(cfg, name)
		if err != nil {
			return nil, err
		}
		topics = append(topics, t)
	}
	return topics, nil
}

func queuesOf(topics []config.Topic) []queue.Options {
	opts := make([]queue.Options, len(topics))
	for i, t := range topics {
		opts[i] = t.Queue
	}
	return opts
}
