package cli_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// wait puts a job into the pool that is due so long from now.
func (s shop) wait(uuid string, after time.Duration) {
	s.t.Helper()
	s.do("ZADD", timeoutPool, s.Time(s.t.Context()).Val().Add(after).UnixMilli(), fmt.Sprintf(`{"uuid":%q}`, uuid)) //nolint:forbidigo // Redis's
}

// due are the uuids of the jobs of pool that are due within that time.
func (s shop) due(within time.Duration) (uuids []string) {
	s.t.Helper()
	now := s.Time(s.t.Context()).Val()
	for _, z := range s.ZRangeWithScores(s.t.Context(), timeoutPool, 0, -1).Val() {
		text, _ := z.Member.(string)
		if z.Score <= float64(now.Add(within).UnixMilli()) { //nolint:forbidigo // Redis's
			uuids = append(uuids, strings.Trim(strings.TrimPrefix(text, `{"uuid":`), `"}`))
		}
	}
	return uuids
}

func (s shop) wantDue(want ...string) {
	s.t.Helper()
	if got := s.due(time.Minute); !slices.Equal(got, want) {
		s.t.Errorf("due are %q, want %q", got, want)
	}
}

func TestWaitingJobsAreRequeuedByWhenTheyAreDueAndUndone(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.wait("soon", time.Hour)
	s.wait("c", 300*24*time.Hour)
	s.wait("b", 200*24*time.Hour)
	s.do("ZADD", timeoutPool, "+inf", `{"uuid":"never"}`)
	s.verb(0, []string{"would requeue b\nwould requeue c\nwould requeue never\nwould requeue 3 jobs\n"}, "requeue", "order_timeout", "--due-after", "24h", "--dry-run")
	s.verb(0, []string{"would requeue soon\nwould requeue 1 job\n"}, "requeue", "order_timeout", "--due-before", "2h", "--dry-run")
	s.verb(0, []string{"would requeue b\nwould requeue 1 job\n", "2 jobs wait of this kind; --limit says"}, "requeue", "order_timeout", "--due-after", "24h", "--due-before", "2090-01-01", "--limit", "1", "--dry-run")
	s.wantDue()
	if trail := s.trail(); trail != nil {
		t.Errorf("a dry run leaves %q", trail)
	}
	s.verb(0, []string{"requeued 2 jobs\n", "dead undo", "takes this back", "3 jobs wait of this kind"}, "requeue", "order_timeout", "--due-after", "24h", "--limit", "2", "--rate", "100/s", "--undo-dir", dir)
	s.wantDue("b", "c")
	file := undoFile(t, dir)
	s.do("ZREM", timeoutPool, `{"uuid":"b"}`) // it runs
	s.do("ZADD", "delay:running:order_timeout", "+inf", `{"uuid":"b"}`)
	s.verb(1, []string{"put back 1 job\n", "1 requeued job waits no more: it runs or has run"}, "dead", "undo", file)
	s.wantDue()
	if far := s.due(301 * 24 * time.Hour); !slices.Equal(far, []string{"soon", "c"}) {
		t.Errorf("waiting are %q", far)
	}
	if got, want := s.trail(), []string{"undo order_timeout 1  of a requeue", `requeue order_timeout 2 --due-after "24h"`}; !slices.Equal(got, want) {
		t.Errorf("the trail is %q, want %q", got, want)
	}
	s.verb(0, []string{"requeued 0 jobs\n"}, "requeue", "order_timeout", "--due-after", "2090-01-01", "--due-before", "2091-01-01", "--undo-dir", t.TempDir())
}

// A file of several jobs may be what a job that is nowhere is named in.
func TestFindNamesTheRequeueOfSeveralJobs(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.wait("a", 200*24*time.Hour)
	s.wait("b", 200*24*time.Hour)
	s.verb(0, []string{"requeued 2 jobs"}, "requeue", "order_timeout", "--due-after", "24h", "--undo-dir", dir)
	s.do("DEL", timeoutPool)
	s.verb(1, []string{"it may be among the 2 jobs of order_timeout that cli ", " requeued at ", "grep -c a " + undoFile(t, dir)}, "find", "a")
}

func TestJobsInAnotherUnitAreDueWhenTheirScoresSay(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.wait("right", 48*time.Hour)
	s.do("ZADD", timeoutPool, s.Time(t.Context()).Val().Add(time.Hour).UnixMicro(), `{"uuid":"later"}`) //nolint:forbidigo // Redis's
	s.do("ZADD", timeoutPool, s.Time(t.Context()).Val().Add(-time.Hour).UnixMicro(), `{"uuid":"late"}`) //nolint:forbidigo // Redis's
	s.verb(0, []string{"requeued 2 jobs"}, "requeue", "order_timeout", "--scores-in", "us", "--undo-dir", dir)
	s.wantDue("late")
	if soon := s.due(61 * time.Minute); !slices.Equal(soon, []string{"late", "later"}) {
		t.Errorf("within an hour these are due: %q", soon)
	}
	s.verb(0, []string{"put back 2 jobs"}, "dead", "undo", undoFile(t, dir))
	if waiting := s.due(1000 * 24 * time.Hour); !slices.Equal(waiting, []string{"right"}) {
		t.Errorf("of these the time is known: %q", waiting)
	}
}

// What a job that was requeued and failed waits for is its own matter.
func TestARequeuedJobThatWaitsForItsRetryIsLeftToTheNextTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.wait("twin", 200*24*time.Hour)
	s.do("ZADD", timeoutPool, s.Time(t.Context()).Val().Add(201*24*time.Hour).UnixMilli(), `{"uuid":"twin","retry":1}`) //nolint:forbidigo // Redis's
	s.verb(0, []string{"requeued 1 job\n", "1 job waits on whose uuid was requeued just now"}, "requeue", "order_timeout", "--due-after", "24h", "--rate", "10/s", "--undo-dir", t.TempDir())
}

// Nobody takes what is due, as in a topic that is paused, and one of the jobs is gone before its turn: the second pass meets those of the first.
func TestARequeueMovesEachJobOnceThoughItGoesOnWaiting(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	s.wait("a", 20*time.Minute)
	s.wait("b", 30*time.Minute)
	s.wait("gone", 40*time.Minute)
	const nameless = `{"order_id":1}`
	old := s.Time(t.Context()).Val().Add(50 * time.Minute).UnixMilli() //nolint:forbidigo // Redis's
	s.do("ZADD", timeoutPool, old, nameless)

	var counts atomic.Int32
	s.config = s.through(func(command []string) string {
		if command[0] == "zcount" && counts.Add(1) == 2 { // the first one is the verb's, the others are of those who go through
			s.ZRem(t.Context(), timeoutPool, `{"uuid":"gone"}`)
		}
		return testenv.Forward
	})
	got := sidecar(t, "", "requeue", "order_timeout", "--due-before", "2h", "--undo-dir", dir, "-c", s.config)
	got.want(t, 0, "requeued 3 jobs\n", "1 job was due, or taken, meanwhile\n")
	if strings.Contains(got.stderr, "requeued just now") {
		t.Errorf("of jobs that nobody has taken it says\n%s", got.stderr)
	}
	s.verb(0, []string{"put back 3 jobs\n"}, "dead", "undo", undoFile(t, dir))
	if score := s.ZScore(t.Context(), timeoutPool, nameless).Val(); score != float64(old) {
		t.Errorf("it waits until %f, want %d", score, old)
	}
}

// through returns the path of the shop's configuration with a relay in front of Redis.
func (s shop) through(answer func(command []string) string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "redis://")
	addr, _, _ := strings.Cut(rest, "/")
	relay := testenv.NewRelay(s.t, func() string { return addr }, answer)
	return writeConfig(s.t, strings.Replace(string(text), addr, relay.Addr, 1))
}

func TestRequeueWantsToBeToldWhich(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for want, args := range map[string][]string{
		"--limit, --dry-run, --rate":             {"order_timeout", "a", "b", "--limit", "10"},
		"want a topic, and uuids, --due-after":   {"order_timeout"},
		"want either uuids or":                   {"order_timeout", "a", "--due-after", "1h"},
		"are not for single uuids":               {"order_timeout", "a", "--dry-run"},
		"--limit -1: want zero or more":          {"order_timeout", "--due-after", "1h", "--limit", "-1"},
		`--due-after "tomorrow": want a time`:    {"order_timeout", "--due-after", "tomorrow"},
		`--due-before "-1h": want a time`:        {"order_timeout", "--due-before=-1h"},
		`--scores-in "ms": scores in "ms": want`: {"order_timeout", "--scores-in", "ms"},
		`--scores-in "s": none waits: read in`:   {"order_timeout", "--scores-in", "s"},
		`or in how long, such as 2h`:             {"order_timeout", "--due-before", "x"},
	} {
		s.verb(2, []string{want}, append([]string{"requeue"}, args...)...)
	}
}
