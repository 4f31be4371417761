package queue_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

const fresh = `"retry":0,"last_error":""`

// C28, C30, C32: whatever options a producer has set, its job runs once, with the text that it wrote, and is removed by
// the bytes that are stored. Plain and wrapped ones share a key.
func TestJobsThatPHPWrapsRunOnceAndLeaveByTheirStoredBytes(t *testing.T) {
	b := newBench(t, auto)
	forms, texts := wrappedJobs()
	stored := b.producer(t, b.keys.Ready, forms, texts)
	for i := range stored {
		if plain := stored[i] == texts[i]; plain != (forms[i] == "plain") {
			t.Fatalf("%s is stored as %.60q", forms[i], stored[i])
		}
	}
	r := newRuns()
	startFlow(t, b, auto, r.handler(done))
	eventually(t, "all to be done", func() bool { return r.count() == len(texts) && b.empty(t) })
	wantSame(t, "ran", r.list(), texts)
	wantKeys(t, b, Keys{})
}

// C28: the retry of a job is in the form that the job came in, and where PHP looks for it.
func TestAFailedJobComesBackInItsFormAndThenSucceeds(t *testing.T) {
	change := func(o *queue.Options) { auto(o); o.Retry = []time.Duration{time.Hour} }
	b := newBench(t, change)
	forms, texts := wrappedJobs()
	b.producer(t, b.keys.Ready, forms, texts)
	r := newRuns()
	startFlow(t, b, change, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if job.Tries() == 0 {
			return failed
		}
		return done
	})
	eventually(t, "all to have failed", func() bool { return b.size(t, b.keys.Pool) == len(texts) })
	pool := b.rdb.ZRange(t.Context(), b.keys.Pool, 0, -1).Val()
	const again = `"retry":1,"last_error":"no"`
	gotForms, gotTexts := unwrapped(t, pool)
	wantSame(t, "pool", each(gotForms, gotTexts, "", ""), each(forms, texts, fresh, again))
	wantFoundByPHP(t, b, gotForms, gotTexts)

	for _, text := range pool {
		b.do(t, "ZADD", b.keys.Pool, "XX", 1, text)
	}
	eventually(t, "all to be done", func() bool { return r.count() == 2*len(texts) && b.empty(t) })
	wantKeys(t, b, Keys{})
}

// wantFoundByPHP asks phpredis for each text of the pool. It finds a member by the bytes it would write itself, so
// none of zstd, whose bytes are our library's.
func wantFoundByPHP(t *testing.T, b bench, forms, texts []string) {
	t.Helper()
	host, port, err := net.SplitHostPort(b.server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	for i, found := range php(t, []string{"client.php", host, port, "find", b.keys.Pool}, forms, texts) {
		if found != "1" && !strings.HasSuffix(forms[i], "zstd") {
			t.Errorf("PHP does not find its job in %s", forms[i])
		}
	}
}

// A dead record and the job that is replayed from it keep the form, too.
func TestADeadRecordIsInItsJobsFormAndSoIsItsReplay(t *testing.T) {
	b := newBench(t, auto)
	forms, texts := wrappedJobs()
	b.producer(t, b.keys.Ready, forms, texts)
	f := startFlow(t, b, auto, func(context.Context, compat.Job) compat.Outcome {
		return compat.Outcome{Verdict: compat.Rejected, Error: "never"}
	})
	eventually(t, "all to be dead", func() bool { return b.size(t, b.keys.Dead) == len(texts) })
	f.stop(t)

	gotForms, records := unwrapped(t, b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val())
	var jobs []string
	for _, record := range records {
		dead, err := compat.ParseDeadRecord(record)
		if err != nil || dead.Error != "never" {
			t.Fatalf("%.200q: %+v, %v", record, dead, err)
		}
		jobs = append(jobs, dead.Job)
	}
	wantSame(t, "dead", each(gotForms, jobs, "", ""), each(forms, texts, fresh, `"retry":0,"last_error":"never"`))
	shown, err := b.Dead(t.Context(), len(texts))
	if err != nil || len(shown) != len(texts) {
		t.Fatalf("%d shown, %v", len(shown), err)
	}
	for _, d := range shown {
		if d.UUID == "" || d.Error != "never" || !strings.HasPrefix(d.Job, "{") {
			t.Errorf("shown as %+v", d)
		}
	}

	replays, err := b.Replay(t.Context(), len(texts), false, time.UTC)
	if err != nil || len(replays.Replayed) != len(texts) {
		t.Fatalf("replayed %d, %d unreadable, %d no jobs, %v", len(replays.Replayed), len(replays.Unreadable), len(replays.NoJobs), err)
	}
	gotForms, gotTexts := unwrapped(t, b.rdb.ZRange(t.Context(), b.keys.Pool, 0, -1).Val())
	wantSame(t, "replayed", gotTexts, replays.Replayed)
	for i := range gotTexts {
		if uuid := parse(t, gotTexts[i]).UUID(); !strings.HasPrefix(uuid, gotForms[i]+"-") || !strings.Contains(gotTexts[i], `"replayed_at":`) {
			t.Errorf("%s is replayed in %s", uuid, gotForms[i])
		}
	}
}

func parse(t *testing.T, text string) compat.Job {
	t.Helper()
	job, err := compat.ParseJob(text)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// What cannot be unwrapped goes to dead once, with the reason and its bytes, and can be replayed when it can.
func TestWhatCannotBeUnwrappedIsDeadWithItsBytes(t *testing.T) {
	small := func(o *queue.Options) { auto(o); o.DecodeLimit = 200 }
	b := newBench(t, small)
	long := `{"uuid":"long","pad":"` + strings.Repeat("x", 1000) + `"}`
	stored := b.producer(t, b.keys.Ready, []string{"igbinary+zstd"}, []string{long})
	reasons := map[string]string{
		stored[0]:                              "decode_limit is 200",
		"a:1:{s:4:\"uuid\";s:1:\"z\";}":        "a PHP-serialized array, which is no text: the producer has to json_encode the job",
		`s:99:"{"uuid":"cut`:                   "a PHP-serialized string that is cut off or damaged",
		"s:5:\"hello\";":                       "the text stored as php: not a JSON object",
		"\x28\xB5\x2F\xFD\x20\x07\x39\x00\x00": "a zstd-compressed value that is cut off or damaged",
		"hello":                                "not a JSON object: found 'h'",
	}
	for text := range reasons {
		if text != stored[0] {
			b.ready(t, text)
		}
	}
	r := newRuns()
	f := startFlow(t, b, small, r.handler(done))
	eventually(t, "all to be dead", func() bool { return b.size(t, b.keys.Dead) == len(reasons) && b.size(t, b.keys.Running) == 0 })
	f.stop(t)
	if r.count() != 0 {
		t.Errorf("ran %q", r.list())
	}
	for _, text := range b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val() {
		record, err := compat.ParseDeadRecord(text)
		if want, ok := reasons[record.Job]; err != nil || !ok || !strings.Contains(record.Error, want) {
			t.Errorf("record of %q says %q, %v, want %q", record.Job, record.Error, err, want)
		}
	}

	roomy := benchOn(b.server, auto)
	replays, err := roomy.Replay(t.Context(), len(reasons), false, time.UTC)
	if err != nil || len(replays.Replayed) != 1 || len(replays.NoJobs) != len(reasons)-1 {
		t.Fatalf("replays %+v, %v, want the long one", replays, err)
	}
	forms, texts := unwrapped(t, b.rdb.ZRange(t.Context(), b.keys.Pool, 0, -1).Val())
	if forms[0] != "igbinary+zstd" || !strings.HasPrefix(texts[0], long[:len(long)-1]+`,"retry":0,"replayed_at":"`) {
		t.Errorf("replayed in %s: %.200q", forms[0], texts[0])
	}
}

// Nobody is left to settle this claim: its job is found wrapped in running and goes back so.
func TestAnExpiredClaimOfAWrappedJobKeepsItsForm(t *testing.T) {
	b := newBench(t, auto)
	stored := b.producer(t, "somewhere", []string{"igbinary+lz4"}, []string{`{"uuid":"a1"}`})
	b.do(t, "DEL", "somewhere")
	b.do(t, "ZADD", b.keys.Running, 1, stored[0])
	r := newRuns()
	startFlow(t, b, auto, r.handler(done))
	eventually(t, "it to be taken back", func() bool { return b.size(t, b.keys.Pool) == 1 && b.size(t, b.keys.Running) == 0 })
	forms, texts := unwrapped(t, b.rdb.ZRange(t.Context(), b.keys.Pool, 0, -1).Val())
	job := parse(t, texts[0])
	if forms[0] != "igbinary+lz4" || job.UUID() != "a1" || job.Crashes() != 1 || r.count() != 0 {
		t.Errorf("came back in %s as %q", forms[0], texts[0])
	}
}

// In a list the retry is in the job's form, and the dead letter is what was popped for the last run (CONTRACT 2).
func TestAListsRetryAndDeadLetterKeepTheirForm(t *testing.T) {
	const key, dead = "queue:prod:send_sms", "queue:prod:dead_letter"
	change := func(o *queue.Options) {
		auto(o)
		o.Retry = []time.Duration{0}
		o.List = &queue.ListOptions{Key: key, Dead: dead, Order: queue.FIFO, MaxRetry: 1}
	}
	b := newBench(t, change)
	b.keys.Ready, b.keys.Dead = key, dead
	var forms, texts []string
	for _, form := range wrappings() {
		forms = append(forms, form)
		texts = append(texts, fmt.Sprintf(`{"job_id":%q,"type":"send_sms","payload":{},"retry_count":0}`, form))
	}
	b.producer(t, key, forms, texts)
	r := newRuns()
	f := startFlow(t, b, change, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		return failed
	})
	eventually(t, "all to be dead", func() bool { return b.size(t, dead) == len(texts) })
	f.stop(t)
	if r.count() != 2*len(texts) || b.size(t, key) != 0 {
		t.Errorf("%d runs, want two of each", r.count())
	}
	gotForms, gotTexts := unwrapped(t, b.rdb.LRange(t.Context(), dead, 0, -1).Val())
	wantSame(t, "dead letters", each(gotForms, gotTexts, "", ""), each(forms, texts, `"retry_count":0`, `"retry_count":1`))

	shown, err := b.Dead(t.Context(), len(texts))
	if err != nil || len(shown) != len(texts) {
		t.Fatalf("%d shown, %v", len(shown), err)
	}
	for _, d := range shown {
		if !slices.Contains(forms, d.UUID) || d.Error != "no" {
			t.Errorf("shown as %+v", d)
		}
	}
	replays, err := b.Replay(t.Context(), len(texts), false, time.UTC)
	if err != nil || len(replays.Replayed) != len(texts) {
		t.Fatalf("replayed %d, %v", len(replays.Replayed), err)
	}
	gotForms, gotTexts = unwrapped(t, b.rdb.LRange(t.Context(), key, 0, -1).Val())
	wantSame(t, "replayed", each(gotForms, gotTexts, "", ""), each(forms, texts, "", ""))
}
