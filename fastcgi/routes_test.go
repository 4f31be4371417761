package fastcgi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
	phpclient "sidecar/php-client"
)

// typed is a job of profile list with that type; "" for none.
func typed(t testing.TB, typ string) compat.Job {
	t.Helper()
	text := `{"job_id":"j1","payload":{}}`
	if typ != "" {
		text = fmt.Sprintf(`{"job_id":"j1","type":%q,"payload":{}}`, typ)
	}
	j, err := compat.ParseListJob(text)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// routed adds a topic with these routes and no default, which set may add.
func (r *rig) routed(routes map[string]fastcgi.Target, set ...func(*fastcgi.TopicOptions)) *fastcgi.Topic {
	r.t.Helper()
	return r.topic("", append(set, func(o *fastcgi.TopicOptions) { o.Routes = routes })...)
}

// notes is PHP code that adds a line with what it says to a file.
func notes(path, what string) string {
	return `file_put_contents('` + path + `', ` + what + ` . "\n", FILE_APPEND | LOCK_EX);`
}

// lines returns what has been noted, in order.
func lines(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// One crew serves all routes; each job goes to the code of its type, and finds what that code would find alone.
func TestJobsGoToTheRouteOfTheirType(t *testing.T) {
	eachWay(t, func(t *testing.T, way func(*fastcgi.TopicOptions)) {
		f := testenv.StartFPM(t, testenv.FPMOptions{})
		ran := filepath.Join(f.Shared(), "ran")
		at := `basename($_SERVER['SCRIPT_FILENAME']) . ':' . basename(getcwd()) . ':' . $_SERVER['SIDECAR_TIMEOUT_MS'] . ':' . intdiv($_SERVER['SIDECAR_DEADLINE_MS'] - time() * 1000 + 1000, 1000)`
		boot := f.Script("boot.php", `<?php function sms(array $job) { `+notes(ran, `'sms:' . $job['type'] . ':' . $_SERVER['SIDECAR_TIMEOUT_MS']`)+` }`)
		mail := f.Script("mails/mail.php", `<?php `+notes(ran, `'mail:' . $job['type'] . ':' . `+at)+` $left = 1; if (isset($seen)) { exit(1); } $seen = 1;`)
		other := f.Script("others/other.php", `<?php return function (?array $job) { `+notes(ran, `'other:' . ($job['type'] ?? '-') . ':' . `+at)+` };`)
		r := newRig(t, f)
		topic := r.routed(map[string]fastcgi.Target{
			"send_sms":  {Call: "sms", Timeout: 7 * time.Second},
			"send_mail": {Script: mail},
		}, way, timeout(20*time.Second), func(o *fastcgi.TopicOptions) { o.Script, o.Bootstrap, o.Workers = other, boot, 1 })
		r.run()
		r.opened(topic)
		for _, typ := range []string{"send_sms", "send_mail", "", "send_mail", "never_heard_of", "send_sms"} {
			wantOutcome(t, handled(t.Context(), topic, typed(t, typ)), compat.Done, "")
		}
		got := lines(t, ran)
		for i, want := range []string{
			"sms:send_sms:7000", "mail:send_mail:mail.php:mails:20000:2", "other:-:other.php:others:20000:2", "mail:send_mail:mail.php:mails:20000:2",
			"other:never_heard_of:other.php:others:20000:2", "sms:send_sms:7000",
		} {
			if len(got) <= i || !strings.HasPrefix(got[i], want) { // 20 or 21 seconds are left
				t.Fatalf("job %d: want %s, got %s", i, want, got)
			}
		}
		wantVerdict(t, topic.Try(t.Context(), typed(t, "send_sms")), compat.Done, "")
		if got := lines(t, ran); got[len(got)-1] != "sms:send_sms:7000" {
			t.Errorf("tried: %s", got[len(got)-1])
		}
		if n := r.recycles("died"); n != 0 {
			t.Errorf("%v workers died", n)
		}
	})
}

// No code is for it, and none will be by the next try: it is dead, and FPM, which is not even there, has not been asked.
func TestAJobWithoutARouteIsRejectedBeforeAnythingStarts(t *testing.T) {
	eachWay(t, func(t *testing.T, way func(*fastcgi.TopicOptions)) {
		dir := t.TempDir()
		r := newRig(t, &testenv.FPM{Dir: dir, Listen: "unix://" + filepath.Join(dir, "nobody.sock")})
		routes := map[string]fastcgi.Target{"a": {Call: "a"}, "b": {Call: "b"}}
		topic := r.routed(routes, way)
		for typ, says := range map[string]string{
			"c":                          `no route for type "c"; there are routes for "a", "b"`,
			"":                           "job has no type, and the list has no default route",
			"A":                          `no route for type "A"`,
			"a\n2026-11-30 level=ERROR ": `no route for type "a\n2026-11-30 level=ERROR "; there`,
			strings.Repeat("x", 1<<20):   `"` + strings.Repeat("x", 128) + `"…; there are`,
		} {
			for way, got := range map[string]compat.Outcome{
				"handled": topic.Handle(t.Context(), typed(t, typ)),
				"tried":   topic.Try(t.Context(), typed(t, typ)).Outcome,
			} {
				if got.Verdict != compat.Rejected || !strings.Contains(got.Error, says) || len(got.Error) > 1000 {
					t.Errorf("%s: got %s (%.300q), want rejected: %s", way, got.Verdict, got.Error, says)
				}
			}
		}
		for n := range 1000 {
			routes[fmt.Sprintf("%s%d", strings.Repeat("long", 30), n)] = fastcgi.Target{Call: "a"}
		}
		got := r.routed(routes, way).Handle(t.Context(), typed(t, "c"))
		wantOutcome(t, got, compat.Rejected, ", 992 more")
		if len(got.Error) > 2000 {
			t.Errorf("%d bytes name the routes there are", len(got.Error))
		}
	})
}

func TestARoutesTimeoutIsItsOwn(t *testing.T) {
	eachWay(t, func(t *testing.T, way func(*fastcgi.TopicOptions)) {
		f := testenv.StartFPM(t, testenv.FPMOptions{})
		r := newRig(t, f)
		sleeps := f.Script("boot.php", `<?php function sleeps(array $job) { usleep($job['type'] === 'short' ? 5000000 : 600000); }`)
		topic := r.routed(map[string]fastcgi.Target{"short": {Call: "sleeps", Timeout: 300 * time.Millisecond}}, way,
			func(o *fastcgi.TopicOptions) { o.Call, o.Bootstrap, o.Workers = "sleeps", sleeps, 1 })
		r.run()
		r.opened(topic)
		wantOutcome(t, handled(t.Context(), topic, typed(t, "any")), compat.Done, "")
		wantOutcome(t, handled(t.Context(), topic, typed(t, "short")), compat.TimedOut, "timeout = 300ms")
		wantOutcome(t, handled(t.Context(), topic, typed(t, "any")), compat.Done, "")
	})
}

// A script that is not there shuts the gate of the topic, and the reason says whose it is.
func TestAMissingScriptOfOneRouteShutsTheGate(t *testing.T) {
	ways := map[string]func(*fastcgi.TopicOptions){"request": func(*fastcgi.TopicOptions) {}, "worker": resident, "raw": raw}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := testenv.StartFPM(t, testenv.FPMOptions{})
			r := newRig(t, f)
			ok := `<?php echo 'success';`
			there, later := f.Script("there.php", ok), filepath.Join(f.Dir, "later.php")
			topic := r.routed(map[string]fastcgi.Target{"there": {Script: there}, "later": {Script: later}}, way)
			r.run()
			wantHealth(t, "the topic", topic.Health, `route "later": script `+later)
			if acquires(t, topic, 50*time.Millisecond) {
				t.Error("a job may start although a handler is missing")
			}
			f.Script("later.php", ok)
			r.opened(topic)
			for _, typ := range []string{"later", "there"} {
				wantOutcome(t, handled(t.Context(), topic, typed(t, typ)), compat.Done, "")
			}
			if err := os.Remove(later); err != nil {
				t.Fatal(err)
			}
			testenv.Poll(t, 10*time.Second, "the gap to be seen", func() bool { // a worker that has the file goes on until it is replaced
				topic.Renew()
				return handled(t.Context(), topic, typed(t, "later")).Verdict == compat.Unavailable
			})
			wantHealth(t, "the topic", topic.Health, `route "later": `)
		})
	}
}

// A class that is not there is found out by a job of its route: that job goes back, runs of other routes prove nothing, and
// one of its own does.
func TestAMissingClassOfOneRouteIsInDoubtUntilAJobOfThatRouteRuns(t *testing.T) {
	eachWay(t, func(t *testing.T, way func(*fastcgi.TopicOptions)) {
		f := testenv.StartFPM(t, testenv.FPMOptions{})
		r := newRig(t, f)
		// As Composer's, the autoloader remembers what it has not found.
		boot := f.Script("boot.php", `<?php class Here { static function handle(array $job) {} }
			spl_autoload_register(function ($class) {
				static $missing = [];
				if (isset($missing[$class]) || !is_file(__DIR__ . "/$class.php")) { $missing[$class] = true; return; }
				require __DIR__ . "/$class.php";
			});`)
		topic := r.routed(map[string]fastcgi.Target{"here": {Call: "Here::handle"}, "later": {Call: "Later::handle"}}, way,
			func(o *fastcgi.TopicOptions) { o.Bootstrap = boot })
		r.run()
		r.opened(topic)
		one := func(typ string, want compat.Verdict, says string) {
			t.Helper()
			if topic.Acquire(t.Context(), 1) != 1 {
				t.Fatal("no permission")
			}
			defer topic.Release(1)
			wantOutcome(t, handled(t.Context(), topic, typed(t, typ)), want, says)
		}
		one("here", compat.Done, "")
		one("later", compat.Unavailable, `route "later": class Later does not exist`)
		for range 2 {
			one("here", compat.Done, "")
			if err := topic.Health(); err == nil || !strings.Contains(err.Error(), `route "later": class Later`) {
				t.Errorf("a run of another route has opened the gate: %v", err)
			}
		}
		one("later", compat.Unavailable, "Later")
		f.Script("Later.php", `<?php class Later { static function handle(array $job) {} }`)
		one("later", compat.Done, "")
		r.opened(topic)
		one("here", compat.Done, "")
	})
}

// A file that is changed renews the workers, whichever route it is of.
func TestChangedCodeOfOneRouteRenewsTheWorkers(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	ran := filepath.Join(f.Shared(), "ran")
	a, b := callable(f, "a", notes(ran, "'a'")), callable(f, "b", notes(ran, "'old'"))
	topic := r.routed(map[string]fastcgi.Target{"a": {Script: a}, "b": {Script: b}}, resident)
	r.run()
	r.opened(topic)
	for _, typ := range []string{"a", "b"} {
		wantOutcome(t, handled(t.Context(), topic, typed(t, typ)), compat.Done, "")
	}
	callable(f, "b", notes(ran, "'newer'"))
	testenv.Poll(t, 10*time.Second, "the new code", func() bool { // at most 50 ms later
		wantOutcome(t, handled(t.Context(), topic, typed(t, "b")), compat.Done, "")
		got := lines(t, ran)
		return got[len(got)-1] == "newer"
	})
	if r.recycles("code") < 1 {
		t.Error("no worker was renewed for the code")
	}
}

// In a chroot, and by a symlink, the paths of routes are found as the topic's own are.
func TestRoutesOfAChrootedPool(t *testing.T) {
	jail := newJail(t)
	f := testenv.StartFPM(t, testenv.FPMOptions{
		Chroot: jail,
		Ini:    []string{"disable_functions = date_default_timezone_get"}, // Debian's reads files that this chroot does not have
	})
	if err := os.MkdirAll(filepath.Join(jail, "app/r1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(jail, "app/r1/h.php"), []byte(`<?php if (__DIR__ !== '/app/r1') { throw new Exception(__DIR__); }`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/app/r1", filepath.Join(jail, "app/current")); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, f, func(o *fastcgi.PoolOptions) {
		o.Chroot, o.BridgeDir = jail, filepath.Join(jail, "run", "sidecar")
	})
	routes := map[string]fastcgi.Target{"x": {Script: "/app/current/h.php"}}
	topics := []*fastcgi.Topic{r.routed(routes), r.routed(routes, resident)}
	r.run()
	for _, topic := range topics {
		r.opened(topic)
		wantVerdict(t, topic.Run(t.Context(), typed(t, "x")), compat.Done, "")
	}
}

// A deployed bridge that does not know routes runs no job by whatever code comes first: it says what it lacks.
func TestADeployedBridgeThatIsTooOldForRoutesRunsNothing(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	old := strings.ReplaceAll(string(phpclient.Bridge), `(bool) $order['routes']`, "false")
	if old == string(phpclient.Bridge) {
		t.Fatal("the bridge looks at its order in some other way")
	}
	path := f.Script("old/bridge.php", old)
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.BridgePath = path })
	topic := r.routed(map[string]fastcgi.Target{"x": {Script: f.Handler("ok")}}, resident,
		func(o *fastcgi.TopicOptions) { o.Script = f.Handler("ok") })
	r.run()
	r.opened(topic)
	for _, typ := range []string{"x", "y"} {
		wantVerdict(t, topic.Run(t.Context(), typed(t, typ)), compat.Unavailable, "the_deployed_bridge_php_is_too_old_for_routes")
	}
}
