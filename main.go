// Command sidecar consumes PHP's Redis delay queues and runs each job's existing PHP code through PHP-FPM.
package main

import (
	"os"

	"sidecar/internal/cli"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Env{
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Version: version,
	}))
}
