package queue_test

import (
	"context"

	"sidecar/compat"
)

// handlerFunc adapts a function to Handler.
type handlerFunc func(context.Context, compat.Job) compat.Outcome

func (f handlerFunc) Handle(ctx context.Context, job compat.Job) compat.Outcome { return f(ctx, job) }
