package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// uuidsOn returns the uuids of all jobs that a server has of the topics, in whichever key.
func uuidsOn(t testing.TB, rdb redis.Cmdable, topics ...string) map[string]bool {
	t.Helper()
	ctx := context.Background()
	uuids := make(map[string]bool)
	for _, topic := range topics {
		var texts []string
		for _, key := range []string{"delay:pool:", "delay:running:"} {
			list, err := rdb.ZRange(ctx, key+topic, 0, -1).Result()
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, list...)
		}
		for _, key := range []string{"delay:ready:", "delay:dead:"} {
			list, err := rdb.LRange(ctx, key+topic, 0, -1).Result()
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, list...)
		}
		for _, text := range texts {
			uuids[jobUUID(t, text)] = true
		}
	}
	return uuids
}

// jobUUID returns the uuid of a job, or of the job in a dead record.
func jobUUID(t testing.TB, text string) string {
	t.Helper()
	var job struct {
		UUID string
		Job  struct{ UUID string }
	}
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return job.UUID + job.Job.UUID
}

// failover is what was known at the moment when the old master was gone and the new one not there yet. Replication is
// asynchronous: the new master may lack what the old one had acknowledged. Redis forgot that, not we.
type failover struct {
	kept  map[string]bool // uuids on the server that was promoted
	begun map[string]int  // runs begun by then
}

// wantNothingLost says of each job that was pushed what became of it: every one that the promoted server had has run to
// its end, every other one may have been forgotten only if forgettable says so. A second run is explained by the first
// one's settlement being forgotten: it had begun, and the promoted server still had the job.
func (r *rig) wantNothingLost(f failover, pushed []string, forgettable func(uuid string) bool) (forgotten, doubled int) {
	r.t.Helper()
	ended := r.runs("E")
	for _, uuid := range pushed {
		switch n := ended[uuid]; {
		case n == 0 && f.kept[uuid]:
			r.t.Errorf("%s is lost: the promoted server had it", uuid)
		case n == 0 && !forgettable(uuid):
			r.t.Errorf("%s was replicated and is gone", uuid)
		case n == 0:
			forgotten++
		case n > 1 && (!f.kept[uuid] || f.begun[uuid] == 0):
			r.t.Errorf("%s ran %d times, and nothing explains it: kept %t, begun %d", uuid, n, f.kept[uuid], f.begun[uuid])
		case n > 1:
			doubled++
		}
	}
	r.t.Logf("%d jobs: %d that redis forgot, %d that ran twice since redis forgot that they were done, 0 lost", len(pushed), forgotten, doubled)
	return forgotten, doubled
}

// begun returns the runs that had begun, once those of the jobs with that prefix have ended and no other begins: their server is
// gone, so that none is claimed any more, but what was claimed before may begin a moment later.
func (r *rig) begun(prefix string) map[string]int {
	r.t.Helper()
	runs := func(mark string) (n int) {
		for _, uuid := range r.order(mark) {
			if strings.HasPrefix(uuid, prefix) {
				n++
			}
		}
		return n
	}
	last, since := -1, time.Now()
	eventually(r.t, 20*time.Second, func() error {
		started, ended := runs("S"), runs("E")
		if started != last || started != ended {
			last, since = started, time.Now()
		}
		if time.Since(since) < time.Second {
			return fmt.Errorf("%d runs have begun, %d have ended", started, ended)
		}
		return nil
	})
	return r.runs("S")
}

// never is for pushes that all were replicated.
func never(string) bool { return false }

// calls returns how many scripts a server was sent by clients. A replica is sent none.
func calls(t testing.TB, s *testenv.RedisServer) int {
	t.Helper()
	for line := range strings.Lines(s.Client().Info(context.Background(), "commandstats").Val()) {
		n := 0
		if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &n); err == nil {
			return n
		}
	}
	return 0
}

// verb runs the sidecar with a verb and returns what it printed; it must exit with code.
func (r *rig) verb(code int, config, name string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command(binary, append([]string{name, "-c", config}, args...)...)
	cmd.Dir = r.t.TempDir() // where undo files go
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		r.t.Fatalf("%s: %v, want exit %d\n%s", name, err, code, out)
	}
	return string(out)
}

// wantVerbs runs every verb that asks Redis, for a topic whose keys are empty before, and leaves them so but for two
// jobs in the pool that are not due.
func (r *rig) wantVerbs(config, topic string, rdb redis.Cmdable) {
	r.t.Helper()
	want := func(out string, parts ...string) {
		r.t.Helper()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				r.t.Errorf("printed %q, want %q in it", out, part)
			}
		}
	}
	want(r.verb(0, config, "check"), "holds: ")
	want(r.verb(0, config, "push", topic, `{"uuid":"by-push"}`, "--delay", "1h"), "by-push")
	record := `{"job":{"uuid":"dead-once","retry":6},"error":"x","trace":"","at":"2026-01-01 00:00:00"}`
	if err := rdb.RPush(context.Background(), "delay:dead:"+topic, record).Err(); err != nil {
		r.t.Fatal(err)
	}
	want(r.verb(0, config, "replay", topic, "--dry-run"), "would replay dead-once")
	want(r.verb(0, config, "status", "--json"), fmt.Sprintf(`"topic":%q,"pool":1,"due":0,"ready":0,"running":0,"dead":1`, topic))
	want(r.verb(0, config, "replay", topic), "replayed dead-once")
	want(r.verb(0, config, "status", "--json"), fmt.Sprintf(`"topic":%q,"pool":2,"due":1,"ready":0,"running":0,"dead":0`, topic))
}

// quoted returns the texts as they stand in an array of the configuration.
func quoted(texts []string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(list, ", ")
}
