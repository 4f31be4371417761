package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// mutations are faults of the kind that such scripts have had, or could have, each as a change of a shipped script.
var mutations = map[string]struct {
	marks              queue.Idempotency
	life               int
	verb, old, changed string
}{
	"renew looks at no lease":                    {queue.IdempotencyOn, 46, "renew", "score == held and next and", "next and"},
	"complete looks at no lease":                 {queue.IdempotencyOn, 10, "complete", "score == held or score == next", "true"},
	"completerows does not count":                {queue.IdempotencyOff, 115, "completerows", "== tonumber(ARGV[i + 2])", ">= 0"},
	"requeue looks at no lease":                  {queue.IdempotencyOn, 198, "requeue", "score ~= held and score ~= next", "false"},
	"bury looks at no lease":                     {queue.IdempotencyOn, 46, "bury", "score ~= held and score ~= next", "false"},
	"a renewal that nobody confirmed is a lease": {queue.IdempotencyOn, 422, "requeue", "gone(text, held or 0,", "gone(text, math.max(held or 0, next or 0),"},
	"a renewal under way counts for nothing":     {queue.IdempotencyOn, 255, "requeue", "score ~= held and score ~= next", "score ~= held"},
	"requeue removes before it adds":             {queue.IdempotencyOn, 255, "requeue", "  local added =", "  if result == 1 then redis.call('ZREM', KEYS[1], text) end\n  local added ="},
	"bury removes before it adds":                {queue.IdempotencyOn, 261, "bury", "  local added =", "  if result == 1 then redis.call('ZREM', KEYS[1], text) end\n  local added ="},
	"replay removes before it adds":              {queue.IdempotencyOn, 104, "replay", "redis.call('LTRIM', KEYS[1], 0, -1)", "redis.call('LPOP', KEYS[1])"},
	"a record set aside is dropped":              {queue.IdempotencyOn, 2, "setaside", "redis.call('RPUSH', KEYS[1], ARGV[1])", ""},
	"claim takes a twin's lease":                 {queue.IdempotencyOn, 3, "claim", "KEYS[2], 'NX', unpack", "KEYS[2], unpack"},
	"claim drops a twin":                         {queue.IdempotencyOn, 3, "claim", "redis.call('ZADD', KEYS[3], 'NX', back / ARGV[3], texts[i])", "1"},
	"promote removes one too many":               {queue.IdempotencyOn, 1, "promote", "0, #texts - 1)", "0, #texts)"},
	"expired reads claims that live":             {queue.IdempotencyOn, 0, "expired", "'-inf', now,", "'-inf', '+inf',"},
	"an offer that is repeated adds again":       {queue.IdempotencyOn, 125, "requeue", "if expired == '1' then return 4 end", ""},
	"a burial that is repeated adds again":       {queue.IdempotencyOn, 2, "bury", "if expired == '1' then return 4 end", ""},
	"after its lease a failure is added":         {queue.IdempotencyOn, 62, "requeue", "ends > now and 5 or 2", "5"},
	"after its lease a record is added":          {queue.IdempotencyOn, 16, "bury", "ends > now and 5 or 2", "5"},
	"within its lease a failure is dropped":      {queue.IdempotencyOn, 11, "requeue", "ends > now and 5 or 2", "2"},
	"a failure is added beside its text":         {queue.IdempotencyOn, 2, "requeue", "if redis.call('ZSCORE', KEYS[2], text) then return 6 end", ""},
	"a failure deletes a mark that says done":    {queue.IdempotencyOn, 2, "requeue", "redis.pcall('GET', KEYS[mark]) ~= ARGV[1]", "true"},
	"no mark is set":                             {queue.IdempotencyOn, 0, "complete", "redis.call('SET', KEYS[mark], ARGV[1], 'EX', ARGV[2])", ""},
}

// A test that never fails proves nothing: each of these faults must be found. The search begins with the life that
// found it last.
func TestModelFindsEveryMutation(t *testing.T) {
	const lives = 1000
	server := testenv.Redis(t)
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) {
			found := false
			w := newWorld(t, server, m.marks, queue.Milliseconds, func(verb, source string) string {
				if verb != m.verb {
					return source
				}
				found = strings.Count(source, m.old) == 1
				return strings.Replace(source, m.old, m.changed, 1)
			})
			if !found {
				t.Fatalf("%s.lua does not have %q once", m.verb, m.old)
			}
			for i := range lives {
				life := (m.life + i) % lives
				if why := w.fault(life); why != "" {
					t.Logf("found in life %d: %s", life, why)
					return
				}
			}
			t.Errorf("not found in %d lives", lives)
		})
	}
}

// fault lives one life, the same for each seed, and returns what was found wrong, "" when nothing was.
func (w *world) fault(seed int) string {
	return rapid.Custom(func(t *rapid.T) (why string) {
		defer func() {
			fault := recover()
			if fault != nil && !t.Failed() {
				panic(fault)
			}
			if fault != nil {
				why, _, _ = strings.Cut(fmt.Sprint(fault), "\n")
			}
		}()
		w.live(t)
		return ""
	}).Example(seed)
}
