package queue

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestALoopStandsWhereACallDoesNotComeBack(t *testing.T) {
	for _, tt := range []struct {
		at     step
		stands bool
	}{
		{starting, false},
		{promoting, true},
		{lookingForExpired, true},
		{resting, false},
		{awaitingReady, false},
		{awaitingRuns, false},
		{awaitingVerdicts, false},
		{awaitingSlots, false},
		{claiming, true},
		{sorting, true},
		{renewing, true},
		{backingOff, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStation()
			s.at(tt.at)
			if s.stands(time.Minute) {
				t.Errorf("%s: it stands at once", tt.at)
			}
			time.Sleep(2 * time.Minute) //nolint:forbidigo // the bubble's time passes at once
			if got := s.stands(time.Minute); got != tt.stands {
				t.Errorf("%s: after two minutes it stands: %t, want %t", tt.at, got, tt.stands)
			}
			s.at(tt.at) // once more: it moves
			if s.stands(time.Minute) {
				t.Errorf("%s: it stands although it has just moved", tt.at)
			}
		})
	}
}
