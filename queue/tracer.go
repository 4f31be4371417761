package queue

import (
	"context"
	"time"

	"sidecar/compat"
)

// Tracer follows claims to their end. Its methods, and those of what it returns, never wait for anything.
type Tracer interface {
	// Claimed begins the trace of a claim, for which Redis was asked at asked and which it gave at given.
	Claimed(topic string, job compat.Job, asked, given time.Time) JobTrace
}

// JobTrace is what a Tracer notes of one claim. A claim that is given back unrun is only Settled.
type JobTrace interface {
	// Running begins the run and returns its context, with the trace that the handler may tell PHP of.
	Running(ctx context.Context) context.Context
	// Ran ends it, and begins the settlement.
	Ran(o compat.Outcome)
	// Settled ends all of it; action is what has become of the job.
	Settled(action string)
}

// untraced is the JobTrace where nobody traces.
type untraced struct{}

func (untraced) Running(ctx context.Context) context.Context { return ctx }
func (untraced) Ran(compat.Outcome)                          {}
func (untraced) Settled(string)                              {}

// The ends of a claim that are no Action.
const (
	leftToLease = "left"      // the run may go on: nobody settles it
	givenUp     = "abandoned" // the process ends before Redis took it
)
