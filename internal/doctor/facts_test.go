package doctor_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/doctor"
	"sidecar/queue"
)

// goodFacts are those of a setting that leaves nothing to say.
func goodFacts(t *testing.T) *doctor.Facts {
	t.Helper()
	cfg, err := config.Parse("sidecar.toml", []byte(`timezone = "UTC"
[redis]
url = "redis://10.0.0.1:6379"
[fpm.default]
listen = "tcp://127.0.0.1:9000"
children = 3
status = "/status"
[topic.mail]
script = "/srv/mail.php"
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	const seconds = 1767268800 // since the epoch
	now := time.Unix(seconds, 0).UTC()
	ini := map[string]*string{
		"memory_limit": new("128M"), "max_execution_time": new("30"), "display_errors": new("0"), "opcache.enable": new("1"),
		"opcache.validate_timestamps": new("1"), "opcache.revalidate_freq": new("2"),
	}
	return &doctor.Facts{
		Config: cfg, Topics: cfg.Topics,
		Host: doctor.Host{MaxFiles: 1 << 16, Overcommit: "1", Hugepages: "always [madvise] never"},
		Redis: doctor.Redis{
			Now: now,
			Servers: []doctor.Server{{
				Name:   "10.0.0.1:6379",
				Info:   map[string]string{"redis_version": "7.0.15", "role": "master", "aof_enabled": "1", "maxmemory": "1000", "used_memory": "10", "connected_clients": "5"},
				Config: map[string]string{"save": "3600 1", "appendfsync": "everysec", "tcp-keepalive": "300", "timeout": "0", "maxclients": "10000"},
			}},
			Topics: []doctor.TopicKeys{{Topic: cfg.Topics[0], Now: queue.ServerTime(seconds * 1e6)}},
		},
		Pools: []doctor.Pool{{
			Opts: cfg.FPM["default"], Topics: cfg.Topics, Survey: fastcgi.Survey{Master: 7, Page: &fastcgi.StatusPage{Mode: "static"}},
			Global: map[string]string{"process_control_timeout": "10s"},
			Conf:   map[string]string{"pm": "static", "pm.max_children": "4", "pm.status_path": "/status"},
			PHP: &doctor.PHP{
				Version: "8.2.1", Time: seconds, Timezone: "UTC", Ini: ini, Opcache: &doctor.Opcache{Free: 100},
				Files: []doctor.PHPFile{{Path: "/srv/mail.php"}},
			},
			Asked: now,
		}},
	}
}

// byFacts are findings by what has to change in good facts, "level id where" by change.
func byFacts() map[string]func(*doctor.Facts) {
	server := func(change func(*doctor.Server)) func(*doctor.Facts) {
		return func(f *doctor.Facts) { change(&f.Redis.Servers[0]) }
	}
	info := func(name, value string) func(*doctor.Facts) {
		return server(func(s *doctor.Server) { s.Info[name] = value })
	}
	danger := func(kind queue.DangerKind) func(*doctor.Facts) {
		return func(f *doctor.Facts) { f.Redis.Dangers = []queue.Danger{{Kind: kind, Topic: "mail", Text: "text"}} }
	}
	pool := func(change func(*doctor.Pool)) func(*doctor.Facts) {
		return func(f *doctor.Facts) { change(&f.Pools[0]) }
	}
	page := func(change func(*fastcgi.StatusPage)) func(*doctor.Facts) {
		return pool(func(p *doctor.Pool) { change(p.Survey.Page) })
	}
	php := func(name, value string) func(*doctor.Facts) {
		return pool(func(p *doctor.Pool) { p.PHP.Ini[name] = new(value) })
	}
	beats := func(list ...queue.Heartbeat) func(*doctor.Facts) {
		return func(f *doctor.Facts) {
			for i := range list {
				list[i].At = f.Redis.Now.Add(-list[i].At.Sub(time.Time{}))
			}
			f.Redis.Sidecars = list
		}
	}
	ago := func(d time.Duration) time.Time { return time.Time{}.Add(d) }
	mail := []string{"mail"}
	sums := func(script string) map[string]string {
		return map[string]string{"mail": script + strings.Repeat("0", 36)}
	}
	return map[string]func(*doctor.Facts){
		"fault redis-unfit redis":            func(f *doctor.Facts) { f.Redis = doctor.Redis{Err: queue.ErrTooOld} },
		"fault redis-several-masters redis":  danger(queue.SeveralMasters),
		"fault redis-cluster-node redis":     danger(queue.NodeOfCluster),
		"note redis-eviction-unknown redis":  danger(queue.EvictionUnknown),
		"warning redis-eviction redis":       danger(queue.EvictsMarks),
		"warning redis-clock redis":          danger(queue.ClockOff),
		"note redis-old redis 10":            info("redis_version", "5.0.14"),
		"warning redis-maxclients redis 10":  info("connected_clients", "9000"),
		"fault redis-save-failed redis 10":   info("aof_last_write_status", "err"),
		"fault redis-memory-full redis 10":   info("used_memory", "960"),
		"warning redis-memory-full redis 10": info("used_memory", "860"),
		"note redis-memory-unbounded redis":  info("maxmemory", "0"),
		"warning redis-replica-lag redis 10": server(func(s *doctor.Server) {
			s.Info["connected_slaves"], s.Info["slave0"] = "1", "ip=10.0.0.2,port=6379,state=online,offset=1,lag=30"
		}),
		"warning redis-failover redis 10": server(func(s *doctor.Server) { s.Info["connected_slaves"], s.Config["min-replicas-to-write"] = "1", "0" }),
		"note redis-evicted redis 10": server(func(s *doctor.Server) {
			s.Info["maxmemory_policy"], s.Info["evicted_keys"] = "volatile-lru", "7"
		}),
		"warning redis-failover redis 10.0": func(f *doctor.Facts) {
			f.Redis.Servers[0].Config["min-replicas-to-write"] = "0"
			with := *f.Config
			with.Redis.Sentinel = "jobs"
			f.Config = &with
		},
		"fault redis-down redis": func(f *doctor.Facts) { f.Redis.Lost = errors.New("2 of 3 topics could not be looked at: i/o timeout") },
		"note redis-hugepages redis 10": func(f *doctor.Facts) {
			f.Redis.Servers[0].Local, f.Redis.Servers[0].Info["redis_version"], f.Host.Hugepages = true, "6.0.1", "[always] never"
		},
		"fault redis-cluster-slots redis 10": server(func(s *doctor.Server) {
			s.Cluster = map[string]string{"cluster_state": "ok", "cluster_slots_assigned": "16000"}
		}),
		"note redis-cluster-coverage redis": server(func(s *doctor.Server) {
			s.Cluster, s.Config["cluster-require-full-coverage"] = map[string]string{"cluster_state": "ok", "cluster_slots_assigned": "16384"}, "yes"
		}),
		"note redis-unasked redis": func(f *doctor.Facts) {
			f.Redis.Unasked = []doctor.Unasked{{Where: "redis", Command: "CONFIG GET", Err: errors.New("NOPERM")}}
		},
		"warning topic-unserved topic mail": beats(queue.Heartbeat{Topics: []string{"other"}}),
		"warning sidecar-config topic mail": beats(
			queue.Heartbeat{Host: "web1", Topics: mail, Settings: sums("0000")}, queue.Heartbeat{Host: "web2", Topics: mail, Settings: sums("0001")}),
		"fault jobs-lost topic mail":            beats(queue.Heartbeat{Topics: mail, Incidents: []queue.Incident{{Kind: queue.IncidentLost, Topic: "mail", Count: 3, Of: 4}}}),
		"warning key-unit topic mail":           beats(queue.Heartbeat{Topics: mail, Incidents: []queue.Incident{{Kind: queue.IncidentUnit, Topic: "mail", Detail: "s"}}}),
		"warning text-unreadable topic mail":    beats(queue.Heartbeat{Topics: mail, Incidents: []queue.Incident{{Kind: queue.IncidentUnreadable, Topic: "mail", Count: 1}}}),
		"warning sidecar-silent sidecar web1":   beats(queue.Heartbeat{Host: "web1", Topics: mail}, queue.Heartbeat{Host: "web1", At: ago(2 * time.Minute), Topics: mail}),
		"warning sidecar-idle sidecar web1":     beats(queue.Heartbeat{Host: "web1", Topics: mail, Reasons: []string{"fpm is down"}}),
		"warning reload-refused sidecar web1":   beats(queue.Heartbeat{Host: "web1", Topics: mail, ReloadErr: "sidecar.toml:3: unknown key"}),
		"warning topic-breaker topic mail":      beats(queue.Heartbeat{Topics: mail, Holds: []queue.HeldTopic{{Topic: "mail", Hold: queue.Hold{Kind: queue.HoldBreaker}}}}),
		"note topic-rate topic mail":            beats(queue.Heartbeat{Topics: mail, Holds: []queue.HeldTopic{{Topic: "mail", Hold: queue.Hold{Kind: queue.HoldRate}}}}),
		"warning sidecar-unread sidecar web1-7": beats(queue.Heartbeat{Instance: "web1-7", Unread: true}),
		"note sidecar-unread sidecar web1-7":    beats(queue.Heartbeat{Instance: "web1-7", Unread: true, At: ago(time.Hour)}, queue.Heartbeat{Topics: mail}),
		"note sidecar-versions redis":           beats(queue.Heartbeat{Version: "1", Topics: mail}, queue.Heartbeat{Version: "2", Topics: mail}),
		"fault sidecar-none redis": func(f *doctor.Facts) {
			f.Redis.Sidecars, f.Redis.Topics[0].Depths.Ready = []queue.Heartbeat{{Stopped: true}}, 1
		},

		"fault fpm-allowed-clients fpm default": pool(func(p *doctor.Pool) { p.Conf["listen.allowed_clients"] = "10.0.0.1, 10.0.0.2" }),
		"note fpm-children-all fpm default": pool(func(p *doctor.Pool) {
			p.Conf["pm.max_children"], p.Survey.Page.Children = "3", []fastcgi.Served{{Script: "/srv/index.php"}}
		}),
		"note fpm-spawn fpm default":            pool(func(p *doctor.Pool) { p.Conf["pm"], p.Conf["pm.max_spare_servers"] = "dynamic", "2" }),
		"warning fpm-queue fpm default":         page(func(p *fastcgi.StatusPage) { p.Queue = 2 }),
		"warning fpm-limit-reached fpm default": page(func(p *fastcgi.StatusPage) { p.Mode, p.Reached = "dynamic", 1 }),
		"note fpm-slow fpm default":             page(func(p *fastcgi.StatusPage) { p.Slow = 1 }),
		"note fpm-web fpm default":              page(func(p *fastcgi.StatusPage) { p.Children = []fastcgi.Served{{Script: "/srv/index.php"}} }),
		"note fpm-unread fpm default":           pool(func(p *doctor.Pool) { p.Conf, p.Global, p.ConfErr = nil, nil, errors.New("permission denied") }),
		"warning fpm-busy fpm default":          pool(func(p *doctor.Pool) { p.PHP, p.PHPErr = nil, errors.New("no child was free to answer within 10s") }),
		"note php-unasked fpm default":          pool(func(p *doctor.Pool) { p.PHP, p.PHPErr = nil, errors.New("the answer has 5000000 bytes") }),
		"fault php-broken fpm default": pool(func(p *doctor.Pool) {
			p.PHP, p.PHPErr = nil, errors.New("php-fpm answered 500 and did not run the script: PHP Fatal error:  Uncaught Error: Call to undefined function json_decode()")
		}),
		"note bridge-dir-user fpm default": pool(func(p *doctor.Pool) {
			p.PHP, p.PlaceErr = nil, errors.New("/run/sidecar belongs to uid 33 and this is uid 0")
		}),
		"fault fpm-terminate fpm default":        pool(func(p *doctor.Pool) { p.Conf["request_terminate_timeout"] = "1m" }),
		"fault php-version fpm default":          pool(func(p *doctor.Pool) { p.PHP.Version = "7.1.33" }),
		"note script-unparsed topic mail":        pool(func(p *doctor.Pool) { p.PHP.Files[0].Unparsed = true }),
		"note php-time-limit topic mail":         pool(func(p *doctor.Pool) { p.Topics = slices.Clone(p.Topics); p.Topics[0].FPM.Bridge = false }),
		"warning php-clock fpm default":          pool(func(p *doctor.Pool) { p.PHP.Time += 3600 }),
		"note opcache-late fpm default":          php("opcache.revalidate_freq", "60"),
		"note opcache-file-cache fpm default":    php("opcache.file_cache", "/var/cache/php"),
		"warning opcache-full fpm default":       pool(func(p *doctor.Pool) { p.PHP.Opcache = &doctor.Opcache{Used: 97, Free: 3} }),
		"warning php-display-errors fpm default": php("display_errors", "stdout"),
		"note service-rights fpm default":        func(f *doctor.Facts) { f.Host.Service = &doctor.Service{UID: 34, User: "backup"}; f.Pools[0].UID = 33 },
		"warning spool-waiting spool web":        func(f *doctor.Facts) { f.Spools = []doctor.Spool{{Name: "web", Manual: true, Rows: 3}} },
		"note service-user host": func(f *doctor.Facts) {
			f.Host.UID, f.Pools[0].UID, f.Host.Service = 1000, 33, &doctor.Service{UID: 33, User: "www-data"}
		},
		"fault service-unknown host": func(f *doctor.Facts) { f.Host.Service = &doctor.Service{UID: -1, User: "nobody-at-all"} },
		"fault key-unit topic mail": func(f *doctor.Facts) {
			f.Redis.Topics[0].Looks = []queue.KeyLook{{Role: "pool", Type: "zset", Want: "zset", Seen: 1, Scores: []string{"1767268800000000"}}}
		},
		"warning runs-cut-short topic mail": func(f *doctor.Facts) {
			f.Redis.CutShort = map[string]doctor.CutShort{"mail": {Crashed: 2, TimedOut: 1}}
		},
		"note runs-cut-short topic mail":  func(f *doctor.Facts) { f.Redis.CutShort = map[string]doctor.CutShort{"mail": {Crashed: 1}} },
		"warning redis-rdb-only redis 10": info("aof_enabled", "0"),
		"warning redis-slow-ours redis 10.0.0.1": func(f *doctor.Facts) {
			f.Redis.Topics[0].Looks = []queue.KeyLook{{Key: "delay:pool:mail", Type: "none"}}
			f.Redis.Servers[0].Slow = []doctor.SlowCommand{{Name: "EVALSHA", Keys: []string{"delay:pool:mail"}, Took: time.Second}}
		},
	}
}

func TestGoodFactsLeaveNothingToSay(t *testing.T) {
	for _, f := range doctor.Judge(*goodFacts(t)) {
		t.Errorf("%s %s %s: %s", f.Level, f.ID, f.Where, f.Found)
	}
}

// What looks like a fault and is none, or is told by another finding alone.
func TestASettingThatIsGoodInAnotherWayIsNoFault(t *testing.T) {
	night, err := queue.ParseWindow("00:00-23:00")
	if err != nil {
		t.Fatal(err)
	}
	late := func(f *doctor.Facts) { f.Redis.Topics[0].Depths.OldestDueAge = time.Hour }
	for name, change := range map[string]func(*doctor.Facts){
		"a cache beside the queues is full": func(f *doctor.Facts) {
			f.Redis.Servers[0].Info["maxmemory_policy"], f.Redis.Servers[0].Info["used_memory"] = "volatile-lru", "990"
		},
		"systemd makes the user": func(f *doctor.Facts) { f.Host.Service = &doctor.Service{User: "sidecar", UID: -1, Dynamic: true} },
		"users are in a directory service": func(f *doctor.Facts) {
			f.Host.NamesElsewhere, f.Host.Service = true, &doctor.Service{User: "sidecar", UID: -1}
		},
		"the environment has the value": func(f *doctor.Facts) { f.Pools[0].Global["process_control_timeout"] = "${FPM_CONTROL}" },
		"a pause window is on":          func(f *doctor.Facts) { late(f); f.Redis.Topics[0].Topic.Queue.PauseWindows = []queue.Window{night} },
		"a pool is being looked at after a start": func(f *doctor.Facts) {
			f.Redis.Sidecars = []queue.Heartbeat{{At: f.Redis.Now, Topics: []string{"mail"}, Reasons: []string{queue.PoolReason("default", fastcgi.ErrNotSeen)}}}
		},
		"a topic is paused": func(f *doctor.Facts) {
			late(f)
			f.Redis.Pauses = map[string]queue.Pause{"mail": {At: f.Redis.Now, By: "me"}}
		},
	} {
		facts := goodFacts(t)
		change(facts)
		for _, found := range doctor.Judge(*facts) {
			if found.ID != "topic-paused" {
				t.Errorf("%s: %s %s: %s", name, found.Level, found.ID, found.Found)
			}
		}
	}
}

// With no replica it would keep the master from taking any job.
func TestAMasterWithoutReplicasIsNotToldToWaitForThem(t *testing.T) {
	facts := goodFacts(t)
	with := *facts.Config
	with.Redis.Cluster = true
	facts.Config = &with
	facts.Redis.Servers[0].Config["min-replicas-to-write"] = "0"
	for _, f := range doctor.Judge(*facts) {
		if strings.Contains(f.Do, "min-replicas-to-write") {
			t.Errorf("%s: %s", f.Found, f.Do)
		}
	}
}

func TestACommandToCopyIsForTheRightServerAndDatabaseAndOneWordAKey(t *testing.T) {
	facts := goodFacts(t)
	with := *facts.Config
	with.Redis.URL = "rediss://:secret@10.0.0.1:7711/3"
	facts.Config = &with
	facts.Redis.Topics[0].Looks = []queue.KeyLook{{Key: "my app;delay:ready:mail", Role: "ready", Type: "list", Want: "list", TTL: time.Hour}}
	found := doctor.Judge(*facts)
	if want := "redis-cli -h 10.0.0.1 -p 7711 --tls -n 3 PERSIST 'my app;delay:ready:mail',"; len(found) != 1 || !strings.HasPrefix(found[0].Do, want) {
		t.Errorf("got %+v, want %q", found, want)
	}
}

func TestOneFactThatIsWrongIsOneFinding(t *testing.T) {
	for want, change := range byFacts() {
		facts := goodFacts(t)
		change(facts)
		found := doctor.Judge(*facts)
		got := make([]string, len(found))
		for i, f := range found {
			got[i] = fmt.Sprintf("%s %s %s", f.Level, f.ID, f.Where)
		}
		also := strings.Contains(want, "fpm-children-all") // what it follows from is one as well
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) || len(got) > 1 && !also {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Who asks about one topic is not told of others.
func TestWhatASidecarSaysOfOtherTopicsIsNoFinding(t *testing.T) {
	facts := goodFacts(t)
	facts.Redis.Sidecars = []queue.Heartbeat{{
		At: facts.Redis.Now, Topics: []string{"mail", "other"}, Reasons: []string{`topic "other": no script`, `fpm pool "other": down`},
		Holds: []queue.HeldTopic{{Topic: "other", Hold: queue.Hold{Kind: queue.HoldBreaker}}},
	}}
	for _, f := range doctor.Judge(*facts) {
		t.Errorf("%s %s %s: %s", f.Level, f.ID, f.Where, f.Found)
	}
	facts.Redis.Sidecars[0].Reasons = append(facts.Redis.Sidecars[0].Reasons, `topic "mail": no script`)
	if found := doctor.Judge(*facts); len(found) != 1 || found[0].Found != `topic "mail": no script` {
		t.Errorf("got %+v", found)
	}
}

func TestASocketWithoutRightsIsNoReasonToStartPHPFPM(t *testing.T) {
	facts := goodFacts(t)
	facts.Pools[0].Survey.Err = fmt.Errorf("dial unix: %w", fs.ErrPermission)
	if found := doctor.Judge(*facts); len(found) != 1 || found[0].ID != "fpm-down" || !strings.Contains(found[0].Do, "listen.owner") {
		t.Errorf("got %+v", found)
	}
}

func TestEveryFindingIsProvokedByATest(t *testing.T) {
	var ids []string
	for want := range byFacts() {
		ids = append(ids, strings.Fields(want)[1])
	}
	for _, k := range doctor.Catalogue() {
		if !slices.Contains(ids, k.ID) && !slices.Contains(planted, k.ID) {
			t.Errorf("%s: no test provokes it", k.ID)
		}
	}
}

// Where all workers are busy, nothing else keeps the topic.
func TestJobsThatAreLateForWantOfWorkersAreToldSo(t *testing.T) {
	f := goodFacts(t)
	f.Redis.Topics[0].Depths = queue.Depths{OldestDueAge: time.Hour, Ready: 100, Running: int64(f.Redis.Topics[0].Topic.Queue.Workers)}
	f.Redis.Sidecars = []queue.Heartbeat{{At: f.Redis.Now, Topics: []string{"mail"}}}
	held := []queue.HeldTopic{{Topic: "mail", Hold: queue.Hold{Kind: queue.HoldRate}}}
	all := f.Redis.Topics[0].Depths.Running
	for _, tt := range []struct {
		busy    bool
		running int64
		held    []queue.HeldTopic
		reasons []string
	}{
		{true, all, nil, nil},
		{true, all, nil, []string{queue.TopicReason("other", errors.New("no such file"))}},
		{false, all - 1, nil, nil},
		{false, all, held, nil},
		{false, all, nil, []string{queue.TopicReason("mail", errors.New("no such file"))}}, // its worker has none to run
	} {
		f.Redis.Topics[0].Depths.Running, f.Redis.Sidecars[0].Holds, f.Redis.Sidecars[0].Reasons = tt.running, tt.held, tt.reasons
		busy, found := tt.busy, ""
		for _, finding := range doctor.Judge(*f) {
			if finding.ID == "jobs-late" {
				found = finding.Found + " " + finding.Do
			}
		}
		if strings.Contains(found, "all workers are busy") != busy || strings.Contains(found, "raise workers of the topic") != busy {
			t.Errorf("busy %t: %q", busy, found)
		}
	}
}

// What is a fault by what else is known: whether jobs stand still.
func TestAJobThatNobodyWillRunIsAFault(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*doctor.Facts)
		want   string
	}{
		"late, and a sidecar lives": {func(f *doctor.Facts) {
			f.Redis.Topics[0].Depths.OldestDueAge = time.Hour
			f.Redis.Sidecars = []queue.Heartbeat{{At: f.Redis.Now, Topics: []string{"mail"}}}
		}, "warning jobs-late"},
		"late, and none does": {func(f *doctor.Facts) { f.Redis.Topics[0].Depths.OldestDueAge = time.Hour }, "fault jobs-late"},
		"late, and who lives is not known": {func(f *doctor.Facts) {
			f.Redis.Topics[0].Depths.OldestDueAge, f.Redis.DeafErr = time.Hour, errors.New("NOPERM")
		}, "warning jobs-late"},
		"due, and those that live have not the topic": {func(f *doctor.Facts) {
			f.Redis.Topics[0].Depths.Due = 1
			f.Redis.Sidecars = []queue.Heartbeat{{At: f.Redis.Now, Topics: []string{"other"}}}
		}, "fault topic-unserved"},
	} {
		facts := goodFacts(t)
		tt.change(facts)
		found := doctor.Judge(*facts)
		if len(found) != 1 || fmt.Sprint(found[0].Level, " ", found[0].ID) != tt.want {
			t.Errorf("%s: got %+v, want %s", name, found, tt.want)
		}
	}
}

func TestADeployUnderWayAndOtherVersionsAreNotCompared(t *testing.T) {
	facts := goodFacts(t)
	beat := func(version, sum string, stopping bool) queue.Heartbeat {
		return queue.Heartbeat{At: facts.Redis.Now, Version: version, Topics: []string{"mail"}, Stopping: stopping, Settings: map[string]string{"mail": sum + strings.Repeat("0", 36)}}
	}
	facts.Redis.Sidecars = []queue.Heartbeat{beat("1", "0000", false), beat("2", "1111", false), beat("1", "2222", true)}
	for _, f := range doctor.Judge(*facts) {
		if f.ID != "sidecar-versions" {
			t.Errorf("%s: %s", f.ID, f.Found)
		}
	}
	facts.Redis.Sidecars = []queue.Heartbeat{beat("1", "0000", false), beat("1", "1111", false)}
	found := doctor.Judge(*facts)
	if len(found) != 1 || !strings.Contains(found[0].Found, " differ in call, script, bootstrap, mode, bridge or route") {
		t.Errorf("got %+v", found)
	}
}

func TestWhatAFullRedisDoesIsSaidByItsPolicy(t *testing.T) {
	facts := goodFacts(t)
	facts.Redis.Servers[0].Info["used_memory"] = "990"
	found := doctor.Judge(*facts)
	if len(found) != 1 || !strings.Contains(found[0].Why, "refuses") || !strings.Contains(found[0].Do, "--bigkeys") || !strings.Contains(found[0].Found, " MB of ") {
		t.Errorf("got %+v", found)
	}
	facts.Redis.Servers[0].Info["maxmemory_policy"] = "allkeys-lru"
	if found := doctor.Judge(*facts); len(found) != 1 || !strings.Contains(found[0].Why, "throws keys away") {
		t.Errorf("got %+v", found)
	}
	facts = goodFacts(t)
	facts.Redis.Unasked = []doctor.Unasked{{Where: "redis", Command: "SCAN", Err: fmt.Errorf("scan: %w", queue.ErrTooManyKeys)}}
	if found := doctor.Judge(*facts); len(found) != 1 || strings.Contains(found[0].Do, "grant") {
		t.Errorf("got %+v", found)
	}
}

func TestTheWeightiestComesFirst(t *testing.T) {
	facts := goodFacts(t)
	facts.Redis.Servers[0].Info["maxmemory"] = "0"
	facts.Redis.Servers[0].Info["aof_last_write_status"] = "err"
	facts.Pools[0].PHP.Ini["display_errors"] = new("1")
	found := doctor.Judge(*facts)
	if len(found) != 3 || found[0].Level != doctor.Fault || found[1].Level != doctor.Warning || found[2].Level != doctor.Note {
		t.Errorf("got %+v", found)
	}
	if doctor.Count(found, doctor.Fault) != 1 {
		t.Errorf("got %d faults", doctor.Count(found, doctor.Fault))
	}
}

func TestJobsThatAreLostAreToldWithHow(t *testing.T) {
	for detail, want := range map[string]string{"": "came back from a restart without 3 of its 4 jobs", queue.Emptied: "was emptied (FLUSHALL, FLUSHDB, older data in its place) and lost 3 of its 4 jobs"} {
		facts := goodFacts(t)
		facts.Redis.Sidecars = []queue.Heartbeat{{
			At: facts.Redis.Now, Topics: []string{"mail"}, Incidents: []queue.Incident{{Kind: queue.IncidentLost, Topic: "mail", Detail: detail, Count: 3, Of: 4}},
		}}
		if found := doctor.Judge(*facts); len(found) != 1 || !strings.Contains(found[0].Found, want) {
			t.Errorf("%q: %+v, want %q", detail, found, want)
		}
	}
}

func TestAnotherUnitIsMendedByTheRightCommand(t *testing.T) {
	for _, test := range []struct {
		unit        queue.ScoreUnit
		score, want string
	}{
		{queue.Milliseconds, "1767268800000000", "microseconds are no score_unit; sidecar requeue mail --scores-in us --limit 0"},
		{queue.Seconds, "1767268800000", `score_unit = "ms", if all producers write so, else mend them; sidecar requeue mail --scores-in ms --limit 0`},
		{queue.Milliseconds, "1767268800", `score_unit = "s", if all producers write so`}, // they wait no more
	} {
		f := goodFacts(t)
		f.Redis.Topics[0].Topic.Queue.ScoreUnit = test.unit
		f.Redis.Topics[0].Looks = []queue.KeyLook{{Role: "pool", Type: "zset", Want: "zset", Seen: 1, Scores: []string{test.score}}}
		found := doctor.Judge(*f)
		if len(found) != 1 || !strings.Contains(found[0].Do, test.want) || strings.Contains(found[0].Do, "requeue") != strings.Contains(test.want, "requeue") {
			t.Errorf("%s in %s: got %+v, want %q", test.score, test.unit, found, test.want)
		}
	}
}
