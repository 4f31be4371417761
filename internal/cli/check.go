package cli

import "fmt"

func checkVerb() verb {
	return verb{
		name:  "check",
		short: "check the configuration, touch nothing",
		long: `
Reads the configuration and reports everything that is wrong with it at once, each with its line.
Neither Redis nor PHP-FPM is asked. Use it before a reload: sidecar check && kill -HUP <pid>.`,
		run: check,
	}
}

func check(env Env, c call) int {
	if len(c.args) > 0 {
		return usageError(env, checkVerb(), "want no arguments, got %q", c.args)
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	for _, w := range cfg.Warnings() {
		fmt.Fprintf(env.Stderr, "warning: %s\n", w)
	}
	fmt.Fprintf(env.Stdout, "%s holds: %d topics, %d pools\n", cfg.Path, len(cfg.Topics), len(cfg.FPM))
	return exitOK
}
