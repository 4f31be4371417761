package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"sidecar/internal/config"
	"sidecar/internal/doctor"
	"sidecar/internal/plural"
)

type doctorFlags struct {
	json, strict bool
}

func doctorVerb() verb {
	return verb{
		name:  "doctor",
		usage: "[TOPIC…] [--json] [--strict]",
		short: "look at the whole setting, say what to do about it",
		long: `
Looks at Redis, the topics' keys, PHP-FPM, what its PHP sees, this host and the configuration, and says of each finding
what was found, why it matters and what to do about it. It reads only, by commands that take no longer where queues
are long, and runs none of your code; what could not be looked at is a finding, too. With topics, only those and their
pools. docs/doctor.md lists all findings.

Exit code 0 when nothing is wrong, 1 when there are faults (with --strict also when there are warnings), 3 when
this Redis cannot serve. Run it as the service's user: sudo -u www-data sidecar doctor`,
		flags: func(fs *flag.FlagSet) any {
			f := new(doctorFlags)
			fs.BoolVar(&f.json, "json", false, "print the findings as JSON")
			fs.BoolVar(&f.strict, "strict", false, "exit code 1 for warnings, too")
			return f
		},
		run: runDoctor,
	}
}

func runDoctor(env Env, c call) int {
	f := c.flags.(*doctorFlags)
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	for _, name := range c.args {
		if _, err := topicOf(cfg, name); err != nil {
			return report(env, exitUsage, err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	found := doctor.Examine(ctx, cfg, doctor.Options{Topics: c.args, Root: "/"})
	if ctx.Err() != nil {
		return fail(env, "interrupted: what was not asked is not known")
	}
	if f.json {
		if err := printFindingsJSON(env.Stdout, cfg, found); err != nil {
			return report(env, exitFailed, err)
		}
	} else {
		printFindings(env.Stdout, cfg, found)
	}
	return exitCodeOf(found, f.strict)
}

// exitCodeOf says for scripts what the findings come to.
func exitCodeOf(found []doctor.Finding, strict bool) int {
	for _, one := range found {
		if one.ID == "redis-unfit" {
			return exitRefused
		}
	}
	if doctor.Count(found, doctor.Fault) > 0 || strict && doctor.Count(found, doctor.Warning) > 0 {
		return exitFailed
	}
	return exitOK
}

func printFindingsJSON(w io.Writer, cfg *config.Config, found []doctor.Finding) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	return to.Encode(struct {
		Config   string           `json:"config"`
		Faults   int              `json:"faults"`
		Warnings int              `json:"warnings"`
		Notes    int              `json:"notes"`
		Findings []doctor.Finding `json:"findings"`
	}{cfg.Path, doctor.Count(found, doctor.Fault), doctor.Count(found, doctor.Warning), doctor.Count(found, doctor.Note), found})
}

func printFindings(w io.Writer, cfg *config.Config, all []doctor.Finding) {
	found := all
	if len(found) == 0 {
		fmt.Fprintf(w, "%s: nothing to say: %s, %s and their Redis are as they should be\n", cfg.Path,
			plural.Of(len(cfg.Topics), "topic", "topics"), plural.Of(len(cfg.FPM), "pool", "pools"))
		return
	}
	for len(found) > 0 {
		n := alike(found)
		printAlike(w, found[:n])
		found = found[n:]
	}
	fmt.Fprintf(w, "%s: %s, %s, %s\n", cfg.Path, counted(all, doctor.Fault), counted(all, doctor.Warning), counted(all, doctor.Note))
}

// alike counts the findings from the first on that are of its kind and level.
func alike(found []doctor.Finding) (n int) {
	for n < len(found) && found[n].ID == found[0].ID && found[n].Level == found[0].Level {
		n++
	}
	return n
}

// wholeMost is how many findings of one kind are told whole: 200 topics may be refused the same command.
const wholeMost = 5

// printAlike prints findings of one kind.
func printAlike(w io.Writer, found []doctor.Finding) {
	for i, one := range found {
		if i == wholeMost {
			fmt.Fprintf(w, "         %d more of this kind (%s), from %s to %s: --json has them all\n\n",
				len(found)-i, one.ID, oneLine(one.Where), oneLine(found[len(found)-1].Where))
			return
		}
		paint(w, styleOf(one.Level), fmt.Sprintf("%-7s", strings.ToUpper(one.Level.String())))
		fmt.Fprintf(w, "  %s (%s)\n", oneLine(one.Where), one.ID)
		fmt.Fprintf(w, "  found  %s\n  why    %s\n  do     %s\n\n", indented(one.Found), one.Why, one.Do)
	}
}

// oneLine shows line breaks, which names in Redis may have, as what they are.
func oneLine(text string) string { return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(text) }

// counted says how many findings of a level there are.
func counted(found []doctor.Finding, l doctor.Level) string {
	if n := doctor.Count(found, l); n != 1 {
		return fmt.Sprintf("%d %ss", n, l)
	}
	return "1 " + l.String()
}

func styleOf(l doctor.Level) style {
	switch l {
	case doctor.Fault:
		return bad
	case doctor.Warning:
		return warned
	case doctor.Note:
		return faint
	}
	return ""
}

// indented lines up the further lines of a text with the first.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n         ") }
