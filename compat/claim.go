package compat

import "context"

// Claim tells of the claim that a job runs under.
type Claim interface {
	// Lapsed reports that a run which has not begun must not begin: the lease has ended without a renewal, as far as is
	// known here, so that others may have the job, or nothing of the topic is to begin any more.
	Lapsed() bool
}

type claimKey struct{}

// WithClaim returns a context for running the job of c.
func WithClaim(ctx context.Context, c Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// ClaimOf returns the claim that ctx is for, nil for a run without one, such as one by hand.
func ClaimOf(ctx context.Context) Claim {
	c, _ := ctx.Value(claimKey{}).(Claim)
	return c
}
