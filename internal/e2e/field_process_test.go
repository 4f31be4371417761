package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests here are cases from the field (docs/field-cases.md) about the process and what it shows.

// C164: HUP twenty times under load. The sidecar lives, no log line is torn, no job is lost.
func TestHangupsUnderLoadLoseNoJobAndTearNoLine(t *testing.T) {
	t.Parallel()
	const jobs, hangups = 400, 20 // and one that is in hand all the while
	r := newRig(t, 2)
	p := r.start(r.config("log = \"json\"\nlog_level = \"debug\"", ""))
	r.push(`{"uuid":"in hand","wait":"hung up"}`)
	r.produce(jobs, 0, 0, 5)
	r.wantStarted(2)
	for i := range hangups {
		p.signal(syscall.SIGHUP)
		eventually(t, 5*time.Second, func() error {
			if n := p.count(`"msg":"reload: nothing has changed`); n != i+1 {
				return fmt.Errorf("%d reloads in the log, want %d", n, i+1)
			}
			return nil
		})
	}
	r.write("hung up", "")
	r.wantEmpty(20 * time.Second)
	r.wantOneRunEach(jobs + 1)
	p.wantLogged(`"msg":"run ended"`, jobs+1)
	for _, line := range p.lines() {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("%v in the line %s", err, line)
		}
	}
}

// C59, C87: how many are dead, and for how long the oldest job has been due, is seen without a running sidecar.
func TestStatusShowsTheDeadAndTheOldestDueJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx := t.Context()
	now := r.rdb.Time(ctx).Val()
	due := float64(now.Add(-90 * time.Second).UnixMilli()) //nolint:forbidigo // Redis's own time
	r.rdb.Do(ctx, "ZADD", "delay:pool:"+topic, due, `{"uuid":"late"}`, due+3.6e6, `{"uuid":"later"}`)
	for range 1000 {
		r.rdb.RPush(ctx, "delay:dead:"+topic, `{"job":{"uuid":"x"},"error":"","trace":"","at":""}`)
	}
	out, err := exec.Command(binary, "status", "--json", "-c", r.config("", "")).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Topics []struct {
			Topic            string
			Pool, Due, Dead  int
			OldestDueSeconds float64 `json:"oldest_due_seconds"`
		}
	}
	if err := json.Unmarshal(out, &got); err != nil || len(got.Topics) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	if g := got.Topics[0]; g.Pool != 2 || g.Due != 1 || g.Dead != 1000 || g.OldestDueSeconds < 90 || g.OldestDueSeconds > 150 {
		t.Errorf("status shows %+v, want 2 in the pool, 1 due for 90 s, 1000 dead", g)
	}
	text, err := exec.Command(binary, "status", "-c", r.config("", "")).Output()
	if err != nil || !strings.Contains(string(text), "1000") || !strings.Contains(string(text), "1m3") {
		t.Errorf("%v in %s", err, text)
	}
}

// C55: at every moment each job that has not ended lies in some key, whatever is killed.
func TestAtNoMomentAJobIsNowhere(t *testing.T) {
	t.Parallel()
	const jobs = 200
	r := newRig(t, 4)
	config := r.config("", "lease = \"3s\"\nretry = [\"50ms\"]")
	var uuids []string
	for _, text := range r.produce(jobs, 500, 10, 15) {
		uuids = append(uuids, uuidOf(t, text))
	}
	p := r.start(config)
	samples, started := 0, 0
	var strike time.Time // when it is killed: not before it has run something
	for deadline := time.Now().Add(time.Minute); r.marked("E") < jobs && time.Now().Before(deadline); samples++ {
		lying := r.everywhere()
		ended := r.runs("E") // later: what has left the keys has ended before
		for _, uuid := range uuids {
			if !lying[uuid] && ended[uuid] == 0 {
				t.Fatalf("%s is in no key and has not ended", uuid)
			}
		}
		<-time.After(5 * time.Millisecond)
		switch n := r.marked("S"); {
		case strike.IsZero() && n > started:
			strike = time.Now().Add(200 * time.Millisecond)
		case !strike.IsZero() && time.Now().After(strike):
			p.kill()
			started, strike = r.marked("S"), time.Time{}
			p = r.start(config)
		}
	}
	r.wantEmpty(10 * time.Second)
	t.Logf("%d samples", samples)
}

// everywhere returns the uuids of the texts in all four keys, seen at one moment.
func (r *rig) everywhere() map[string]bool {
	r.t.Helper()
	texts, err := r.rdb.Eval(context.Background(), `
		local all = {}
		for i, key in ipairs(KEYS) do
			local list = i <= 2 and redis.call('ZRANGE', key, 0, -1) or redis.call('LRANGE', key, 0, -1)
			for _, text in ipairs(list) do all[#all + 1] = text end
		end
		return all`,
		[]string{"delay:pool:" + topic, "delay:running:" + topic, "delay:ready:" + topic, "delay:dead:" + topic}).StringSlice()
	if err != nil {
		r.t.Fatal(err)
	}
	uuids := make(map[string]bool, len(texts))
	for _, text := range texts {
		uuids[uuidOf(r.t, text)] = true
	}
	return uuids
}

// uuidOf reads a job's uuid.
func uuidOf(t testing.TB, text string) string {
	t.Helper()
	var job struct{ UUID string }
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	return job.UUID
}
