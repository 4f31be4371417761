package cli

import (
	"embed"
	"fmt"
)

//go:embed completion/*
var completions embed.FS

func completionVerb() verb {
	return verb{
		name:  "completion",
		usage: "bash|zsh|fish",
		short: "print what lets a shell complete verbs, flags and topics",
		long: `
Prints the completion for a shell. It asks this binary for what may come next: verbs, flags, and the topics, lists and
spools of the configuration that -c names, or sidecar.toml where one stands. Neither Redis nor PHP-FPM is asked.

  bash  source <(sidecar completion bash)      or write it to /etc/bash_completion.d/sidecar
  zsh   sidecar completion zsh > /usr/local/share/zsh/site-functions/_sidecar
  fish  sidecar completion fish > ~/.config/fish/completions/sidecar.fish`,
		noConfig: true,
		run:      completion,
	}
}

func completion(env Env, c call) int {
	if len(c.args) != 1 {
		return usageError(env, completionVerb(), "want bash, zsh or fish, got %s", given(c.args))
	}
	script, err := completions.ReadFile("completion/sidecar." + c.args[0])
	if err != nil {
		return usageError(env, completionVerb(), "no completion for %q: want bash, zsh or fish", c.args[0])
	}
	fmt.Fprint(env.Stdout, string(script))
	return exitOK
}
