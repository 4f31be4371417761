package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A list is first in, first out to the letter where one job runs at a time, whoever stops and starts: what was claimed
// ahead and not begun goes back to its place.
func TestAListIsFirstInFirstOutAcrossRestarts(t *testing.T) { eachMode(t, firstInFirstOut) }

func firstInFirstOut(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	jobs := map[string]int{"request": 300, "worker": 900}[mode]
	if scale() > 1 {
		jobs = 10000
	}
	r := newListRig(t, 2)
	r.mode = mode
	config := r.smsConfig("workers = 1")
	texts := smsJobs("j", jobs, `"note":"超时关单"`)
	for part := range 2 { // at these the sidecar is stopped
		at := (part + 1) * jobs / 3
		texts[at] = smsJob(fmt.Sprintf("j-%d", at), fmt.Sprintf(`"wait":"go-%d"`, part))
	}
	r.lpush(smsKey, texts...)
	for part := range 2 {
		p := r.start(config)
		r.wantRuns("S", (part+1)*jobs/3+1, time.Minute)
		p.stoppedAt(fmt.Sprintf("go-%d", part), r)
		if d, ended := r.listDepths(), len(r.order("E")); d.list+int64(ended) != int64(jobs) || ended == jobs {
			t.Fatalf("stopped after %d jobs, keys hold %+v, want all others in the list", ended, d)
		}
	}
	p := r.start(config)
	r.wantRuns("E", jobs, 2*time.Minute)
	r.wantDepths(listDepths{}, 10*time.Second)
	p.stopped()
	for i, text := range r.ran("texts.log") {
		if text != texts[i] {
			t.Fatalf("as number %d ran %s, want %s", i, text, texts[i])
		}
	}
	if got := len(r.order("S")); got != jobs {
		t.Errorf("%d runs of %d jobs", got, jobs)
	}
}

// With order = "lifo" the newest job goes first, as for the old worker's BLPOP. Each of these is there before the
// sidecar is.
func TestC59AListTakesTheOldestFirstUnlessToldOtherwise(t *testing.T) {
	for order, want := range map[string][]string{
		"":     {"j-0", "j-1", "j-2", "j-3", "j-4"},
		"fifo": {"j-0", "j-1", "j-2", "j-3", "j-4"},
		"lifo": {"j-4", "j-3", "j-2", "j-1", "j-0"},
	} {
		t.Run("order "+order, func(t *testing.T) {
			t.Parallel()
			r := newListRig(t, 1)
			options := "workers = 1"
			if order != "" {
				options += fmt.Sprintf("\norder = %q", order)
			}
			r.lpush(smsKey, smsJobs("j", len(want), "")...)
			r.start(r.smsConfig(options))
			r.wantRuns("E", len(want), 20*time.Second)
			if got := r.order("S"); !slices.Equal(got, want) {
				t.Errorf("ran %v, want %v", got, want)
			}
		})
	}
}

// The old ones run although new ones come faster than they can be done, and everything is done in the end.
func TestC59OldJobsDoNotStarveUnderLoad(t *testing.T) {
	t.Parallel()
	jobs := scaled(400)
	r := newListRig(t, 2)
	old := []string{"old-0", "old-1", "old-2", "old-3", "old-4"}
	r.lpush(smsKey, smsJobs("old", len(old), "")...)
	r.lpush(smsKey, smsJobs("new", jobs, `"sleep_ms":2`)...)
	r.start(r.smsConfig("workers = 1"))
	for i := range jobs / 4 { // ever more come while it runs
		r.lpush(smsKey, smsJobs(fmt.Sprintf("newer-%d", i), 4, "")...)
	}
	r.wantRuns("E", 2*jobs+5, 2*time.Minute)
	r.wantDepths(listDepths{}, 10*time.Second)
	if first := r.order("S")[:len(old)]; !slices.Equal(first, old) {
		t.Errorf("first ran %v, want %v", first, old)
	}
}

// How long the oldest job has waited is seen, by the job's own created_at: a list keeps no other time.
func TestC59TheAgeOfAListsOldestJobIsVisible(t *testing.T) {
	t.Parallel()
	r := newListRig(t, 1)
	clock, err := r.rdb.Do(t.Context(), "TIME").Int64Slice()
	if err != nil {
		t.Fatal(err)
	}
	created := fmt.Sprint(clock[0] - 3600)
	config := r.smsConfig("workers = 1")
	for _, text := range smsJobs("j", 3, `"wait":"go"`) {
		r.lpush(smsKey, strings.Replace(text, "1732900000", created, 1))
	}
	var seen struct {
		Topics []struct {
			Oldest float64 `json:"oldest_due_seconds"`
		}
	}
	out := r.verb(0, config, "status", "--json")
	if err := json.Unmarshal([]byte(out), &seen); err != nil || len(seen.Topics) != 1 || seen.Topics[0].Oldest < 3600 || seen.Topics[0].Oldest > 3700 {
		t.Errorf("status says %s (%v), want an age of an hour", out, err)
	}
	p := r.start(config)
	r.wantRuns("S", 1, 20*time.Second)
	if got := p.metric(`sidecar_oldest_due_age_seconds{topic="send_sms"}`); got < 3600 || got > 3700 {
		t.Errorf("the metric says %v s, want an hour", got)
	}
	r.write("go", "")
	r.wantRuns("E", 3, 20*time.Second)
	r.wantDepths(listDepths{}, 10*time.Second)
	if got := p.metric(`sidecar_oldest_due_age_seconds{topic="send_sms"}`); got != 0 {
		t.Errorf("the metric says %v s of an empty list", got)
	}
}

// Eight shards, one of them a hundred times as long: the jobs of the others are all done while nearly all of the long
// one still wait.
func TestNoShardStarvesBesideALongOne(t *testing.T) { eachMode(t, noShardStarves) }

func noShardStarves(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	const shards, long = 8, 5
	each := scaled(4)
	r := newListRig(t, 4)
	r.mode = mode
	r.lpush(fmt.Sprintf("%s_%d", smsKey, long), smsJobs("long", 100*each, `"sleep_ms":2`)...)
	for n := range shards {
		if n != long {
			r.lpush(fmt.Sprintf("%s_%d", smsKey, n), smsJobs(fmt.Sprintf("short-%d", n), each, `"sleep_ms":2`)...)
		}
	}
	p := r.start(r.smsConfig(fmt.Sprintf("shards = %d", shards)))
	jobs := 100*each + (shards-1)*each
	r.wantRuns("E", jobs, 5*time.Minute)
	p.stopped()

	short, before := 0, 0
	for _, id := range r.order("E") {
		if id[0] == 'l' {
			before++
		} else if short++; short == (shards-1)*each {
			break
		}
	}
	if before > 100*each/2 {
		t.Errorf("%d of %d jobs of the long shard were done before the last of the short ones", before, 100*each)
	}
	t.Logf("%d jobs of the long shard were done before the %d of the short ones were", before, short)
	r.wantDepths(listDepths{}, 10*time.Second)
	if got := r.marked("E"); got != jobs {
		t.Errorf("%d different jobs have ended, want %d", got, jobs)
	}
}
