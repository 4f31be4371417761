// Package cli is the command line: one file a verb, each a function from arguments to an exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
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

	terminal *terminal // behind Stdout; nil where that is none
	errors   *terminal // behind Stderr, likewise
	keyboard *terminal // behind Stdin, likewise
}

// Main runs the verb named in args and returns the process's exit code.
func Main(args []string, env Env) int {
	redis.SetLogger(silent{}) // go-redis would log through a global; its errors come back to us, and we log those
	env.terminal, env.errors, env.keyboard = terminalOf(env.Stdout), terminalOf(env.Stderr), terminalOf(env.Stdin)
	env.Stdout, env.Stderr = visibleOf(env.Stdout), visibleOf(env.Stderr)
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
			return verbOf(append(slices.Clone(args[1:]), "--help"), env)
		}
		overview(env.Stdout)
		return exitOK
	case "-version", "--version":
		args = []string{"version"}
	}
	for _, v := range append(verbs(), candidatesVerb()) {
		if v.name == args[0] {
			return dispatch(v, args[1:], env)
		}
	}
	if strings.HasPrefix(args[0], "-") {
		fmt.Fprintf(env.Stderr, "sidecar: the verb comes first, flags such as %s behind it: sidecar status -c FILE; sidecar --help lists the verbs\n", args[0])
		return exitUsage
	}
	fmt.Fprintf(env.Stderr, "sidecar: no verb %q%s; sidecar --help lists them\n", args[0], meant(args[0], namesOf(verbs())))
	return exitUsage
}

// silent is go-redis's logger.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

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
	return config.Topic{}, fmt.Errorf("no topic %q in %s%s; it has: %s", name, cfg.Path, meant(name, cfg.TopicNames()), listed(cfg.TopicNames()))
}

// given are the arguments that a verb got, as it names them where it wants others.
func given(args []string) string {
	if len(args) == 0 {
		return "none"
	}
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = strconv.Quote(arg)
	}
	return listed(quoted)
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
