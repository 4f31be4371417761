package e2e

import (
	"context"
	"crypto/sha1" //nolint:gosec // it names texts, and protects nothing
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// deadLetters are the texts in the dead letter list, the oldest first.
func (r *rig) deadLetters() []string {
	r.t.Helper()
	texts, err := r.rdb.LRange(context.Background(), deadKey, 0, -1).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Reverse(texts)
	return texts
}

// reason is what is kept beside a dead letter.
type reason struct {
	List, JobID, Error, Trace, At string
}

// reasonOf returns why the text is in the dead letter list.
func (r *rig) reasonOf(text string) (found reason) {
	r.t.Helper()
	entries, err := r.rdb.LRange(context.Background(), "sidecar:reasons:"+deadKey, 0, -1).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	for _, entry := range entries {
		name, record, _ := strings.Cut(entry, "\n")
		if name != hex.EncodeToString(sum[:]) {
			continue
		}
		var fields map[string]string
		if err := json.Unmarshal([]byte(record), &fields); err != nil {
			r.t.Fatalf("%v in %s", err, record)
		}
		return reason{fields["list"], fields["job_id"], fields["error"], fields["trace"], fields["at"]}
	}
	r.t.Errorf("nothing says why %s is dead; there is %q", text, entries)
	return found
}

// Three identical texts are three jobs: what is done with one leaves the others, and a failure is one more.
func TestC52ThreeIdenticalJobsRunThreeTimes(t *testing.T) { eachMode(t, threeIdentical) }

func threeIdentical(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	r := newListRig(t, 2)
	r.mode, r.script = mode, "second_fails.php"
	r.write(r.script, `<?php
$run = require __DIR__ . '/list.php';
return function (array $job, string $text) use ($run): void {
    $runs = substr_count(file_get_contents(__DIR__ . '/runs.log'), "S {$job['job_id']}\n");
    $job['payload'] = [['wait' => 'first'], ['fail' => true, 'wait' => 'second'], [], []][$runs];
    $run($job, $text);
};`)
	text := smsJob("same", "")
	r.lpush(smsKey, text, text, text)
	r.start(r.smsConfig("workers = 1"))

	step := func(file string, runs int, left int64) {
		t.Helper()
		r.wantRuns("S", runs, 20*time.Second)
		eventually(t, 10*time.Second, func() error {
			if d := r.listDepths(); d.list+d.running != left || d.pool+d.dead != 0 {
				return fmt.Errorf("after %d runs keys hold %+v, want %d in list and running", runs, d, left)
			}
			return nil
		})
		r.write(file, "")
	}
	step("first", 1, 3)
	step("second", 2, 2) // the first is done
	r.wantRuns("S", 4, 20*time.Second)
	r.wantDepths(listDepths{}, 10*time.Second)
	again := strings.Replace(text, `"retry_count":0`, `"retry_count":1`, 1)
	if got, want := r.ran("texts.log"), []string{text, text, text, again}; !slices.Equal(got, want) {
		t.Errorf("ran\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := len(r.order("E")); got != 3 {
		t.Errorf("%d runs ended well, want 3", got)
	}
}

// How often a failing job runs is the job's own word, and what is no number is none. The dead letter is the text as it
// was popped for its last run, and beside it stands why.
func TestC79TheLimitOfRetriesIsTheJobsOwn(t *testing.T) {
	t.Parallel()
	r := newListRig(t, 2)
	job := func(id, limit string) string {
		return fmt.Sprintf(`{"job_id":"%s","type":"send_sms","payload":{"fail":true,"empty":{},"big":12345678901234567890,"note":"超时关单"},"retry_count":0,%s"created_at":1.0}`, id, limit)
	}
	runs := map[string]int{
		job("none at all", `"max_retry":0,`):          1,
		job("missing", ""):                            4, // CONTRACT 2: absent = 3
		job("three", `"max_retry":3,`):                4,
		job("a text of a number", `"max_retry":"2",`): 3,
		job("a text", `"max_retry":"abc",`):           4,
		job("null", `"max_retry":null,`):              4,
		job("below zero", `"max_retry":-1,`):          1,
	}
	want := make([]string, 0, len(runs))
	for text, n := range runs {
		r.lpush(smsKey, text)
		want = append(want, strings.Replace(text, `"retry_count":0`, fmt.Sprintf(`"retry_count":%d`, n-1), 1))
	}
	r.start(r.smsConfig(""))
	r.wantDepths(listDepths{dead: int64(len(runs))}, 30*time.Second)

	got := r.deadLetters()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("dead letters are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	ran := r.runs("S")
	for text, n := range runs {
		id := strings.Split(text, `"`)[3]
		if ran[id] != n {
			t.Errorf("%s ran %d times, want %d", id, ran[id], n)
		}
	}
	for _, text := range got {
		why, id := r.reasonOf(text), strings.Split(text, `"`)[3]
		if why.List != smsKey || why.JobID != id || why.Error != "短信网关: injected/failure" || !strings.Contains(why.Trace, "list.php") || why.At == "" {
			t.Errorf("%s is dead for %+v", id, why)
		}
	}
}

// Other environments and databases are other shops, however alike their names. A type that nobody has named code for
// is nobody's: it is not run by the code of another.
func TestC37OnlyTheListsOwnKeysAndTypesAreTouched(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newListRig(t, 2)
	other := redis.NewClient(&redis.Options{Network: "unix", Addr: r.redis.Socket, DB: 1})
	t.Cleanup(func() { _ = other.Close() })
	if err := other.LPush(ctx, smsKey, smsJob("of another database", "")).Err(); err != nil {
		t.Fatal(err)
	}
	staging := "queue:staging:send_sms"
	r.lpush(staging, smsJob("of staging", ""))
	strange := strings.Replace(smsJob("strange", ""), `"send_sms"`, `"send_mail"`, 1)
	unnamed := strings.Replace(smsJob("unnamed", ""), `"type":"send_sms",`, "", 1)
	r.lpush(smsKey, strange, smsJob("ours", ""), unnamed)

	route := fmt.Sprintf("[list.send_sms.route.send_sms]\nscript = %q\n", filepath.Join(r.dir, r.script))
	r.script = "" // no code for all types
	p := r.start(r.smsConfig(route))
	r.wantDepths(listDepths{dead: 2}, 20*time.Second)
	r.wantRuns("E", 1, 10*time.Second)
	if got := r.order("S"); !slices.Equal(got, []string{"ours"}) {
		t.Errorf("ran %v, want our own alone", got)
	}
	for _, text := range []string{strange, unnamed} {
		if !slices.Contains(r.deadLetters(), text) {
			t.Errorf("%s is not among the dead letters %v", text, r.deadLetters())
		}
	}
	if why := r.reasonOf(strange); !strings.Contains(why.Error, "no route") || !strings.Contains(why.Error, "send_mail") {
		t.Errorf("the strange job is dead for %q, want its type named", why.Error)
	}
	p.stopped()
	if n := r.rdb.LLen(ctx, staging).Val(); n != 1 {
		t.Errorf("staging holds %d jobs, want 1", n)
	}
	keys, err := other.Keys(ctx, "*").Result()
	if err != nil || !slices.Equal(keys, []string{smsKey}) || other.LLen(ctx, smsKey).Val() != 1 {
		t.Errorf("database 1 holds %v (%v), want its job alone", keys, err)
	}
}

// A shop that lets its lists expire goes on doing so: jobs come and go, fail and come back, and the time that is left
// gets neither longer nor lost, as long as the list is not empty. Then it is gone, as ever.
func TestTheTimeToLiveOfAListStaysAsItIs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const jobs = 60
	r := newListRig(t, 2)
	r.lpush(smsKey, smsJobs("j", jobs, `"sleep_ms":10,"fail_once":true`)...)
	const forever = "queue:prod:forever"
	r.lpush(forever, smsJobs("k", jobs, `"sleep_ms":10,"fail_once":true`)...)
	if err := r.rdb.Expire(ctx, smsKey, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	r.start(r.listConfig(r.list("send_sms", smsKey, ""), r.list("forever", forever, "")))
	seen, last := 0, time.Hour
	eventually(t, time.Minute, func() error {
		left, kept := r.rdb.PTTL(ctx, smsKey).Val(), r.rdb.PTTL(ctx, forever).Val()
		if kept != -1 && kept != -2 { // for ever; not there
			t.Errorf("a list without a time to live has one: %s", kept)
		}
		switch {
		case left == -2 && seen > 0:
			return nil
		case left > last || left < 50*time.Minute:
			t.Fatalf("%s are left of an hour, %s were before", left, last)
		}
		last = left
		seen++
		return fmt.Errorf("the list is not empty")
	})
	r.wantRuns("E", 2*jobs, 30*time.Second)
	r.wantDepths(listDepths{}, 10*time.Second)
	if seen < 5 {
		t.Errorf("the list was seen %d times", seen)
	}
}
