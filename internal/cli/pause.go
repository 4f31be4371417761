package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/queue"
)

type pauseFlags struct {
	lasts  length
	reason string
	all    bool
}

// length is a flag that says how long a pause is to last. 0, which would be for ever, cannot be given: it is what a script
// comes to whose variable is empty.
type length time.Duration

func (l *length) String() string { return "" }

// Set takes the flag's value.
func (l *length) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > queue.LongestPause {
		return errors.New("want a time such as 10m, more than nothing and at most a year")
	}
	*l = length(d)
	return nil
}

func pauseVerb() verb {
	return verb{
		name:  "pause",
		usage: "TOPIC… [--all] [--for 10m] [--reason TEXT]",
		short: "have all sidecars claim no more jobs of topics",
		long: `
Within about a second no sidecar on this Redis claims jobs of the topics or lists. Jobs in hand finish, what was claimed and has not
begun goes back, due jobs stay in the pool. It lasts until sidecar resume, or as long as --for says. A second pause
replaces the first. Old consumers beside the sidecars know nothing of it and go on.

  sidecar pause order_timeout --for 10m --reason "the shop's database moves"`,
		flags: func(fs *flag.FlagSet) any {
			f := new(pauseFlags)
			fs.BoolVar(&f.all, "all", false, "all topics of the configuration")
			fs.Var(&f.lasts, "for", "how long, a `duration` such as 10m; without it until resume")
			fs.StringVar(&f.reason, "reason", "", "why, for whoever wonders: a `text` that all can see")
			return f
		},
		run: pause,
	}
}

func resumeVerb() verb {
	return verb{
		name:  "resume",
		usage: "TOPIC… [--all]",
		short: "end the pause of topics",
		long: `
Ends what sidecar pause or drain began: within about a second all sidecars claim again. A pause window, a breaker that has tripped, and a
rate are not ended by it.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(pauseFlags)
			fs.BoolVar(&f.all, "all", false, "all topics of the configuration")
			return f
		},
		run: resume,
	}
}

func pause(env Env, c call) int {
	f := c.flags.(*pauseFlags)
	return withTopics(env, c, pauseVerb(), f.all, func(ctx context.Context, s steering) error {
		return s.pause(ctx, time.Duration(f.lasts), f.reason)
	})
}

func resume(env Env, c call) int {
	f := c.flags.(*pauseFlags)
	return withTopics(env, c, resumeVerb(), f.all, func(ctx context.Context, s steering) error { return s.resume(ctx) })
}

// steering is what the verbs that steer topics have at hand.
type steering struct {
	env    Env
	cfg    *config.Config
	topics []config.Topic // that were named
	rdb    redis.UniversalClient
	pauses *queue.Pauses
	audit  queue.Audit
}

// withTopics opens Redis for the topics that are named, or all, and calls f.
func withTopics(env Env, c call, v verb, all bool, f func(context.Context, steering) error) int {
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	s := steering{env: env, cfg: cfg}
	switch {
	case all && len(c.args) > 0:
		return usageError(env, v, "want topics or --all, got both")
	case all:
		s.topics = cfg.Topics
	case len(c.args) == 0:
		return usageError(env, v, "want a topic, or --all")
	}
	for _, name := range c.args {
		topic, err := topicOf(cfg, name)
		if err != nil {
			return report(env, exitUsage, err)
		}
		s.topics = append(s.topics, topic)
	}
	return openRedis(env, cfg, cfg.Queues(), func(rdb redis.UniversalClient) int {
		s.rdb = rdb
		s.pauses, s.audit = queue.NewPauses(rdb, cfg.Redis.KeyPrefix), queue.NewAudit(rdb, cfg.Redis.KeyPrefix)
		if err := f(context.Background(), s); err != nil {
			return report(env, exitFailed, err)
		}
		return exitOK
	})
}

// pause pauses the topics and says so. What fails for one does not keep the others from it.
func (s steering) pause(ctx context.Context, lasts time.Duration, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	var errs []error
	for _, t := range s.topics {
		p, err := s.pauses.Set(ctx, t.Name, lasts, who(), reason)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(s.env.Stdout, "%s is paused %s\n", t.Name, s.ending(t, p))
		line := queue.Audited{Verb: queue.VerbPause, Topic: t.Name, Note: p.Reason}
		if lasts > 0 {
			line.Note = strings.TrimSpace("for " + lasts.String() + " " + p.Reason)
		}
		addLine(ctx, s.env, s.audit, line)
	}
	return errors.Join(errs...)
}

// ending says how long a pause lasts.
func (s steering) ending(t config.Topic, p queue.Pause) string {
	if p.Until.IsZero() {
		return "until it is resumed: " + sidecarLine(s.cfg, "resume", t.Name)
	}
	return "until " + p.Until.In(s.cfg.Timezone).Format("2006-01-02 15:04:05 MST")
}

func (s steering) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	var errs []error
	for _, t := range s.topics {
		was, found, err := s.pauses.Clear(ctx, t.Name)
		switch {
		case err != nil:
			errs = append(errs, err)
			continue
		case !found:
			fmt.Fprintf(s.env.Stdout, "%s was not paused%s\n", t.Name, s.heldAllTheSame(ctx, t))
			continue
		}
		fmt.Fprintf(s.env.Stdout, "%s goes on; it was paused by %s\n", t.Name, was.By)
		addLine(ctx, s.env, s.audit, queue.Audited{Verb: queue.VerbResume, Topic: t.Name})
	}
	return errors.Join(errs...)
}

// heldAllTheSame says what holds a topic back that nobody has paused, after a semicolon; "" where nothing does.
func (s steering) heldAllTheSame(ctx context.Context, t config.Topic) string {
	var held []string
	tripped := false
	_, now, err := s.pauses.All(ctx)
	if window := heldBy(t, nil, now, s.cfg.Timezone); err == nil && window.Paused {
		held = append(held, "its pause_windows, "+window.Reason)
	}
	for _, b := range consumersOf(ctx, s.rdb, s.cfg.Redis.KeyPrefix).living {
		if what := heldBackBy(b, t); what != "" {
			held = append(held, what)
			_, broken := b.Hold(t.Name, queue.HoldBreaker)
			tripped = tripped || broken
		}
	}
	if len(held) == 0 {
		return ""
	}
	text := "; what holds it back is not ended by this: " + strings.Join(held, "; ")
	if tripped {
		text += ". A breaker ends with a probe that succeeds, or by Resume on that sidecar's dashboard"
	}
	return text
}
