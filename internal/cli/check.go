package cli

import (
	"encoding/json"
	"flag"
	"fmt"

	"sidecar/internal/plural"
)

type checkFlags struct{ json bool }

func checkVerb() verb {
	return verb{
		name:  "check",
		usage: "[--json]",
		short: "check the configuration, touch nothing",
		long: `
Reads the configuration and reports everything that is wrong with it at once, each with its line.
Neither Redis nor PHP-FPM is asked: sidecar doctor looks at those. Use it before a reload: sidecar check && kill -HUP <pid>.
--json prints what holds as one JSON object, with the warnings.`,
		flags: func(fs *flag.FlagSet) any {
			f := new(checkFlags)
			fs.BoolVar(&f.json, "json", false, "print JSON")
			return f
		},
		run: check,
	}
}

func check(env Env, c call) int {
	if len(c.args) > 0 {
		return usageError(env, checkVerb(), "want no arguments, got %s", given(c.args))
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	if c.flags.(*checkFlags).json {
		_ = json.NewEncoder(env.Stdout).Encode(checked{cfg.Path, len(cfg.Topics), len(cfg.FPM), append([]string{}, cfg.Warnings()...)})
		return exitOK
	}
	for _, w := range cfg.Warnings() {
		fmt.Fprintf(env.Stderr, "warning: %s\n", w)
	}
	fmt.Fprintf(env.Stdout, "%s holds: %s, %s\n", cfg.Path, plural.Of(len(cfg.Topics), "topic", "topics"), plural.Of(len(cfg.FPM), "pool", "pools"))
	fmt.Fprintln(env.Stdout, "sidecar doctor looks at the rest: Redis, PHP-FPM, the scripts, this host")
	return exitOK
}

// checked is what check says of a configuration that holds. Its JSON names are a promise.
type checked struct {
	File     string   `json:"file"`
	Topics   int      `json:"topics"`
	Pools    int      `json:"pools"`
	Warnings []string `json:"warnings"`
}
