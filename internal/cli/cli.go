// Package cli is the command line: one file a verb, each a function from arguments to an exit code.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
)

// Exit codes, the same for every verb.
const (
	exitOK      = 0
	exitFailed  = 1 // the verb's work failed; the reason is on stderr
	exitUsage   = 2 // wrong arguments or a configuration that does not hold
	exitRefused = 3 // this Redis cannot do what the sidecar needs; waiting would not help
)

// Env is what a verb may touch of the world around the process.
type Env struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Version string
}

// verb is one subcommand.
type verb struct {
	name  string
	usage string // its arguments
	short string // one line for the overview
	long  string // what --help adds
	flags func(*flag.FlagSet) any
	run   func(env Env, call call) int
}

// line is how the verb is called.
func (v verb) line() string {
	words := "sidecar " + v.name
	if v.name != "version" { // the only one without a configuration
		words += " [-c sidecar.toml]"
	}
	return strings.TrimSpace(words + " " + v.usage)
}

// call is one invocation of a verb, its command line taken apart.
type call struct {
	configPath string
	args       []string // what is not a flag
	flags      any      // what verb.flags returned, filled
}

func verbs() []verb {
	return []verb{runVerb(), reloadVerb(), checkVerb(), handbackVerb(), pushVerb(), replayVerb(), deadVerb(), statusVerb(), spoolVerb(), tryVerb(), versionVerb()}
}

// Main runs the verb named in args and returns the process's exit code.
func Main(args []string, env Env) int {
	redis.SetLogger(silent{}) // go-redis would log through a global; its errors come back to us, and we log those
	env.Stdout, env.Stderr = visible{env.Stdout}, visible{env.Stderr}
	return verbOf(args, env)
}

// verbOf runs the verb named in args.
func verbOf(args []string, env Env) int {
	if len(args) == 0 {
		overview(env.Stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) > 1 {
			return verbOf([]string{args[1], "--help"}, env)
		}
		overview(env.Stdout)
		return exitOK
	case "-version", "--version":
		args = []string{"version"}
	}
	for _, v := range verbs() {
		if v.name == args[0] {
			return dispatch(v, args[1:], env)
		}
	}
	fmt.Fprintf(env.Stderr, "sidecar: no verb %q; sidecar --help lists them\n", args[0])
	return exitUsage
}

// silent is go-redis's logger.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func dispatch(v verb, args []string, env Env) int {
	fs := flag.NewFlagSet(v.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	var c call
	fs.StringVar(&c.configPath, "c", "sidecar.toml", "the configuration `file`")
	if v.flags != nil {
		c.flags = v.flags(fs)
	}
	var err error
	c.args, err = parseAnywhere(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		help(env.Stdout, v, fs)
		return exitOK
	}
	if err != nil {
		return usageError(env, v, "%v", err)
	}
	return v.run(env, c)
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

func overview(w io.Writer) {
	fmt.Fprint(w, `sidecar runs the delayed jobs of PHP applications: it reads the Redis keys that PHP producers write
(delay:pool:<topic> and its three companions, and plain lists) and calls the existing PHP code through PHP-FPM.

usage: sidecar <verb> [-c sidecar.toml] [arguments]

`)
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-8s %s\n", v.name, v.short)
	}
	fmt.Fprint(w, `
A first look, with nothing at risk:
  sidecar check                             does the configuration hold?
  sidecar status                            what waits in Redis?
  sidecar try order_timeout '{"uuid":"1"}'  run one job through PHP-FPM, Redis untouched
  sidecar run                               consume, until Ctrl-C or TERM

sidecar <verb> --help explains a verb.
`)
}

func help(w io.Writer, v verb, fs *flag.FlagSet) {
	fmt.Fprintf(w, "usage: %s\n\n%s\n", v.line(), strings.TrimSpace(v.long))
	if v.name != "version" {
		fmt.Fprintln(w, "\nflags:")
		fs.SetOutput(w)
		fs.PrintDefaults()
	}
	fmt.Fprint(w, "\nexit codes: 0 fine, 1 the work failed, 2 wrong arguments or configuration, 3 this Redis cannot serve\n")
}

// load reads the configuration and reports what is wrong with it. The int is the exit code when cfg is nil.
func load(env Env, c call) (*config.Config, int) {
	cfg, err := config.Load(c.configPath)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; -c names another file, such as /etc/sidecar/sidecar.toml", err)
	}
	if err != nil {
		fmt.Fprintln(env.Stderr, err)
		return nil, exitUsage
	}
	return cfg, exitOK
}

// loadTopic is load for a verb whose first argument names a topic.
func loadTopic(env Env, c call) (*config.Config, config.Topic, int) {
	cfg, code := load(env, c)
	if cfg == nil {
		return nil, config.Topic{}, code
	}
	topic, err := topicOf(cfg, c.args[0])
	if err != nil {
		return nil, config.Topic{}, report(env, exitUsage, err)
	}
	return cfg, topic, exitOK
}

// topicOf finds a configured topic, or says which there are.
func topicOf(cfg *config.Config, name string) (config.Topic, error) {
	for _, t := range cfg.Topics {
		if t.Name == name {
			return t, nil
		}
	}
	return config.Topic{}, fmt.Errorf("no topic %q in %s; it has: %s", name, cfg.Path, strings.Join(cfg.TopicNames(), ", "))
}

// textFrom returns the job text given as an argument, or from stdin for "-".
func textFrom(env Env, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := io.ReadAll(env.Stdin)
	if err != nil {
		return "", fmt.Errorf("read the job from standard input: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
