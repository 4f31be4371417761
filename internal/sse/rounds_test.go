package sse_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sidecar/internal/sse"
)

func TestRoundsAreMadeAtOnceAndThenEverySoOftenForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, made := time.Now(), 0
		for range sse.Rounds(t.Context(), 2*time.Minute) {
			if at := time.Since(began); at != time.Duration(made)*2*time.Minute {
				t.Errorf("round %d after %s", made, at)
			}
			made++
		}
		if lasted := time.Since(began); lasted != 10*time.Minute || made < 5 {
			t.Errorf("%d rounds in %s", made, lasted)
		}
	})
}

func TestRoundsEndWithTheRequest(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	made := 0
	for range sse.Rounds(ctx, time.Millisecond) {
		if made++; made == 3 {
			leave()
		}
		if made > 1000 {
			t.Fatal("nobody listens, and they go on")
		}
	}
	if made != 3 {
		t.Errorf("made %d, want three", made)
	}
}
