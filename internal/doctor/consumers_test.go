package doctor_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidecar/internal/doctor"
	"sidecar/internal/testenv"
)

// The old consumer itself, with one long job in hand.
func TestAnOldConsumerOfATopicIsFoundByWhatItHolds(t *testing.T) {
	t.Parallel()
	set := newSetting(t, testenv.Redis(t, goodRedis...), goodFPM())
	rdb := set.redis.Client()
	do(t, rdb, `ZADD delay:pool:mail 1 {"uuid":"a"}`)
	cmd := exec.Command("php", filepath.Join("..", "..", "testdata", "legacy", "pcntl_pool.php"),
		"--redis="+set.redis.Addr, "--topic=mail", "--workers=1", "--scanners=1", "--handler=usleep:60000000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	done, err := testenv.StartChild(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group that we started
		<-done
	})
	cfg := set.config("", "", "children = 3\nstatus = \"/status\"", fmt.Sprintf("[topic.mail]\nscript = %q", set.fpm.Handler("ok")))
	testenv.Poll(t, 20*time.Second, "the old consumer to take the job", func() bool { return rdb.ZCard(t.Context(), "delay:running:mail").Val() == 1 })
	if score := int64(rdb.ZScore(t.Context(), "delay:running:mail", `{"uuid":"a"}`).Val()); score%100 == 0 { // one in a hundred looks like a renewal of ours
		do(t, rdb, `ZINCRBY delay:running:mail 1 {"uuid":"a"}`)
	}
	var got []string
	for _, f := range set.examine(cfg) {
		got = append(got, f.ID+": "+f.Found)
		if f.ID == "redis-consumers" && f.Level == doctor.Note && strings.Contains(f.Found, "of 1 claim looked at in delay:running:mail 1 ") &&
			strings.Contains(f.Found, "the last ends in ") && strings.HasSuffix(f.Found, "sent last: 1 from 127.0.0.1") {
			return
		}
	}
	t.Errorf("want redis-consumers, with what it holds and from where it may come, among\n%s", strings.Join(got, "\n"))
}
