package cli_test

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// remembering is the shop with marks.
func remembering(t *testing.T) shop {
	t.Helper()
	s := newShop(t)
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	s.config = writeConfig(t, strings.NewReplacer(
		"[topic.order_timeout]\n", "[topic.order_timeout]\nidempotency = \"on\"\n", "[list.send_sms]\n", "[list.send_sms]\nidempotency = \"on\"\n",
	).Replace(string(text)))
	return s
}

// replaying starts a replay that waits, and returns when n jobs wait in key; what it comes to is sent when it ends.
func (s shop) replaying(key string, n int64, args ...string) <-chan outcome {
	s.t.Helper()
	ended := make(chan outcome, 1)
	args = append(append([]string{"dead", "replay"}, args...), "--wait", "--undo-dir", s.t.TempDir(), "-c", s.config)
	go func() { ended <- sidecar(s.t, "", args...) }()
	testenv.Poll(s.t, 30*time.Second, "the replay", func() bool {
		return s.ZCard(s.t.Context(), key).Val() == n || s.LLen(s.t.Context(), key).Val() == n
	})
	return ended
}

func (r outcome) want(t *testing.T, code int, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("want %q in\n%s%s", text, r.stdout, r.stderr)
		}
	}
	if r.code != code {
		t.Errorf("exit %d, want %d", r.code, code)
	}
}

func TestAReplayThatWaitsSaysWhatBecameOfItsJobs(t *testing.T) {
	t.Parallel()
	s := remembering(t)
	for i := range 5 {
		s.dead(fmt.Sprint("u", i), "no money", "2026-11-29 12:00:00")
	}
	s.dead("other", "x", "2026-11-29 12:00:00")
	ended := s.replaying(timeoutPool, 5, "order_timeout", "--error", "no money", "--timeout", "2m")
	s.do("DEL", timeoutPool) // they run
	for i := range 3 {
		s.do("SET", fmt.Sprintf("idem:order_timeout:u%d", i), "done")
	}
	s.dead("u3", "order 17 not found", "2026-11-30 12:00:00")
	s.dead("u4", "order 18 not found", "2026-11-30 12:00:01")
	s.dead("yet another", "x", "2026-11-30 12:00:02")
	(<-ended).want(t, 1, "replayed 5 jobs\n", "3 done, 2 dead again, 0 without an outcome yet\n2 died of order # not found\n", "2 jobs are dead again: sidecar dead list order_timeout --by error")

	ended = s.replaying(timeoutPool, 1, "order_timeout", "--uuid", "u3", "--timeout", "2m")
	s.do("DEL", timeoutPool)
	s.do("SET", "idem:order_timeout:u3", "done")
	(<-ended).want(t, 0, "1 done, 0 dead again, 0 without an outcome yet\n")
}

// More may die between two looks than a page of dead has.
func TestThousandsOfReplayedJobsThatDieAtOnceAreAllSeen(t *testing.T) {
	t.Parallel()
	s := remembering(t)
	const jobs = 1200
	dies := func(day string) {
		for i := range jobs {
			s.dead(fmt.Sprint("u", i), "no money", day+" 12:00:00")
		}
	}
	dies("2026-11-29")
	ended := s.replaying(timeoutPool, jobs, "order_timeout", "--limit", "0", "--timeout", "2m")
	s.do("DEL", timeoutPool)
	dies("2026-11-30")
	(<-ended).want(t, 1, fmt.Sprintf("0 done, %d dead again, 0 without an outcome yet\n", jobs))
}

// What is nowhere may have been dropped as well.
func TestAJobWithoutAnOutcomeIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	s := remembering(t)
	s.dead("a", "x", "2026-11-29 12:00:00")
	s.do("RPUSH", timeoutDead, `{"job":{"order_id":1},"error":"x","trace":"","at":"2026-11-29 12:00:00"}`) // which nobody can follow
	ended := s.replaying(timeoutPool, 2, "order_timeout", "--timeout", "3s")
	s.do("DEL", timeoutPool)
	s.do("SET", "idem:order_timeout:a", "1") // an old consumer's, from before the work
	(<-ended).want(t, 1, "0 done, 0 dead again, 2 without an outcome yet\n", "--timeout is over; the replay itself is done", "1 job has no uuid")
}

func TestAReplayOfJobsThatNobodyCanFollowIsNoSuccess(t *testing.T) {
	t.Parallel()
	s := remembering(t)
	s.do("RPUSH", timeoutDead, `{"job":{"order_id":1},"error":"x","trace":"","at":"2026-11-29 12:00:00"}`)
	(<-s.replaying(timeoutPool, 1, "order_timeout", "--timeout", "2m")).want(t, 1, "0 done, 0 dead again, 1 without an outcome yet\n", "1 job has no uuid")
}

// A list's letter is the same each time a job dies.
func TestAListsJobThatDiesAgainIsKnown(t *testing.T) {
	t.Parallel()
	s := remembering(t)
	letter := `{"job_id":"a","type":"send_sms","payload":{},"retry_count":3,"max_retry":3}`
	s.bury("send_sms", letter, "no answer")
	ended := make(chan outcome, 1)
	args := []string{"dead", "replay", "send_sms", "--wait", "--timeout", "2m", "--undo-dir", t.TempDir(), "-c", s.config}
	go func() { ended <- sidecar(t, "", args...) }()
	testenv.Poll(t, 30*time.Second, "the replay", func() bool { return s.Exists(t.Context(), deadKey).Val() == 0 })
	s.do("DEL", smsKey+"_0", smsKey+"_1")
	s.bury("send_sms", letter, "no answer")
	(<-ended).want(t, 1, "0 done, 1 dead again, 0 without an outcome yet\n1 died of no answer\n")
}

// Not parallel: a signal is for the whole process.
func TestCtrlCEndsTheWaitAndNotTheReplay(t *testing.T) {
	s := remembering(t)
	caught := make(chan os.Signal, 1) // so that it never ends the tests
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	s.dead("a", "x", "2026-11-29 12:00:00")
	ended := s.replaying(timeoutPool, 1, "order_timeout", "--timeout", "2m")
	testenv.Poll(t, 30*time.Second, "the first look", func() bool {
		return strings.Contains(s.Info(t.Context(), "commandstats").Val(), "cmdstat_mget")
	})
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	(<-ended).want(t, 1, "0 done, 0 dead again, 1 without an outcome yet\n", "waits no longer; the replay itself is done")
	if n := s.ZCard(t.Context(), timeoutPool).Val(); n != 1 {
		t.Errorf("the pool holds %d jobs", n)
	}
}

func TestWaitWantsMarksToGoBy(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	kept := s.dead("a", "x", "2026-11-29 12:00:00")
	s.verb(2, []string{`--wait: order_timeout has idempotency = "off": only with "on"`}, "dead", "replay", "order_timeout", "--wait", "--undo-dir", t.TempDir())
	s.wantList(timeoutDead, kept)
	s.verb(2, []string{"--wait: a dry run replays nothing"}, "dead", "replay", "order_timeout", "--wait", "--dry-run")
	s.verb(2, []string{"--timeout 1m0s: want more than nothing, and --wait"}, "dead", "replay", "order_timeout", "--timeout", "1m")
}
