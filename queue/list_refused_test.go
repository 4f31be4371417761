package queue_test

import (
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// fullListScripts lets the adding half of a settlement say what a server would that is full in the middle of a script,
// as long as the key "full" exists.
func fullListScripts(_, source string) string {
	return refuseAdds(source,
		"redis.pcall('RPUSH', KEYS[list], text)",
		"redis.pcall('LPUSH', KEYS[list], text)",
		"redis.pcall('ZADD', KEYS[2], now + delay, id .. text)",
		"redis.pcall('LPUSH', KEYS[2], (claim:gsub('^%d+%-[^\\n]*\\n', '', 1)))",
	)
}

// A verdict that Redis refuses to add: the claim stays where it was, and the same verdict is offered again, once.
func TestARefusedVerdictOfAListStaysAClaimUntilItIsTaken(t *testing.T) {
	later := func(o *queue.Options) { o.Retry = []time.Duration{5 * time.Second} }
	job := listJob("a")
	tests := map[string]struct {
		change  func(*queue.Options)
		outcome compat.Outcome
		action  queue.Action
		key     func(compat.ListKeys) string // that takes nothing
		want    List
	}{
		"a retry":               {nil, failed, queue.Requeue, func(k compat.ListKeys) string { return k.Lists[0] }, List{Lists: map[int][]string{0: {listJobAt("a", 1)}}}},
		"a later retry":         {later, failed, queue.Requeue, func(k compat.ListKeys) string { return k.Pool }, List{Pool: map[string]string{"0:" + listJobAt("a", 1): "5s"}}},
		"a text that goes back": {nil, compat.Outcome{Verdict: compat.Unavailable}, queue.GiveBack, func(k compat.ListKeys) string { return k.Lists[0] }, List{Lists: map[int][]string{0: {job}}}},
		"a burial":              {nil, compat.Outcome{Verdict: compat.Rejected, Error: "never"}, queue.Bury, func(k compat.ListKeys) string { return k.Dead }, List{Dead: []string{job}, Reasons: []string{"a: never"}}},
	}
	server := newListBench(t, 0, nil).server
	for name, test := range tests {
		for _, fault := range []queue.Fault{queue.OOM, queue.WrongType} {
			t.Run(name+" "+fault.String(), func(t *testing.T) {
				b := listBenchOn(server, 0, test.change)
				b.do(t, "FLUSHALL")
				s := b.steps(t, newWire(t, fullListScripts), b.opts)
				b.push(t, 0, job)
				begun, err := s.Claim(t.Context(), 1)
				if err != nil || len(begun) != 1 {
					t.Fatalf("claim: %v, %v", begun, err)
				}
				broken := "full"
				if fault == queue.WrongType {
					broken = test.key(b.lists)
				}
				b.do(t, "SET", broken, "x")
				s.End(begun[0], test.outcome)
				for range 3 {
					s.Offer(t.Context(), test.action)
				}
				if s.Pending(test.action) != 1 {
					t.Errorf("%d verdicts wait, want 1", s.Pending(test.action))
				}
				wantListKeys(t, b, List{Running: map[string]string{"0:" + job: "30s"}})
				b.do(t, "DEL", broken)
				for range 2 {
					s.Offer(t.Context(), test.action)
				}
				if s.Pending(test.action) != 0 {
					t.Errorf("%d verdicts wait, want none", s.Pending(test.action))
				}
				wantListKeys(t, b, test.want)
			})
		}
	}
}
