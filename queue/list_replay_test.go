package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// typedJob is a job of a list with a type.
func typedJob(id, kind string, retries int) string {
	return fmt.Sprintf(`{"job_id":%q,"type":%q,"retry_count":%d}`, id, kind, retries)
}

// sharing returns the Stores of two lists, "sms" and "mail", that share a dead letter list.
func sharing(b listBench, smsTypes, mailTypes []string) (sms, mail *queue.Store) {
	of := func(topic string, types, foreign []string) *queue.Store {
		opts := queue.DefaultOptions()
		b.opts(&opts)
		list := *opts.List
		list.Key, list.Types, list.Foreign, list.Default = "queue:test:"+topic, types, foreign, types == nil
		opts.Topic, opts.List = topic, &list
		return queue.NewStore(b.rdb, "", opts)
	}
	return of("sms", smsTypes, mailTypes), of("mail", mailTypes, smsTypes)
}

// deadIDs are the job_ids of what Dead returns.
func deadIDs(t *testing.T, s *queue.Store, limit int) (ids []string) {
	t.Helper()
	list, err := s.Dead(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		ids = append(ids, d.UUID)
	}
	return ids
}

// buried has s bury text with that reason, by way of its list.
func (b listBench) buried(t *testing.T, s *queue.Store, topic, text, why string) {
	t.Helper()
	if err := s.Push(t.Context(), text, 0); err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), 1)
	if err != nil || len(c.List) != 1 {
		t.Fatalf("claimed %d, %v", len(c.List), err)
	}
	reason := queue.ReasonText("queue:test:"+topic, text, why)
	results, err := s.Bury(t.Context(), []queue.Burial{{Text: c.List[0].Text, Held: c.List[0].Lease, Record: reason}})
	if err != nil || results[0].Settlement != queue.Settled {
		t.Fatalf("bury: %v, %v", results, err)
	}
}

// A letter is the list's that buried it; one that the old worker buried is whose route its type has.
func TestOfASharedDeadLetterListEachListReplaysItsOwn(t *testing.T) {
	b := newListBench(t, 0, nil)
	sms, mail := sharing(b, []string{"sms", "mms"}, nil)
	b.buried(t, sms, "sms", typedJob("s1", "sms", 3), "no credit")
	b.do(t, "LPUSH", b.lists.Dead, typedJob("s2", "mms", 1), typedJob("m1", "letter", 3), typedJob("m2", "", 3))
	b.buried(t, mail, "mail", typedJob("m3", "sms", 0), "no route for type sms")
	b.buried(t, sms, "sms", typedJob("s3", "letter", 0), "rejected")
	for store, want := range map[*queue.Store]string{sms: "[s3 s2 s1]", mail: "[m3 m2 m1]"} {
		if got := fmt.Sprint(deadIDs(t, store, 10)); got != want {
			t.Errorf("dead are %s, want %s, the newest first", got, want)
		}
	}
	if got := fmt.Sprint(deadIDs(t, sms, 2), deadIDs(t, sms, 0)); got != "[s3 s2] []" {
		t.Errorf("with a limit: %s", got)
	}
	for _, dry := range []bool{true, false} {
		r, err := sms.Replay(t.Context(), 2, dry, time.UTC)
		want := []string{typedJob("s1", "sms", 0), typedJob("s2", "mms", 0)}
		if err != nil || !slices.Equal(r.Replayed, want) || r.NoJobs != nil {
			t.Errorf("dry %t: %+v, %v, want the oldest two", dry, r, err)
		}
		if dry && b.ask(t, "LLEN", b.lists.Dead) != 6 {
			t.Error("a dry replay has moved something")
		}
	}
	if got := fmt.Sprint(deadIDs(t, sms, 10), deadIDs(t, mail, 10)); got != "[s3] [m3 m2 m1]" {
		t.Errorf("left are %s", got)
	}
	c, err := sms.Claim(t.Context(), 5)
	if err != nil || !slices.Equal(bares(c.List), []string{typedJob("s1", "sms", 0), typedJob("s2", "mms", 0)}) {
		t.Errorf("claimed %q, %v", bares(c.List), err)
	}
}

func TestADeadJobTellsWhyItIs(t *testing.T) {
	b := newListBench(t, 0, nil)
	_, mail := sharing(b, []string{"sms"}, nil)
	text := typedJob("a", "x", 2)
	b.buried(t, mail, "mail", text, "first")
	b.buried(t, mail, "mail", text, "second") // an equal text
	b.do(t, "LPUSH", b.lists.Dead, "no job")
	list, err := mail.Dead(t.Context(), 10)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	if d := list[0]; d.Text != "no job" || d.Job != "no job" || d.Reason {
		t.Errorf("got %+v, want a letter of the old worker", d)
	}
	for _, d := range list[1:] {
		if d.Text != text || d.UUID != "a" || d.Type != "x" || d.Tries != 2 || d.Error != "second" || !d.Reason || d.At == "" {
			t.Errorf("got %+v, want the last reason of this text", d)
		}
	}
}

// More letters than one page, most of them another list's, and reasons on several pages.
func TestReplayGoesThroughManyLetters(t *testing.T) {
	b := newListBench(t, 4, nil)
	sms, mail := sharing(b, []string{"sms"}, nil)
	for i := range 250 {
		if i%5 == 0 {
			b.buried(t, sms, "sms", typedJob(fmt.Sprint("s", i), "sms", 9), "no")
			continue
		}
		b.buried(t, mail, "mail", typedJob(fmt.Sprint("m", i), "x", 9), "no")
	}
	if n := len(deadIDs(t, sms, 1000)); n != 50 {
		t.Errorf("%d are dead, want 50", n)
	}
	r, err := sms.Replay(t.Context(), 1000, false, time.UTC)
	if err != nil || len(r.Replayed) != 50 || r.Replayed[0] != typedJob("s0", "sms", 0) || r.Replayed[49] != typedJob("s245", "sms", 0) {
		t.Errorf("replayed %d, %v, want 50, the oldest first", len(r.Replayed), err)
	}
	if n := b.ask(t, "LLEN", b.lists.Dead); n != 200 {
		t.Errorf("%d letters are left, want 200", n)
	}
	for _, text := range r.Replayed { // each in the shard that its producer chose
		job, _ := compat.ParseListJob(text)
		key := fmt.Sprintf("queue:test:sms_%d", compat.Shard(job.UUID(), 4))
		if !slices.Contains(b.texts(t, key), text) {
			t.Errorf("%s is not in %s", text, key)
		}
	}
}

func TestReplayLeavesWhatIsNoJobUnlessAskedForIt(t *testing.T) {
	b := newListBench(t, 0, nil)
	b.do(t, "LPUSH", b.lists.Dead, "no job", listJobAt("a", 4), "no job")
	r, err := b.Replay(t.Context(), 10, false, time.UTC)
	if err != nil || len(r.Replayed) != 1 || !slices.Equal(r.NoJobs, []string{"no job", "no job"}) {
		t.Errorf("%+v, %v, want one replayed and two left", r, err)
	}
	wantListKeys(t, b, List{Lists: map[int][]string{0: {listJob("a")}}, Dead: []string{"no job", "no job"}})
	r, err = b.ReplayRaw(t.Context(), 1, false, time.UTC)
	if err != nil || !slices.Equal(r.Replayed, []string{"no job"}) {
		t.Errorf("%+v, %v, want one of them", r, err)
	}
	wantListKeys(t, b, List{Lists: map[int][]string{0: {listJob("a"), "no job"}}, Dead: []string{"no job"}})
}

// Several people replay at once, and somebody deletes letters meanwhile: none comes back twice.
func TestALetterIsReplayedOnceWhoeverElseDoes(t *testing.T) {
	b := newListBench(t, 0, nil)
	for i := range 300 {
		b.do(t, "LPUSH", b.lists.Dead, listJobAt(fmt.Sprint(i), 4))
	}
	var people sync.WaitGroup
	for range 3 {
		people.Go(func() {
			if _, err := listBenchOn(b.server, 0, nil).Replay(t.Context(), 1000, false, time.UTC); err != nil {
				t.Error(err)
			}
		})
	}
	for range 50 {
		b.do(t, "LPOP", b.lists.Dead)
	}
	people.Wait()
	if _, err := b.Replay(t.Context(), 1000, false, time.UTC); err != nil { // what they left to each other
		t.Error(err)
	}
	texts := b.texts(t, smsKey)
	slices.Sort(texts)
	if n := len(texts); n < 250 || n > 300 || len(slices.Compact(texts)) != n {
		t.Errorf("%d are back, want at least 250, each once", n)
	}
	if n := b.ask(t, "LLEN", b.lists.Dead); n != 0 {
		t.Errorf("%d letters are left", n)
	}
}

func TestALetterThatIsRefusedIsBackInDead(t *testing.T) {
	b := newListBench(t, 0, nil)
	b.do(t, "LPUSH", b.lists.Dead, listJobAt("a", 4), listJobAt("b", 4))
	b.do(t, "SET", smsKey, "x")
	_, err := b.Replay(t.Context(), 5, false, time.UTC)
	if queue.FaultOf(err) != queue.WrongType || !strings.Contains(err.Error(), smsKey+" is a string") {
		t.Errorf("got %v, want which key it is", err)
	}
	wantListKeys(t, b, List{Dead: []string{listJobAt("b", 4), listJobAt("a", 4)}})
}

func TestHandBackLeavesOnlyWhatIsRun(t *testing.T) {
	b := newListBench(t, 2, func(o *queue.Options) { o.Batch = 10 })
	for i := range 25 {
		b.push(t, i%2, listJob(fmt.Sprint("e", i)))
	}
	for _, c := range b.claims(t, 25) {
		b.do(t, "ZADD", b.lists.Running, 1000, c.Text)
	}
	b.push(t, 1, listJob("live"))
	b.claims(t, 1)
	for i := range 25 {
		if err := b.Push(t.Context(), listJob(fmt.Sprint("w", i)), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	moved, running, err := b.HandBack(t.Context())
	if moved != 50 || running != 1 || err != nil {
		t.Errorf("moved %d, %d run, %v, want 50 and 1", moved, running, err)
	}
	if n := b.ask(t, "LLEN", b.lists.Lists[0]) + b.ask(t, "LLEN", b.lists.Lists[1]); n != 50 {
		t.Errorf("%d in the shards, want 50", n)
	}
	if got := b.entries(t, b.lists.Running); len(got) != 1 || got["1:"+listJob("live")] == "" {
		t.Errorf("running holds %v", got)
	}
	if _, _, err := newBench(t, nil).HandBack(t.Context()); err == nil {
		t.Error("a topic of profile delay has something to hand back")
	}
}

func TestAReplayedJobIsNotPassedOverForAnAckThatWasLeftBehind(t *testing.T) {
	b := newListBench(t, 0, acked)
	left, done := typedJob("left", "sms", 3), typedJob("done", "sms", 3)
	b.do(t, "LPUSH", b.lists.Dead, left, done)
	b.do(t, "SET", b.lists.Ack("left"), "processing", "EX", 3600)
	b.do(t, "SET", b.lists.Ack("done"), "done", "EX", 3600)
	if replayed, err := b.Replay(t.Context(), 10, true, time.UTC); err != nil || len(replayed.Replayed) != 2 {
		t.Fatalf("would replay %d, %v", len(replayed.Replayed), err)
	}
	if b.do(t, "EXISTS", b.lists.Ack("left")) != int64(1) {
		t.Error("a dry run took the ack")
	}
	if replayed, err := b.Replay(t.Context(), 10, false, time.UTC); err != nil || len(replayed.Replayed) != 2 {
		t.Fatalf("replayed %d, %v", len(replayed.Replayed), err)
	}
	if got := b.do(t, "EXISTS", b.lists.Ack("left")); got != int64(0) {
		t.Error("the ack that was left behind is still there: an old worker would pass over the job")
	}
	if got := b.do(t, "GET", b.lists.Ack("done")); got != "done" {
		t.Errorf("the ack of a job that is done says %v", got)
	}
}
