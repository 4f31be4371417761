package compat_test

import (
	"context"
	"testing"

	"sidecar/compat"
)

type claim struct{}

func (claim) Lapsed() bool { return true }

func TestAContextTellsWhichClaimItIsFor(t *testing.T) {
	if c := compat.ClaimOf(t.Context()); c != nil {
		t.Errorf("a context without a claim is for %v", c)
	}
	ctx, cancel := context.WithCancel(compat.WithClaim(t.Context(), claim{}))
	defer cancel()
	if c := compat.ClaimOf(ctx); c != (claim{}) {
		t.Errorf("the context is for %v, want its claim", c)
	}
}
