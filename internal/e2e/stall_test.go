package e2e

import (
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// The way to Redis swallows every claim, and nothing else: promotions and the watchdog's own look go through.
func TestAStallIsToldLoudlyAndEndsWithItsCause(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	source, err := os.ReadFile("../../queue/lua/claim.lua")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(source) //nolint:gosec // as above
	way := newProxy(t, r.redis.Addr)
	p := r.start(r.through(fmt.Sprintf("url = %q", "redis://"+way.addr), `stall_after = "10s"`))
	p.wantReady(20 * time.Second)
	way.setDeafTo(hex.EncodeToString(sum[:]))
	r.push(`{"uuid":"waits"}`)
	p.wantNotReady("stalled: ", time.Minute)
	eventually(t, 10*time.Second, func() error {
		if p.count("level=ERROR msg=\"stalled: work is due and nothing is claimed") == 0 {
			return fmt.Errorf("no loud line in the log")
		}
		return nil
	})
	p.wantMetric(fmt.Sprintf(`sidecar_stalled{topic=%q}`, topic), 1)
	way.setDeafTo("")
	r.wantEmpty(30 * time.Second)
	p.wantReady(30 * time.Second)
	eventually(t, 20*time.Second, func() error {
		if p.count("stalled no more") == 0 || p.metric(fmt.Sprintf(`sidecar_stalled{topic=%q}`, topic)) != 0 {
			return fmt.Errorf("nothing says that the stall is over")
		}
		return nil
	})
	if n := r.runs("E")["waits"]; n != 1 {
		t.Errorf("%d runs of the job, want 1", n)
	}
}

// Far more topics than connections: each is consumed, none starves beside a busy one, and being idle stays cheap.
func TestFiveHundredTopicsShareFewConnections(t *testing.T) {
	t.Parallel()
	const topics, flood = 500, 400
	r := newRigWith(t, testenv.FPMOptions{Children: 4})
	var tables strings.Builder
	for i := range topics {
		fmt.Fprintf(&tables, "[topic.t%d]\nscript = %q\n", i, r.dir+"/record.php")
	}
	path := r.config("", "")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "[topic.")
	began := time.Now()
	cmd := exec.Command(binary, "run", "-c", r.write("sidecar.toml", head+tables.String()))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // ten connections to Redis
	p := r.startCommand(cmd)
	p.wantReady(time.Minute)
	t.Logf("ready after %s", time.Since(began).Round(time.Millisecond))

	if perSecond := r.callsPerSecond(5 * time.Second); perSecond > 2*topics {
		t.Errorf("%.0f calls a second for %d idle topics, want 2 each at most", perSecond, topics)
	} else {
		t.Logf("%.0f calls a second while idle", perSecond)
	}

	push := func(i int, uuid string, sleep int) {
		job := fmt.Sprintf(`{"uuid":%q,"sleep_ms":%d}`, uuid, sleep)
		if err := r.rdb.Do(t.Context(), "ZADD", fmt.Sprintf("delay:pool:t%d", i), 1, job).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range flood {
		push(0, fmt.Sprintf("flood-%d", n), 10)
	}
	for i := 1; i < topics; i++ {
		push(i, fmt.Sprintf("one-%d", i), 0)
	}
	eventually(t, 2*time.Minute, func() error {
		if n := r.marked("E"); n != flood+topics-1 {
			return fmt.Errorf("%d jobs have ended, want %d", n, flood+topics-1)
		}
		return nil
	})
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil || len(descriptors) > 60 {
		t.Errorf("%d descriptors, %v, want a few", len(descriptors), err)
	}
	if code, body, err := p.get("/readyz"); err != nil || code != http.StatusOK {
		t.Errorf("readyz: %d %s %v", code, body, err)
	}
}

// callsPerSecond counts the scripts that Redis is asked to run: nothing else is asked of it all the time.
func (r *rig) callsPerSecond(over time.Duration) float64 {
	r.t.Helper()
	calls := func() (n int) {
		info := r.rdb.InfoMap(r.t.Context(), "commandstats").Val()
		if _, err := fmt.Sscanf(info["Commandstats"]["cmdstat_evalsha"], "calls=%d", &n); err != nil {
			r.t.Fatal(err)
		}
		return n
	}
	before, began := calls(), time.Now()
	<-time.After(over)
	return float64(calls()-before) / time.Since(began).Seconds()
}
