package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// The list that most tests use, and where its jobs end that fail for good.
const (
	smsKey  = "queue:prod:send_sms"
	deadKey = "queue:prod:dead_letter"
)

// newListRig is a shop whose jobs come in lists and run list.php.
func newListRig(t testing.TB, children int) *rig {
	t.Helper()
	r := newRigWith(t, testenv.FPMOptions{Children: children})
	r.script = "list.php"
	r.copyScript(r.script)
	return r
}

// list is the table [list.<name>] of a list that runs the rig's script, if that has one. Its lease is as short as can be.
func (r *rig) list(name, key, options string) string {
	if r.script != "" {
		options = fmt.Sprintf("script = %q\n%s", filepath.Join(r.dir, r.script), options)
	}
	return fmt.Sprintf("[list.%s]\nkey = %q\ndead = %q\nlease = \"3s\"\nmode = %q\n%s\n", name, key, deadKey, r.mode, options)
}

// smsConfig writes a sidecar.toml for smsKey alone.
func (r *rig) smsConfig(options string) string {
	r.t.Helper()
	return r.listConfig(r.list("send_sms", smsKey, options))
}

// listConfig writes a sidecar.toml with these tables.
func (r *rig) listConfig(tables ...string) string {
	r.t.Helper()
	return r.write("sidecar.toml", r.servers()+strings.Join(tables, "\n"))
}

// smsJob is a job's text as producers write it. does is its payload, which list.php obeys.
func smsJob(id, does string) string {
	return fmt.Sprintf(`{"job_id":"%s","type":"send_sms","payload":{%s},"retry_count":0,"max_retry":3,"created_at":1732900000}`, id, does)
}

// smsJobs are jobs <prefix>-0, <prefix>-1, … that do the same.
func smsJobs(prefix string, n int, does string) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = smsJob(fmt.Sprintf("%s-%d", prefix, i), does)
	}
	return texts
}

// lpush writes texts as producers do, the first one first.
func (r *rig) lpush(key string, texts ...string) {
	r.t.Helper()
	pipe := r.rdb.Pipeline()
	for _, text := range texts {
		pipe.LPush(context.Background(), key, text)
	}
	if _, err := pipe.Exec(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// listDepths are the sizes of smsKey, of its dead letter list and of our two keys beside it.
type listDepths struct{ list, pool, running, dead int64 }

func (r *rig) listDepths() (d listDepths) {
	r.t.Helper()
	ctx := context.Background()
	pipe := r.rdb.TxPipeline() // at one moment: a job is in one of them
	list, dead := pipe.LLen(ctx, smsKey), pipe.LLen(ctx, deadKey)
	pool, running := pipe.ZCard(ctx, "sidecar:pool:"+smsKey), pipe.ZCard(ctx, "sidecar:running:"+smsKey)
	if _, err := pipe.Exec(ctx); err != nil {
		r.t.Fatal(err)
	}
	return listDepths{list: list.Val(), pool: pool.Val(), running: running.Val(), dead: dead.Val()}
}

// wantDepths waits until the keys hold that many.
func (r *rig) wantDepths(want listDepths, within time.Duration) {
	r.t.Helper()
	eventually(r.t, within, func() error {
		if got := r.listDepths(); got != want {
			return fmt.Errorf("keys hold %+v, want %+v", got, want)
		}
		return nil
	})
}

// wantRuns waits until so many runs have left that mark.
func (r *rig) wantRuns(mark string, want int, within time.Duration) {
	r.t.Helper()
	eventually(r.t, within, func() error {
		if got := len(r.order(mark)); got != want {
			return fmt.Errorf("%d runs have left %s, want %d", got, mark, want)
		}
		return nil
	})
}

// ran returns the lines of what the handlers wrote.
func (r *rig) ran(file string) []string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// stopped ends a sidecar as a release does.
func (p *instance) stopped() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.wantExit(0, 30*time.Second)
}

// stoppedAt is stopped for a sidecar whose jobs in hand wait for a file: they end when it takes nothing more.
func (p *instance) stoppedAt(file string, r *rig) {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	eventually(p.t, 20*time.Second, func() error {
		if p.count("msg=stopping") == 0 {
			return fmt.Errorf("it does not stop")
		}
		return nil
	})
	r.write(file, "")
	p.wantExit(0, 30*time.Second)
}

// oldWorker is the old list worker, one of its processes.
type oldWorker struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// oldLogs is the prefix of the logs that the old workers' handlers write.
func (r *rig) oldLogs() string { return filepath.Join(r.dir, "legacy") }

// startOldWorker runs the old worker on smsKey until the test ends. addr is its Redis, the path of a socket or host:port.
func (r *rig) startOldWorker(addr string, options ...string) *oldWorker {
	r.t.Helper()
	w := &oldWorker{cmd: exec.Command("php", append([]string{
		filepath.Join("..", "..", "testdata", "legacy", "list_worker.php"),
		"--redis=" + addr, "--queue=" + smsKey, "--dead=" + deadKey, "--log=" + r.oldLogs(),
	}, options...)...)}
	done, err := testenv.StartChild(w.cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	w.done = done
	r.t.Cleanup(w.kill)
	return w
}

// kill ends it as a power cut would. It may be called again.
func (w *oldWorker) kill() {
	_ = w.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-w.done
}

// wantEnd waits until it has ended by itself.
func (w *oldWorker) wantEnd(t testing.TB, within time.Duration) {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(testenv.Slack * within):
		t.Fatalf("the old worker still runs after %s", within)
	}
}
