package cli

import (
	"context"
	"fmt"
	"os"
	"os/user"

	"sidecar/queue"
)

// who is who runs this, as the audit trail shows it: the person, where sudo tells.
func who() string {
	name := os.Getenv("SUDO_USER")
	if name == "" {
		name = "unknown"
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	return "cli " + name + "@" + hostname()
}

// hostname is what this host calls itself.
func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}

// addLine adds what was done to the audit trail, as done by who runs this. Without the right to, that is said, and no
// reason to take it back or to stop.
func addLine(ctx context.Context, env Env, audit queue.Audit, line queue.Audited) {
	line.By = who()
	warnUntold(env, audit.Add(ctx, line))
}

// warnUntold says why the audit trail could not be written; nothing where it was.
func warnUntold(env Env, err error) {
	if err != nil {
		fmt.Fprintf(env.Stderr, "warning: this leaves no audit line: %v\n", err)
	}
}
