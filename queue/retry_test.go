package queue_test

import (
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

func TestEveryOutcomeHasItsConsequence(t *testing.T) {
	ladder := queue.DefaultOptions().Retry
	policy := queue.RetryPolicy{Ladder: ladder, MaxCrashes: 5}
	type decision = queue.Decision
	tests := map[string]struct {
		policy         queue.RetryPolicy
		tries, crashes int
		outcome        compat.Outcome
		want           decision
	}{
		"done": {policy, 3, 1, compat.Outcome{Verdict: compat.Done}, decision{Action: queue.Complete}},

		"first failure":  {policy, 0, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Requeue, Delay: 5 * time.Second, CountTry: true}},
		"second failure": {policy, 1, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Requeue, Delay: 30 * time.Second, CountTry: true}},
		"third failure":  {policy, 2, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Requeue, Delay: 2 * time.Minute, CountTry: true}},
		"fourth failure": {policy, 3, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Requeue, Delay: 10 * time.Minute, CountTry: true}},
		"fifth failure":  {policy, 4, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Requeue, Delay: 30 * time.Minute, CountTry: true}},
		"ladder used up": {policy, 5, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Bury, CountTry: true}},
		"far beyond":     {policy, 1 << 40, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Bury, CountTry: true}},
		"negative tries": {policy, -3, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Requeue, Delay: 5 * time.Second, CountTry: true}},
		"no retries":     {queue.RetryPolicy{MaxCrashes: 5}, 0, 0, compat.Outcome{Verdict: compat.Failed}, decision{Action: queue.Bury, CountTry: true}},
		"crashes are not failures": {
			policy, 0, 5,
			compat.Outcome{Verdict: compat.Failed},
			decision{Action: queue.Requeue, Delay: 5 * time.Second, CountTry: true},
		},

		"timed out":            {policy, 0, 0, compat.Outcome{Verdict: compat.TimedOut}, decision{Action: queue.Requeue, Delay: 5 * time.Second, CountTry: true}},
		"timed out once more":  {policy, 5, 0, compat.Outcome{Verdict: compat.TimedOut}, decision{Action: queue.Bury, CountTry: true}},
		"rejected":             {policy, 0, 0, compat.Outcome{Verdict: compat.Rejected}, decision{Action: queue.Bury}},
		"deferred":             {policy, 5, 5, compat.Outcome{Verdict: compat.Deferred, Delay: time.Hour}, decision{Action: queue.Requeue, Delay: time.Hour}},
		"deferred to the past": {policy, 0, 0, compat.Outcome{Verdict: compat.Deferred, Delay: -time.Hour}, decision{Action: queue.Requeue, Delay: time.Second}},
		"deferred by nothing":  {policy, 0, 0, compat.Outcome{Verdict: compat.Deferred}, decision{Action: queue.Requeue, Delay: time.Second}},
		"deferred by hardly":   {policy, 0, 0, compat.Outcome{Verdict: compat.Deferred, Delay: time.Millisecond}, decision{Action: queue.Requeue, Delay: time.Second}},
		"deferred by a second": {policy, 0, 0, compat.Outcome{Verdict: compat.Deferred, Delay: time.Second}, decision{Action: queue.Requeue, Delay: time.Second}},
		"unavailable":          {policy, 5, 5, compat.Outcome{Verdict: compat.Unavailable}, decision{Action: queue.GiveBack}},

		"first crash":      {policy, 5, 0, compat.Outcome{Verdict: compat.Crashed}, decision{Action: queue.Requeue, Delay: 5 * time.Second, Spread: true, CountCrash: true}},
		"fifth crash":      {policy, 0, 4, compat.Outcome{Verdict: compat.Crashed}, decision{Action: queue.Requeue, Delay: 30 * time.Minute, Spread: true, CountCrash: true}},
		"a crash too many": {policy, 0, 5, compat.Outcome{Verdict: compat.Crashed}, decision{Action: queue.Bury, CountCrash: true}},
		"more crashes than steps": {
			queue.RetryPolicy{Ladder: ladder[:2], MaxCrashes: 9},
			0, 7,
			compat.Outcome{Verdict: compat.Crashed},
			decision{Action: queue.Requeue, Delay: 30 * time.Second, Spread: true, CountCrash: true},
		},
		"a crash where failures are final": {
			queue.RetryPolicy{MaxCrashes: 1},
			0, 0,
			compat.Outcome{Verdict: compat.Crashed},
			decision{Action: queue.Requeue, Delay: 5 * time.Second, Spread: true, CountCrash: true},
		},
		"no crash allowed": {queue.RetryPolicy{Ladder: ladder}, 0, 0, compat.Outcome{Verdict: compat.Crashed}, decision{Action: queue.Bury, CountCrash: true}},

		"may still run": {policy, 0, 0, compat.Outcome{Verdict: compat.TimedOut, Held: true}, decision{Action: queue.Leave}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.policy.Decide(tt.tries, tt.crashes, tt.outcome); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestEveryVerdictIsDecided(t *testing.T) {
	for _, verdict := range compat.Verdicts() {
		if got := (queue.RetryPolicy{}).Decide(0, 0, compat.Outcome{Verdict: verdict}); got.Action == 0 {
			t.Errorf("%s: no action", verdict)
		}
	}
}

func TestAForgottenVerdictIsABrokenProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got a decision for verdict 0, want a panic")
		}
	}()
	queue.RetryPolicy{}.Decide(0, 0, compat.Outcome{})
}
