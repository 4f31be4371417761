package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/alert"
	"sidecar/internal/config"
	"sidecar/queue"
)

func alertVerb() verb {
	return verb{
		name:  "alert",
		short: "see, silence and try the alarms",
		long:  `Alarms without Prometheus: [alert] in the configuration. What fires, and who was told, is shared by all sidecars in Redis.`,
		subs:  []verb{alertListVerb(), alertSilenceVerb(), alertTestVerb()},
	}
}

type silenceFlags struct{ lasts time.Duration }

func alertSilenceVerb() verb {
	return verb{
		name:  "alert silence",
		usage: "RULE|TOPIC --for 1h",
		short: "tell nobody of a rule's or a topic's alarms for a while",
		long: `
Nobody is told of the alarms of this rule, topic, list or FPM pool for so long, by whichever sidecar. What still fires at
the end is told then; what has ended is not. --for 0s ends a silence.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(silenceFlags)
			fs.DurationVar(&f.lasts, "for", time.Hour, "for how long, at most 30 days; 0s ends a silence")
			return f
		},
		run: silence,
	}
}

// longestSilence is a month: a rule that is to be quiet for ever is switched off.
const longestSilence = 30 * 24 * time.Hour

func silence(env Env, c call) int {
	lasts := c.flags.(*silenceFlags).lasts
	switch {
	case len(c.args) != 1:
		return usageError(env, alertSilenceVerb(), "want the name of a rule, topic, list or pool, got %s", given(c.args))
	case lasts < 0 || lasts > longestSilence:
		return usageError(env, alertSilenceVerb(), "--for %s: want 0s to %s; enabled = false switches a rule off", lasts, longestSilence)
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	name := c.args[0]
	if known := silenceable(cfg); !slices.Contains(known, name) {
		return report(env, exitUsage, fmt.Errorf("no rule, topic, list or pool %q%s; there are: %s", name, meant(name, known), strings.Join(known, ", ")))
	}
	return withRedis(env, cfg, nil, func(ctx context.Context, rdb redis.UniversalClient) int {
		return silenceFor(ctx, env, cfg, rdb, name, lasts)
	})
}

func silenceFor(ctx context.Context, env Env, cfg *config.Config, rdb redis.UniversalClient, name string, lasts time.Duration) int {
	until, err := alert.Mute(ctx, queue.NewAlerts(rdb, cfg.Redis.KeyPrefix), name, lasts, who())
	if err != nil {
		return fail(env, "silence %s: %w", name, err)
	}
	line := queue.Audited{Verb: queue.VerbSilence, Filter: name, Note: "for " + lasts.String()}
	addLine(ctx, env, queue.NewAudit(rdb, cfg.Redis.KeyPrefix), line)
	if lasts == 0 {
		fmt.Fprintf(env.Stdout, "%s is silent no more\n", name)
		return exitOK
	}
	fmt.Fprintf(env.Stdout, "%s is silent until %s\n", name, compat.FormatAt(until, cfg.Timezone))
	return exitOK
}

// silenceable returns the names that a silence may be for.
func silenceable(cfg *config.Config) (names []string) {
	for _, r := range cfg.Alert.Rules {
		names = append(names, r.Name)
	}
	names = append(names, cfg.TopicNames()...)
	for name := range cfg.FPM {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func alertTestVerb() verb {
	return verb{
		name:  "alert test",
		usage: "[TARGET]",
		short: "send a test message, and show what the receiver says",
		long: `
Sends a real message, marked as a test, to the target, or to all of them, from this process, and prints the answer. A robot
that wants a key word in messages: every one has the word sidecar.`,
		flags: func(*flag.FlagSet) any { return nil },
		run:   alertTest,
	}
}

// testPatience bounds one test message.
const testPatience = 12 * time.Second

func alertTest(env Env, c call) int {
	if len(c.args) > 1 {
		return usageError(env, alertTestVerb(), "want at most one target, got %s", given(c.args))
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	names := cfg.Alert.TargetNames()
	if len(names) == 0 {
		return report(env, exitUsage, fmt.Errorf("%s has no table [alert.target.<name>]: nobody is told", cfg.Path))
	}
	if len(c.args) == 1 && !slices.Contains(names, c.args[0]) {
		return report(env, exitUsage, fmt.Errorf("no target %q%s; there are: %s", c.args[0], meant(c.args[0], names), strings.Join(names, ", ")))
	}
	for _, t := range cfg.Alert.Targets {
		if len(c.args) == 1 && t.Name != c.args[0] {
			continue
		}
		if err := tryTarget(env, cfg.Alert, t); err != nil {
			code = report(env, exitFailed, fmt.Errorf("%s (%s): %w", t.Name, t.Kind, err))
		}
	}
	return code
}

func tryTarget(env Env, o alert.Options, t alert.Target) error {
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	defer cancel()
	said, err := alert.Test(ctx, o, t)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s (%s): sent; it says: %s\n", t.Name, t.Kind, said)
	return nil
}
