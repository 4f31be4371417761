package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/alert"
	"sidecar/internal/config"
	"sidecar/queue"
)

type alertListFlags struct{ json bool }

func alertListVerb() verb {
	return verb{
		name:  "alert list",
		usage: "[--json]",
		short: "show what fires, since when, who was told, and what is silenced",
		long: `
Prints the alarms that any sidecar of this Redis sees, the silences, and how the targets of messages fare. That Redis is
away is known to each sidecar by itself and is not among them. Reads only.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(alertListFlags)
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: alertList,
	}
}

func alertList(env Env, c call) int {
	if len(c.args) > 0 {
		return usageError(env, alertListVerb(), "want no arguments, got %s", given(c.args))
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	return withRedis(env, cfg, nil, func(ctx context.Context, rdb redis.UniversalClient) int {
		o, err := alert.Look(ctx, queue.NewAlerts(rdb, cfg.Redis.KeyPrefix))
		if err != nil {
			return fail(env, "%w", err)
		}
		if c.flags.(*alertListFlags).json {
			_ = json.NewEncoder(env.Stdout).Encode(o)
			return exitOK
		}
		showAlarms(env.Stdout, cfg, o)
		return exitOK
	})
}

func showAlarms(w io.Writer, cfg *config.Config, o alert.Overview) {
	at := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return compat.FormatAt(t, cfg.Timezone)
	}
	var alarms table
	alarms.heads("RULE", "SUBJECT", "STATE", "SINCE", "SILENCED UNTIL", "TOLD", "READINGS")
	for _, a := range o.Alarms {
		told := strings.Join(slices.Sorted(maps.Keys(a.Told)), ",")
		alarms.row(field{text: a.Rule}, field{text: orDash(a.Subject)}, field{text: stateOf(a, o.At)}, field{text: at(a.Since)},
			field{text: at(a.SilencedUntil)}, field{text: orDash(told)}, field{text: seenBy(a)})
	}
	if len(o.Alarms) == 0 {
		fmt.Fprintln(w, "no alarm")
	} else {
		alarms.print(w, 0)
	}
	if len(o.Silences) > 0 {
		var silences table
		silences.heads("SILENCED", "UNTIL", "BY")
		for _, name := range slices.Sorted(maps.Keys(o.Silences)) {
			s := o.Silences[name]
			silences.row(field{text: name}, field{text: at(s.Until)}, field{text: s.By})
		}
		fmt.Fprintln(w)
		silences.print(w, 0)
	}
	showTargets(w, cfg, o, at)
}

// unseenLeast is from when on an alarm that nobody has seen hold may have lost its rule, or all who looked at it.
const unseenLeast = 15 * time.Minute

// stateOf returns an alarm's state, and for how long nobody has looked.
func stateOf(a alert.Shown, now time.Time) string {
	if unseen := now.Sub(a.Seen); a.Over.IsZero() && unseen >= unseenLeast {
		return a.State + ", seen " + unseen.Round(time.Minute).String() + " ago"
	}
	return a.State
}

// seenBy returns an alarm's readings, with who made them where that matters.
func seenBy(a alert.Shown) string {
	if a.By == "" {
		return a.Text
	}
	return a.Text + " (seen by " + a.By + ")"
}

func showTargets(w io.Writer, cfg *config.Config, o alert.Overview, at func(time.Time) string) {
	if len(cfg.Alert.Targets) == 0 {
		fmt.Fprintf(w, "\n%s has no table [alert.target.<name>]: nobody is told\n", cfg.Path)
		return
	}
	var targets table
	targets.heads("TARGET", "KIND", "LAST SENT", "FAILURES", "NOT BEFORE", "ERROR")
	for _, t := range cfg.Alert.Targets {
		s := o.Targets[t.Name]
		targets.row(field{text: t.Name}, field{text: t.Kind}, field{text: at(s.LastSent)}, field{text: fmt.Sprint(s.Failures)},
			field{text: at(s.Next)}, field{text: orDash(s.Error)})
	}
	fmt.Fprintln(w)
	targets.print(w, 0)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
