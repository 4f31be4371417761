package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// verb is one subcommand, or one of those a subcommand is made of.
type verb struct {
	name  string // "dead list" of one that belongs to another
	usage string // its arguments
	short string // one line for the overview
	long  string // what --help adds
	flags func(*flag.FlagSet) any
	run   func(env Env, call call) int

	subs     []verb // the verbs it is made of; it has no flags and no run of its own then
	noConfig bool   // it reads no configuration
}

// call is one invocation of a verb, its command line taken apart.
type call struct {
	configPath string
	args       []string // what is not a flag
	flags      any      // what verb.flags returned, filled
}

// line is how the verb is called.
func (v verb) line() string {
	words := "sidecar " + v.name
	if v.subs != nil {
		words += " " + strings.Join(v.subNames(), "|")
	}
	if !v.noConfig {
		words += " [-c sidecar.toml]"
	}
	return strings.TrimSpace(words + " " + v.usage)
}

// word is the verb's own name, behind that of the verb it belongs to.
func (v verb) word() string { return v.name[strings.LastIndex(v.name, " ")+1:] }

// subNames returns the words of the verbs that v is made of.
func (v verb) subNames() []string { return namesOf(v.subs) }

func namesOf(verbs []verb) []string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.word()
	}
	return names
}

// flagSet returns the verb's flags and where their values go.
func (v verb) flagSet() (*flag.FlagSet, *call) {
	fs := flag.NewFlagSet(v.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c := new(call)
	if !v.noConfig {
		fs.StringVar(&c.configPath, "c", usualConfig, "the configuration `file`")
	}
	if v.flags != nil {
		c.flags = v.flags(fs)
	}
	return fs, c
}

// dispatch runs v, or that of its subs which args name.
func dispatch(v verb, args []string, env Env) int {
	if v.subs != nil {
		return dispatchSub(v, args, env)
	}
	fs, c := v.flagSet()
	var err error
	c.args, err = parseAnywhere(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		help(env.Stdout, v, fs)
		return exitOK
	}
	if err != nil {
		return usageError(env, v, "%v", err)
	}
	return v.run(env, *c)
}

// dispatchSub runs that of v's subs which the first word of args names that is no flag.
func dispatchSub(v verb, args []string, env Env) int {
	at := v.subAt(args)
	if at < 0 {
		for _, arg := range args {
			if strings.Trim(arg, "-") == "h" || strings.Trim(arg, "-") == "help" {
				help(env.Stdout, v, nil)
				return exitOK
			}
		}
		return usageError(env, v, "want %s", strings.Join(v.subNames(), ", "))
	}
	for _, sub := range v.subs {
		if sub.word() == args[at] {
			rest := append([]string{}, args[:at]...)
			return dispatch(sub, append(rest, args[at+1:]...), env)
		}
	}
	return usageError(env, v, "no %q%s, want %s", args[at], meant(args[at], v.subNames()), strings.Join(v.subNames(), ", "))
}

// subAt returns where in args the first word stands that is neither a flag nor the value of one; -1 where all are.
func (v verb) subAt(args []string) int {
	for at := 0; at < len(args); at++ {
		name, isFlag := strings.CutPrefix(args[at], "-")
		if !isFlag || name == "" {
			return at
		}
		name = strings.TrimPrefix(name, "-")
		if !strings.Contains(name, "=") && v.takesValue(name) {
			at++
		}
	}
	return -1
}

// takesValue reports that the flag of this name, of any of v's subs, is followed by its value.
func (v verb) takesValue(name string) bool {
	for _, sub := range v.subs {
		fs, _ := sub.flagSet()
		if f := fs.Lookup(name); f != nil {
			return !isBool(f)
		}
	}
	return false
}

// isBool reports that f may stand without a value.
func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// parseAnywhere parses flags that may stand before, between and after the other arguments,
// so that both "push -delay 30s TOPIC" and "push TOPIC -delay 30s" work.
func parseAnywhere(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		used := len(args) - fs.NArg()
		if used > 0 && args[used-1] == "--" { // everything after it is an argument
			return append(rest, fs.Args()...), nil
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

func usageError(env Env, v verb, format string, args ...any) int {
	fmt.Fprintf(env.Stderr, "sidecar %s: %s\nusage: %s\nsidecar %s --help explains more\n",
		v.name, fmt.Sprintf(format, args...), v.line(), v.name)
	return exitUsage
}

func fail(env Env, format string, args ...any) int {
	return report(env, exitFailed, fmt.Errorf(format, args...))
}

// report says on stderr why the verb ends with code.
func report(env Env, code int, err error) int {
	fmt.Fprintf(env.Stderr, "sidecar: %v\n", err)
	return code
}
