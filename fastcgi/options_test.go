package fastcgi_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// validPool returns a pool that holds.
func validPool() fastcgi.PoolOptions {
	o := fastcgi.DefaultPoolOptions()
	o.Name, o.Listen = "default", "unix:///run/php/php-fpm.sock"
	return o
}

// validTopic returns a topic that holds.
func validTopic() fastcgi.TopicOptions {
	o := fastcgi.DefaultTopicOptions()
	o.Topic, o.Workers, o.Script = "order_timeout", 8, "/srv/jobs/order_timeout.php"
	return o
}

func TestPoolsThatHold(t *testing.T) {
	tests := map[string]func(*fastcgi.PoolOptions){
		"defaults with listen": func(*fastcgi.PoolOptions) {},
		"tcp":                  func(o *fastcgi.PoolOptions) { o.Listen = "tcp://127.0.0.1:9000" },
		"tcp by name":          func(o *fastcgi.PoolOptions) { o.Listen = "tcp://php-fpm:9000" },
		"tcp v6":               func(o *fastcgi.PoolOptions) { o.Listen = "tcp://[::1]:9000" },
		"status path":          func(o *fastcgi.PoolOptions) { o.Status = "/fpm/status" },
		"status on a socket":   func(o *fastcgi.PoolOptions) { o.Status = "unix:///run/s.sock?path=/status" },
		"status on a port":     func(o *fastcgi.PoolOptions) { o.Status = "tcp://127.0.0.1:9001/status" },
		"workers on a port":    func(o *fastcgi.PoolOptions) { o.WorkerSocket = "tcp://127.0.0.1:0" },
		"workers on a port v6": func(o *fastcgi.PoolOptions) { o.WorkerSocket = "tcp://[::1]:9190" },
		"paths": func(o *fastcgi.PoolOptions) {
			o.BridgePath, o.BridgeDir, o.Chroot = "/bridge.php", "/srv/jail/run", "/srv/jail"
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			o := validPool()
			change(&o)
			if err := o.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPoolsThatDoNotHoldAreAllReported(t *testing.T) {
	o := fastcgi.PoolOptions{Status: "status", BridgePath: "bridge.php", BridgeDir: "/", Chroot: "/srv/"}
	testenv.WantFaults(t, o.Validate(), `listen = "": `, "children = 0: ", `status = "status": `, `bridge_path = "bridge.php": `, `bridge_dir = "/": `, `chroot = "/srv/": `)
}

func TestAListenThatIsNearlyRightIsSpelledOut(t *testing.T) {
	for listen, want := range map[string]string{
		"/run/php-fpm.sock":       `want "unix:///run/php-fpm.sock"`,
		"127.0.0.1:9000":          `want "tcp://127.0.0.1:9000"`,
		"unix://run/php-fpm.sock": "three slashes",
		"unix:/run/php-fpm.sock":  `want "unix:///path/to.sock" or`,
		"tcp://127.0.0.1":         `want "unix:///path/to.sock" or`,
		"tcp://:9000":             `want "unix:///path/to.sock" or`,
		"tcp://h:0":               `want "unix:///path/to.sock" or`,
		"9000":                    `want "unix:///path/to.sock" or`,
	} {
		o := validPool()
		o.Listen = listen
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("listen = %q: got %v, want %s", listen, err, want)
		}
	}
}

func TestStatusAddressesThatDoNotHold(t *testing.T) {
	for _, status := range []string{
		"status", "/", "unix:///run/s.sock", "unix://run/s.sock?path=/status", "unix:///run/s.sock?path=status",
		"tcp://127.0.0.1:9001", "tcp://127.0.0.1/status", "tcp://127.0.0.1:9001/status?json", "http://127.0.0.1/status", "tcp://%zz",
	} {
		o := validPool()
		o.Status = status
		testenv.WantFaults(t, o.Validate(), "status = ")
	}
}

func TestWorkerSocketsThatOthersCouldReachDoNotHold(t *testing.T) {
	for _, socket := range []string{
		"unix:///run/w.sock", "/run/w.sock", "127.0.0.1:9190", "tcp://127.0.0.1", "tcp://0.0.0.0:9190", "tcp://:9190",
		"tcp://10.0.0.1:9190", "tcp://localhost:9190", "tcp://127.0.0.1:65536", "tcp://127.0.0.1:-1",
	} {
		o := validPool()
		o.WorkerSocket = socket
		testenv.WantFaults(t, o.Validate(), "worker_socket = ")
	}
}

func TestCallsAsPHPSpellsThem(t *testing.T) {
	for call, holds := range map[string]bool{
		`handle`: true, `App\Jobs\OrderTimeout::handle`: true, `\App\Jobs\handle`: true, `Aufträge\Prüfung::los`: true,
		`_x::_y`: true, `App\Jobs\OrderTimeout@handle`: false, `App/Jobs/OrderTimeout::handle`: false, `App\\Jobs::x`: false,
		`X::`: false, `::x`: false, `1x`: false, "App\tasks::x": false, `x()`: false, `$x`: false, `X::y::z`: false, "x\n": false,
	} {
		o := validTopic()
		o.Script, o.Call = "", call
		if err := o.Validate(); (err == nil) != holds {
			t.Errorf("call = %q: got %v, want holds = %v", call, err, holds)
		}
	}
}

func TestTopicsThatHold(t *testing.T) {
	tests := map[string]func(*fastcgi.TopicOptions){
		"defaults with a script": func(*fastcgi.TopicOptions) {},
		"raw": func(o *fastcgi.TopicOptions) {
			o.Bridge, o.SuccessBody = false, regexp.MustCompile("^ok$")
		},
		"abandoned at the timeout": func(o *fastcgi.TopicOptions) { o.Timeout, o.AbandonAfter = time.Minute, time.Minute },
		"nothing kept":             func(o *fastcgi.TopicOptions) { o.OutputLimit = 0 },
		"memory":                   func(o *fastcgi.TopicOptions) { o.MemoryLimit = "256M" },
		"memory in bytes":          func(o *fastcgi.TopicOptions) { o.MemoryLimit = "268435456" },
		"no memory limit":          func(o *fastcgi.TopicOptions) { o.MemoryLimit = "-1" },
		"routes without a default": func(o *fastcgi.TopicOptions) {
			o.Script, o.Routes = "", map[string]fastcgi.Target{"send_sms": {Call: `App\Sms::send`, Timeout: time.Hour}, "Grüße 7": {Script: "/srv/hello.php"}}
		},
		"routes beside a default": func(o *fastcgi.TopicOptions) { o.Routes = map[string]fastcgi.Target{"x": {Script: o.Script}} },
		"routes, raw": func(o *fastcgi.TopicOptions) {
			o.Bridge, o.SuccessBody, o.Script = false, regexp.MustCompile("^ok$"), ""
			o.Routes = map[string]fastcgi.Target{strings.Repeat("x", 128): {Script: "/srv/x.php"}}
		},
		"resident workers": func(o *fastcgi.TopicOptions) {
			o.Mode, o.MinWorkers, o.MaxMemory = fastcgi.ModeWorker, o.Workers, 96<<20
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			o := validTopic()
			change(&o)
			if err := o.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTopicsThatDoNotHoldAreAllReported(t *testing.T) {
	tests := map[string]struct {
		change func(*fastcgi.TopicOptions)
		want   []string
	}{
		"no target":   {func(o *fastcgi.TopicOptions) { o.Script = "" }, []string{"script: "}},
		"two targets": {func(o *fastcgi.TopicOptions) { o.Call = "x" }, []string{`call = "x": `}},
		"paths": {
			func(o *fastcgi.TopicOptions) { o.Script, o.Bootstrap = "/srv/../a.php", "autoload.php" },
			[]string{`script = "/srv/../a.php": `, `bootstrap = "autoload.php": `},
		},
		"raw": {
			func(o *fastcgi.TopicOptions) { o.Bridge, o.Script, o.Call, o.Bootstrap = false, "", "x", "/a.php" },
			[]string{"success_body: ", `call = "x": `, `bootstrap = "/a.php": `},
		},
		"numbers": {
			func(o *fastcgi.TopicOptions) {
				o.Workers, o.Weight, o.Mode, o.Timeout, o.AbandonAfter = 0, 0, "daemon", 0, -1
				o.MemoryLimit, o.OutputLimit = "256MB", -1
			},
			[]string{"workers = 0: ", "weight = 0: ", `mode = "daemon": `, `timeout = "0s": `, `abandon_after = "-1ns": `, `memory_limit = "256MB": `, "output_limit = -1: "},
		},
		"workers": {
			func(o *fastcgi.TopicOptions) {
				o.MinWorkers, o.IdleTimeout, o.MaxJobs, o.MaxAge, o.MaxMemory = o.Workers+1, 0, 0, 0, -1
			},
			[]string{"min_workers = 9: ", `idle_timeout = "0s": `, "max_jobs = 0: ", `max_age = "0s": `, "max_memory = -1: "},
		},
		"raw workers": {
			func(o *fastcgi.TopicOptions) {
				o.Mode, o.Bridge, o.SuccessBody = fastcgi.ModeWorker, false, regexp.MustCompile("^ok$")
			},
			[]string{`mode = "worker": `},
		},
		"abandoned too early": {func(o *fastcgi.TopicOptions) { o.AbandonAfter = time.Second }, []string{`abandon_after = "1s": `}},
		"too much output":     {func(o *fastcgi.TopicOptions) { o.OutputLimit = 1<<30 + 1 }, []string{"output_limit = 1073741825: "}},
		"pattern on nothing": {
			func(o *fastcgi.TopicOptions) { o.SuccessBody, o.OutputLimit = regexp.MustCompile("ok"), 0 },
			[]string{"output_limit = 0: "},
		},
		"pattern of PHP": {
			func(o *fastcgi.TopicOptions) { o.SuccessBody = regexp.MustCompile("/^ok$/i") },
			[]string{`success_body = "/^ok$/i": `},
		},
	}
	to := func(typ string, target fastcgi.Target) func(*fastcgi.TopicOptions) {
		return func(o *fastcgi.TopicOptions) { o.Routes = map[string]fastcgi.Target{typ: target} }
	}
	good := fastcgi.Target{Call: "handle"}
	for name, route := range map[string]struct {
		change func(*fastcgi.TopicOptions)
		want   string
	}{
		"neither":            {to("x", fastcgi.Target{}), `route "x": script: want script = `},
		"both":               {to("x", fastcgi.Target{Call: "x", Script: "/x.php"}), `route "x": call = "x": want either`},
		"no call":            {to("x", fastcgi.Target{Call: "X->y"}), `route "x": call = "X->y": want "Class::method"`},
		"a long call":        {to("x", fastcgi.Target{Call: strings.Repeat("x", 1025)}), `route "x": call = "` + strings.Repeat("x", 128) + `"…: want at most 1024 bytes`},
		"relative":           {to("x", fastcgi.Target{Script: "x.php"}), `route "x": script = "x.php": want an absolute`},
		"a long script":      {to("x", fastcgi.Target{Script: strings.Repeat("/x", 2048)}), `route "x": script = "/x/x`},
		"no time":            {to("x", fastcgi.Target{Call: "x", Timeout: -1}), `route "x": timeout = "-1ns": want at least 1ms`},
		"next to no time":    {to("x", fastcgi.Target{Call: "x", Timeout: 999}), `route "x": timeout = "999ns": want at least 1ms`},
		"too much time":      {to("x", fastcgi.Target{Call: "x", Timeout: 90 * time.Minute}), `route "x": timeout = "1h30m0s": want at most abandon_after = "1h0m0s"`},
		"no type":            {to("", good), `route "": want a type of 1 to 128 bytes`},
		"a long type":        {to(strings.Repeat("é", 65), good), `route "` + strings.Repeat("é", 64) + `"…: want a type`},
		"a type of two rows": {to("a\nb", good), `route "a\nb": want a type`},
		"a type with C1":     {to("a\u0085b", good), `route "a\u0085b": want a type`},
	} {
		tests["route: "+name] = struct {
			change func(*fastcgi.TopicOptions)
			want   []string
		}{route.change, []string{route.want}}
	}
	tests["several routes"] = struct {
		change func(*fastcgi.TopicOptions)
		want   []string
	}{
		func(o *fastcgi.TopicOptions) {
			o.Bridge, o.SuccessBody = false, regexp.MustCompile("^ok$")
			o.Routes = map[string]fastcgi.Target{"a": {Call: "x"}, "b": {}, "c": {Script: "/c.php"}}
		},
		[]string{`route "a": call = "x": want script with bridge = false`, `route "b": script: `},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := validTopic()
			tt.change(&o)
			testenv.WantFaults(t, o.Validate(), tt.want...)
		})
	}
}
