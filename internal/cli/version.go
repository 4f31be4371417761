package cli

import (
	"fmt"
	"runtime"
)

func versionVerb() verb {
	return verb{
		name:     "version",
		short:    "print the version",
		long:     "Prints the version of the binary, the Go it was built with, and the platform.",
		noConfig: true,
		run: func(env Env, _ call) int {
			fmt.Fprintf(env.Stdout, "sidecar %s (%s, %s/%s)\n", env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return exitOK
		},
	}
}
