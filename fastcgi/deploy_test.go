package fastcgi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// release writes a release whose script and bootstrap say which one they are.
func release(f *testenv.FPM, name string) {
	f.Script(name+"/boot.php", `<?php define('BOOTED', '`+name+`');`)
	f.Script(name+"/lib.php", `<?php return '`+name+`';`)
	f.Script(name+"/job.php", `<?php echo basename(__DIR__), ' ', BOOTED, ' ', include __DIR__ . '/lib.php', ' ', include 'lib.php', ' ', '`+name+`';`)
}

// switchLink points link elsewhere in one step, as deploys do.
func switchLink(t testing.TB, link, to string) {
	t.Helper()
	if err := os.Symlink(to, link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
}

// C151: jobs that start after the switch run the new release, and none mixes both.
func TestReleasesSwitchBySymlink(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Opcache: true, Ini: []string{"opcache.validate_timestamps = 0", "realpath_cache_ttl = 600"}})
	release(f, "r1")
	release(f, "r2")
	current := filepath.Join(f.Dir, "current")
	link := func(to string) {
		t.Helper()
		switchLink(t, current, to)
	}
	link("r1")
	topic := newRig(t, f).run().topic(current+"/job.php", func(o *fastcgi.TopicOptions) { o.Bootstrap = current + "/boot.php" })
	run := func() string {
		t.Helper()
		got := topic.Run(t.Context(), job(t, ""))
		wantVerdict(t, got, compat.Done, "")
		return string(got.Output)
	}
	want := func(name string) string { return strings.TrimSpace(strings.Repeat(name+" ", 5)) }
	for n := range 30 {
		name := "r1"
		if n >= 15 {
			name = "r2"
		}
		if n == 15 {
			link("r2")
		}
		if got := run(); got != want(name) {
			t.Fatalf("job %d: got %q, want %q", n, got, want(name))
		}
	}
	// Switches in the middle of everything.
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				link(fmt.Sprintf("r%d", 1+n%2))
			}
		}
	})
	for range 100 {
		if got := run(); got != want("r1") && got != want("r2") {
			t.Errorf("mixed: %q", got)
		}
	}
	close(stop)
	wg.Wait()
}

// newJail makes a directory that FPM can be told to take for its root.
func newJail(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a chroot needs root")
	}
	jail, err := os.MkdirTemp("", "sidecar-jail-") // t.TempDir's are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(jail) })
	if err := os.Chmod(jail, 0o755); err != nil {
		t.Fatal(err)
	}
	return jail
}

// C155: in a chroot all paths are as FPM sees them, and symlinks are followed as it would.
func TestChrootedPool(t *testing.T) {
	jail := newJail(t)
	f := testenv.StartFPM(t, testenv.FPMOptions{Chroot: jail})
	outside := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Chroot = jail })
	if err := outside.pool.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "below the chroot") {
		t.Errorf("bridge_dir outside the chroot: %v", err)
	}
	for path, code := range map[string]string{"app/r1/h.php": `<?php echo 'success ', __DIR__;`} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(jail, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(jail, path), []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/app/r1", filepath.Join(jail, "app/current")); err != nil { // absolute: of the jail
		t.Fatal(err)
	}
	r := newRig(t, f, func(o *fastcgi.PoolOptions) {
		o.Chroot, o.BridgeDir = jail, filepath.Join(jail, "run", "sidecar")
	})
	topic := r.topic("/app/current/h.php")
	rawTopic := r.topic("/app/current/h.php", raw)
	r.run()
	r.opened(topic)
	for _, topic := range []*fastcgi.Topic{topic, rawTopic} {
		got := topic.Run(t.Context(), job(t, ""))
		wantVerdict(t, got, compat.Done, "")
		if string(got.Output) != "success /app/r1" {
			t.Errorf("output %q", got.Output)
		}
	}
	finished := r.topic("/app/r1/f.php")
	if err := os.WriteFile(filepath.Join(jail, "app/r1/f.php"), []byte(`<?php fastcgi_finish_request();`), 0o644); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, finished.Run(t.Context(), job(t, "")), compat.Done, "")
}

// C157: four jobs with sessions run side by side.
func TestSessionsDoNotQueueJobs(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4})
	r := newRig(t, f).run()
	topic := r.topic(f.Script("session.php", `<?php ini_set('session.save_path', '`+f.Shared()+`'); session_start(); usleep(2000000);`))
	begin := time.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "") })
	}
	wg.Wait()
	if took := time.Since(begin); took > 6*time.Second { // one after the other they would take 8
		t.Errorf("four jobs of two seconds took %s", took)
	}
}

// C149: scripts that go on behind their answer hold their slot, and nobody else's job fails for it.
func TestEarlyAnswersDoNotOverrunThePool(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 2})
	r := newRig(t, f).run()
	topic := r.topic(f.Script("tail.php", `<?php echo 'success'; fastcgi_finish_request(); usleep(100000); throw new Exception('tail broke');`))
	quick := r.handler("ok")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 5 {
				wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Failed, "tail broke")
				wantVerdict(t, quick.Run(t.Context(), job(t, "")), compat.Done, "")
			}
		})
	}
	wg.Wait()
}

// max_requests closes the connection where the second request would go: the sign comes before.
func TestEarlyAnswersOfAChildsLastRequest(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 2, MaxRequests: 1})
	r := newRig(t, f).run()
	wantVerdict(t, r.handler("finish_then_end").Run(t.Context(), job(t, "")), compat.Done, "")
	wantVerdict(t, r.handler("finish_then_throw").Run(t.Context(), job(t, "")), compat.Failed, "behind the answer")
}

func TestTheBridgeIsWrittenAgainWhenItVanishes(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.handler("ok")
	r.run()
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
	dir := filepath.Join(f.Dir, "sidecar")
	bridges, _ := filepath.Glob(dir + "/bridge-*.php")
	if len(bridges) != 1 {
		t.Fatalf("bridges: %v", bridges)
	}
	stat, err := os.Stat(bridges[0])
	if err != nil || stat.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", stat.Mode(), err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
}

func TestPrepareRefusesWhatOthersCanWrite(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.BridgeDir = f.Shared() })
	if err := r.pool.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "group and others cannot write") {
		t.Errorf("a directory that all may write: %v", err)
	}
	file := f.Script("file", "")
	r = newRig(t, f, func(o *fastcgi.PoolOptions) { o.BridgeDir = filepath.Join(file, "dir") })
	if err := r.pool.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "set bridge_dir") {
		t.Errorf("a directory that cannot be made: %v", err)
	}
	r.topic("/srv/raw.php", raw)
	if err := r.pool.Prepare(t.Context()); err != nil {
		t.Errorf("raw topics alone need no bridge: %v", err)
	}
}

func TestPrepareRepairsABridgeThatWasChanged(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	if err := newRig(t, f).pool.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	bridges, _ := filepath.Glob(filepath.Join(f.Dir, "sidecar", "bridge-*.php"))
	if len(bridges) != 1 {
		t.Fatalf("bridges: %v", bridges)
	}
	if err := os.WriteFile(bridges[0], []byte("<?php"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, f).run()
	wantVerdict(t, r.handler("ok").Run(t.Context(), job(t, "")), compat.Done, "")
}

func TestDeployedBridgeIsUsedAsItIs(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	code, err := os.ReadFile("../php-client/bridge.php")
	if err != nil {
		t.Fatal(err)
	}
	path := f.Script("deployed/bridge.php", string(code))
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.BridgePath = path })
	topic := r.handler("ok")
	r.run()
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
	if written, _ := filepath.Glob(filepath.Join(f.Dir, "sidecar", "*.php")); len(written) != 0 {
		t.Errorf("written all the same: %v", written)
	}
}

// onlyBridge returns the path of the bridge that the rig's pool has written.
func onlyBridge(t *testing.T, f *testenv.FPM) string {
	t.Helper()
	bridges, _ := filepath.Glob(filepath.Join(f.Dir, "sidecar", "bridge-*.php"))
	if len(bridges) != 1 {
		t.Fatalf("bridges: %v", bridges)
	}
	return bridges[0]
}

// What is cut short shows by its size before every run; what is altered, when it answers without a sign.
func TestADamagedBridgeIsMendedWhileJobsRun(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.handler("ok")
	r.run()
	r.opened(topic)
	bridge := onlyBridge(t, f)
	if err := os.Truncate(bridge, 100); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
	if err := os.Chmod(bridge, 0o600); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")

	text, err := os.ReadFile(bridge)
	if err != nil {
		t.Fatal(err)
	}
	copy(text, "<?php exit;")
	if err := os.WriteFile(bridge, text, 0o644); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Unavailable, "did not run the script")
	r.opened(topic)
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
}
