package cli

import (
	"fmt"
	"syscall"

	"sidecar/internal/app"
)

func reloadVerb() verb {
	return verb{
		name:  "reload",
		short: "make the running sidecar read its configuration and code again",
		long: `
Checks the configuration and sends HUP to the process that pid_file names, if that is a sidecar. It reads the
file again, and replaces every resident worker (mode = "worker") between two jobs, so that the next job runs the
code as it is then. Deploys that move a symlink, or change script or bootstrap, are noticed without it.
Exit code 0 says that the signal was sent; the sidecar's log says what came of it.`,
		run: reload,
	}
}

func reload(env Env, c call) int {
	if len(c.args) > 0 {
		return usageError(env, reloadVerb(), "want no arguments, got %s", given(c.args))
	}
	cfg, code := load(env, c)
	if cfg == nil {
		return code
	}
	if cfg.PIDFile == "" {
		return fail(env, "%s sets no pid_file, so the sidecar cannot be found; send HUP to it yourself, or: systemctl reload sidecar", cfg.Path)
	}
	pid, err := app.Find(cfg.PIDFile)
	if err != nil {
		return fail(env, "%v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		return fail(env, "send HUP to process %d: %v", pid, err)
	}
	fmt.Fprintf(env.Stdout, "process %d was told to reload\n", pid)
	return exitOK
}
