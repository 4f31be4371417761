package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// contest is a fault that the old consumer has alone on its topic: what it is, and the kind that does the same to a sidecar.
type contest struct {
	Fault   string `json:"fault"`
	Same    string `json:"same"` // the kind of fault that does this to the sidecars
	options string // of the old consumer, beyond those of all
	replay  bool   // it is the old replay script that is hit
	kill    bool   // a worker is killed again and again
	Jobs    int    `json:"jobs"`
	Strikes int    `json:"strikes"`
	account        // of the old consumer's
	rng     *rand.Rand
}

// contests are the faults of the issue that the old consumer is known by.
func contests() []contest {
	return []contest{
		{Fault: "killed between ZREM and the re-add of a failing job (one in five)", Same: "step-kill", options: "--handler=failrate:30 --fault-after-zrem=20"},
		{Fault: "a worker killed at any moment, three in ten jobs fail", Same: "sidecar-kill", options: "--handler=failrate:30", kill: true},
		{Fault: "a worker killed at any moment, mark set before the work (idem)", Same: "sidecar-kill", options: "--handler=usleep:2000 --idem=1", kill: true},
		{Fault: "no fault at all but three in ten jobs fail, mark set before the work (idem)", Same: "all", options: "--handler=failrate:30 --idem=1"},
		{Fault: "the replay of dead jobs killed at any moment", Same: "replay-kill", replay: true},
	}
}

func TestTheOldConsumerLosesWhatTheSidecarDoesNot(t *testing.T) {
	z, seed := theSize(t), theSeed(t)
	list := contests()
	t.Run("contests", func(t *testing.T) { // ends when all of them have
		for i := range list {
			c := &list[i]
			c.Jobs, c.rng = min(z.jobs, 3000), rand.New(rand.NewPCG(seed, uint64(i)))
			t.Run(c.Fault, func(t *testing.T) {
				if !z.long {
					t.Parallel()
				}
				c.run(t)
				t.Logf("%d jobs, %d strikes, %d done, %d lost, %d doubled", c.Jobs, c.Strikes, c.Done, c.Lost, c.Doubled)
			})
		}
	})
	lost := 0
	for _, c := range list {
		lost += c.Lost
	}
	if lost == 0 {
		t.Error("the old consumer has lost nothing: the harness does not see losses")
	}
	newReport(t).addOld(list)
}

// run has the old consumer do its jobs under the fault, and counts them.
func (c *contest) run(t *testing.T) {
	t.Helper()
	server := testenv.Redis(t, "appendonly yes", "appendfsync always")
	rdb, logs := server.Client(), filepath.Join(t.TempDir(), "old")
	if c.replay {
		c.replayDead(t, server, rdb)
	} else {
		c.consume(t, server, rdb, logs)
	}
	ended := make(map[string]int)
	for _, r := range newLedger(t, "", logs).oldRuns() {
		if r.done() {
			ended[r.uuid]++
		}
	}
	left := keysHold(t, rdb)
	for i := range c.Jobs {
		uuid := fmt.Sprintf("job-%d", i)
		switch {
		case ended[uuid] > 1:
			c.Done++
			c.Doubled++
		case ended[uuid] == 1:
			c.Done++
		case left[uuid]:
			c.Dead++
		default:
			c.Lost++
		}
	}
}

func (c *contest) consume(t *testing.T, server *testenv.RedisServer, rdb *redis.Client, logs string) {
	t.Helper()
	args := []string{
		filepath.Join("..", "..", "testdata", "legacy", "pcntl_pool.php"), "--redis=" + server.Addr, "--topic=t", "--workers=4", "--scanners=1",
		"--interval-ms=20", "--idle-us=2000", "--fix-respawn=1", "--visible-ms=1500", "--back-ms=50", "--ladder=0,50,50,50,50,50", "--log=" + logs,
	}
	cmd := exec.Command("php", append(args, strings.Fields(c.options)...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	done, err := testenv.StartChild(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group that we started
		<-done
	}()
	ctx, next := t.Context(), 0
	quiet := 0
	met := eventually(2*time.Minute, func() bool {
		for end := min(next+c.Jobs/40+1, c.Jobs); next < end; next++ {
			if err := rdb.ZAdd(ctx, "delay:pool:t", redis.Z{Score: 1, Member: fmt.Sprintf(`{"uuid":"job-%d","retry":0}`, next)}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		linger(ctx, 20*time.Millisecond)
		if pids := testenv.ChildrenOf(cmd.Process.Pid); c.kill && next < c.Jobs && len(pids) > 2 {
			_ = syscall.Kill(pids[c.rng.IntN(len(pids))], syscall.SIGKILL) // it may have ended
			c.Strikes++
			linger(ctx, 150*time.Millisecond)
		}
		if quiet++; next < c.Jobs || rdb.ZCard(ctx, "delay:pool:t").Val()+rdb.LLen(ctx, "delay:ready:t").Val()+rdb.ZCard(ctx, "delay:running:t").Val() > 0 {
			quiet = 0
		}
		return quiet > 20 // a failing job is in no key for a moment
	})
	if !met {
		t.Errorf("%s: the old consumer does not come to an end", c.Fault)
	}
}

// replayKills is how often a replay is killed. The next one may end.
const replayKills = 50

// replayDead has all of dead replayed by a script that is killed in the middle, again and again.
func (c *contest) replayDead(t *testing.T, server *testenv.RedisServer, rdb *redis.Client) {
	t.Helper()
	ctx := t.Context()
	pipe := rdb.Pipeline()
	for i := range c.Jobs {
		pipe.RPush(ctx, "delay:dead:t", fmt.Sprintf(`{"job":{"uuid":"job-%d","retry":6},"error":"e","trace":"","at":"2026-11-30 12:00:00"}`, i))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	for rdb.LLen(ctx, "delay:dead:t").Val() > 0 {
		before := rdb.LLen(ctx, "delay:dead:t").Val()
		cmd := exec.Command("php", filepath.Join("..", "..", "testdata", "legacy", "replay_dead.php"), "--redis="+server.Addr, "--topic=t", "--limit=1000000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(10*time.Second, func() bool { return rdb.LLen(ctx, "delay:dead:t").Val() < before })
		if c.Strikes++; c.Strikes < replayKills {
			linger(context.Background(), time.Duration(c.rng.IntN(3000))*time.Microsecond)
			_ = cmd.Process.Kill() // it may have ended
		}
		_ = cmd.Wait()
	}
}

// keysHold returns the uuids that are in one of the four keys.
func keysHold(t *testing.T, rdb *redis.Client) map[string]bool {
	t.Helper()
	ctx := t.Context()
	texts := rdb.ZRange(ctx, "delay:pool:t", 0, -1).Val()
	texts = append(texts, rdb.LRange(ctx, "delay:ready:t", 0, -1).Val()...)
	texts = append(texts, rdb.ZRange(ctx, "delay:running:t", 0, -1).Val()...)
	texts = append(texts, rdb.LRange(ctx, "delay:dead:t", 0, -1).Val()...)
	uuids := make(map[string]bool)
	for _, text := range texts {
		var r struct {
			UUID string
			Job  struct{ UUID string }
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Errorf("the keys hold %s: %v", text, err)
		}
		uuids[r.UUID], uuids[r.Job.UUID] = true, true
	}
	return uuids
}
