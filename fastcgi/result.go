package fastcgi

import (
	"time"

	"sidecar/compat"
)

// Result is one run as a person wants to see it; [Topic.Handle] keeps its Outcome.
type Result struct {
	Outcome compat.Outcome

	Started bool   // the script said hello
	PID     int    // of FPM's child, 0 unless started
	PHP     string // its version

	Status int    // HTTP status, 0 = none given, which means 200
	Output []byte // the body without the sign, cut at output_limit with a note
	Stderr []byte // without the hello, cut likewise

	Waited  time.Duration // until the script started, or until it was given up
	Elapsed time.Duration // from then on
	Boot    time.Duration // of that, the bootstrap's
	Memory  int64         // peak, bytes
}
