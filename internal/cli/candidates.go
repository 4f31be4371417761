package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"sidecar/internal/config"
)

// candidatesVerb is for completions, and in no overview.
func candidatesVerb() verb {
	return verb{
		name:  "__candidates",
		usage: "-- WORD…",
		short: "print what may stand in place of the last word",
		long: `
Completions call it with the words of a command line behind --, without sidecar itself. Prints the words that may stand
in place of the last one and begin as it does, one a line, a tab and an explanation behind them; nothing where a file may.`,
		noConfig: true,
		run: func(env Env, c call) int {
			words := c.args
			if len(words) == 0 {
				words = []string{""}
			}
			last := words[len(words)-1]
			for _, w := range candidates(words[:len(words)-1], last) {
				if strings.HasPrefix(w.word, last) {
					fmt.Fprintf(env.Stdout, "%s\t%s\n", w.word, w.why)
				}
			}
			return exitOK
		},
	}
}

// candidate is a word that may come next.
type candidate struct{ word, why string }

// candidates returns what may stand behind the words of a command line, where last is what somebody has begun to write.
func candidates(before []string, last string) []candidate {
	if len(before) == 0 {
		return candidatesOf(append(verbs(), verb{name: "help", short: "explain a verb"}))
	}
	if before[0] == "help" {
		if len(before) == 1 {
			return candidatesOf(verbs())
		}
		return nil
	}
	at := slices.IndexFunc(verbs(), func(v verb) bool { return v.name == before[0] })
	if at < 0 {
		return nil
	}
	v, before := verbs()[at], before[1:]
	if v.subs == nil {
		return v.candidates(before, last)
	}
	sub := v.subAt(before)
	if sub < 0 {
		return candidatesOf(v.subs)
	}
	for _, s := range v.subs {
		if s.word() == before[sub] {
			return s.candidates(slices.Delete(slices.Clone(before), sub, sub+1), last)
		}
	}
	return nil
}

func candidatesOf(verbs []verb) (found []candidate) {
	for _, v := range verbs {
		found = append(found, candidate{v.word(), v.short})
	}
	return found
}

// candidates returns what may stand behind the words, which follow the verb: a flag, its value, or an argument as the
// verb's usage names it.
func (v verb) candidates(before []string, last string) []candidate {
	fs, c := v.flagSet()
	if value := openFlag(fs, before); value != nil {
		return v.valuesOf(value.Name)
	}
	if strings.HasPrefix(last, "-") {
		return flagsOf(fs)
	}
	args, _ := parseAnywhere(fs, before) // of a wrong line what can be told of it
	places := v.places()
	if len(places) == 0 {
		return flagsOf(fs)
	}
	place := places[min(len(args), len(places)-1)]
	if len(args) >= len(places) && !strings.HasSuffix(places[len(places)-1], "…") {
		return flagsOf(fs)
	}
	return fill(strings.TrimSuffix(place, "…"), c.configPath)
}

// openFlag returns the flag that stands last and waits for its value.
func openFlag(fs *flag.FlagSet, before []string) *flag.Flag {
	if len(before) == 0 || !strings.HasPrefix(before[len(before)-1], "-") || strings.Contains(before[len(before)-1], "=") {
		return nil
	}
	f := fs.Lookup(strings.TrimLeft(before[len(before)-1], "-"))
	if f == nil || isBool(f) {
		return nil
	}
	return f
}

// flagsOf returns the flags as they are written in usages: with two dashes, but for one letter.
func flagsOf(fs *flag.FlagSet) (found []candidate) {
	fs.VisitAll(func(f *flag.Flag) {
		_, why := flag.UnquoteUsage(f)
		found = append(found, candidate{dashed(f.Name), why})
	})
	return found
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// places are the verb's arguments as its usage has them, without its flags: "TOPIC", "JSON|-", "UUID…".
func (v verb) places() (places []string) {
	inFlag := false
	for word := range strings.FieldsSeq(v.usage) {
		opened := strings.HasPrefix(word, "[")
		switch {
		case strings.HasPrefix(word, "[-") || strings.HasPrefix(word, "-"):
			inFlag = opened && !strings.HasSuffix(word, "]")
		case inFlag:
			inFlag = !strings.HasSuffix(word, "]")
		default:
			places = append(places, strings.ReplaceAll(strings.Trim(word, "[]"), "]…", "…"))
		}
	}
	return places
}

// valuesOf returns the values that the verb's usage lists for the flag.
func (v verb) valuesOf(name string) (found []candidate) {
	_, behind, listed := strings.Cut(v.usage, "[--"+name+" ")
	values, _, _ := strings.Cut(behind, "]")
	if !listed || !strings.Contains(values, "|") {
		return nil
	}
	for value := range strings.SplitSeq(values, "|") {
		found = append(found, candidate{word: value})
	}
	return found
}

// fill returns what may stand in a place: names of the configuration, or words that it lists itself.
func fill(place, configPath string) (found []candidate) {
	for word := range strings.SplitSeq(place, "|") {
		switch {
		case slices.Contains([]string{"TOPIC", "LIST", "SPOOL", "RULE", "TARGET"}, word):
			found = append(found, named(word, configPath)...)
		case word == strings.ToLower(word) && word != "-":
			found = append(found, candidate{word: word})
		}
	}
	return found
}

// named returns the configuration's topics, lists, spools, rules or targets. One that does not hold has none to offer.
func named(what, configPath string) (found []candidate) {
	cfg, err := config.Load(configPath)
	if err != nil {
		return nil
	}
	switch what {
	case "SPOOL":
		for _, s := range cfg.Spools {
			found = append(found, candidate{s.Name, "spool"})
		}
		return found
	case "RULE":
		for _, r := range cfg.Alert.Rules {
			found = append(found, candidate{r.Name, "rule"})
		}
		return found
	case "TARGET":
		for _, t := range cfg.Alert.Targets {
			found = append(found, candidate{t.Name, t.Kind})
		}
		return found
	}
	for _, t := range cfg.Topics {
		switch {
		case t.Queue.List != nil:
			found = append(found, candidate{t.Name, "list"})
		case what == "TOPIC":
			found = append(found, candidate{t.Name, "topic"})
		}
	}
	return found
}
