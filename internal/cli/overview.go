package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"sidecar/internal/config"
)

// group are the verbs of one purpose, under one heading of the overview.
type group struct {
	title string
	verbs []verb
}

func groups() []group {
	return []group{
		{"run", []verb{runVerb(), reloadVerb(), pushVerb(), spoolVerb()}},
		{"look", []verb{statusVerb(), topVerb(), findVerb(), peekVerb(), auditVerb()}},
		{"steer", []verb{pauseVerb(), resumeVerb(), drainVerb(), deadVerb(), replayVerb(), requeueVerb(), handbackVerb(), alertVerb()}},
		{"check", []verb{checkVerb(), doctorVerb(), healthVerb(), tryVerb(), completionVerb(), versionVerb()}},
	}
}

func verbs() (all []verb) {
	for _, g := range groups() {
		all = append(all, g.verbs...)
	}
	return all
}

func overview(w io.Writer) {
	fmt.Fprint(w, `sidecar runs the delayed jobs of PHP applications: it reads the Redis keys that PHP producers write
(delay:pool:<topic> and its three companions, and plain lists) and calls the existing PHP code through PHP-FPM.

usage: sidecar <verb> [-c sidecar.toml] [arguments]
`)
	for _, g := range groups() {
		fmt.Fprintf(w, "\n%s\n", g.title)
		for _, v := range g.verbs {
			fmt.Fprintf(w, "  %-10s %s\n", v.name, v.short)
		}
	}
	fmt.Fprint(w, `
A first look, with nothing at risk:
  sidecar check                             does the configuration hold?
  sidecar doctor                            does the whole setting hold?
  sidecar status                            what waits in Redis?
  sidecar try order_timeout '{"uuid":"1"}'  run one job through PHP-FPM, Redis untouched
  sidecar run                               consume, until Ctrl-C or TERM

sidecar <verb> --help explains a verb.
`)
}

func help(w io.Writer, v verb, fs *flag.FlagSet) {
	fmt.Fprintf(w, "usage: %s\n\n%s\n", v.line(), strings.TrimSpace(v.long))
	if v.subs != nil {
		fmt.Fprintln(w)
		for _, sub := range v.subs {
			fmt.Fprintf(w, "  %-10s %s\n", sub.word(), sub.short)
		}
		fmt.Fprintf(w, "\nsidecar %s <verb> --help explains one.\n", v.name)
	}
	if fs != nil && hasFlags(fs) {
		fmt.Fprintln(w, "\nflags:")
		fs.SetOutput(w)
		fs.PrintDefaults()
	}
	fmt.Fprint(w, "\nexit codes: 0 fine, 1 the work failed, 2 wrong arguments or configuration, 3 this Redis cannot serve\n")
}

func hasFlags(fs *flag.FlagSet) (any bool) {
	fs.VisitAll(func(*flag.Flag) { any = true })
	return any
}

// meant returns a question to put behind an unknown word: which of known it was to be. It is "" where none is near.
func meant(word string, known []string) string {
	best, nearest := "", 3 // more than two slips are another word
	for _, k := range known {
		if d := config.Slips(word, k); d < nearest && d < len(k) {
			best, nearest = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}
