package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"sidecar/fastcgi"
	"sidecar/internal/alert"
	"sidecar/internal/config"
	"sidecar/internal/doctor"
	"sidecar/internal/testenv"
	phpclient "sidecar/php-client"
)

func TestAGoodSettingLeavesNothingToSay(t *testing.T) {
	t.Parallel()
	s := newSetting(t, testenv.Redis(t, goodRedis...), goodFPM())
	rdb := s.redis.Client()
	now := millis(t, rdb)
	rdb.Do(t.Context(), "ZADD", "delay:pool:mail", now+60000, `{"uuid":"1","n":1}`)
	rdb.Do(t.Context(), "RPUSH", "delay:ready:mail", `{"uuid":"2","n":1}`)
	rdb.Do(t.Context(), "LPUSH", "queue:prod:sms", `{"job_id":"3","type":"sms","payload":{}}`)
	cfg := s.config("", "", "children = 3\nstatus = \"/status\"", fmt.Sprintf(
		"[topic.mail]\nscript = %q\n[list.sms]\nkey = \"queue:prod:sms\"\ndead = \"queue:prod:dead\"\nscript = %q",
		s.fpm.Handler("ok"), s.fpm.Handler("ok")))
	for _, f := range s.examine(cfg) {
		t.Errorf("%s %s %s: %s", f.Level, f.Where, f.ID, f.Found)
	}
}

// planted are the findings that the test below provokes in real servers.
var planted = []string{
	"redis-down", "redis-role", "redis-eviction", "redis-evicted", "redis-memory-full", "redis-memory-unbounded", "redis-persistence", "redis-rdb-only",
	"redis-fsync", "redis-save-failed", "redis-failover", "redis-slow-ours", "redis-slow-others", "redis-maxclients", "redis-timeout",
	"redis-keepalive", "redis-overcommit", "redis-unasked", "redis-consumers",
	"key-rights", "key-type", "key-ttl", "key-prefix", "key-database", "key-unit", "text-encoded", "text-unreadable", "claims-overdue",
	"jobs-late", "dead-growing", "shards-left", "topic-paused", "topic-unconfigured", "alert-target",
	"fpm-down", "fpm-socket-user", "fpm-children", "fpm-workers", "fpm-terminate", "fpm-reload", "fpm-spawn", "fpm-status", "fpm-status-refused", "fpm-web",
	"bridge-dir", "bridge-unreadable", "bridge-old", "bridge-beside",
	"script-missing", "script-unreadable", "script-outside", "script-syntax", "php-display-errors", "php-functions", "php-posix",
	"php-memory-unlimited", "php-memory-worker", "php-timezone", "opcache-off", "opcache-deploy", "spool-unreachable",
	"config-doubtful", "lease-long", "lease-short", "grace-service", "pid-file", "undo-dir", "host-files",
}

// seen gathers what was found in all settings.
type seen struct {
	mu  sync.Mutex
	ids map[string]bool
}

// want fails the test for findings that are missing, each as "id where", and notes those that are there.
func (s *seen) want(t *testing.T, found []doctor.Finding, want ...string) {
	t.Helper()
	var got []string
	for _, f := range found {
		got = append(got, f.ID+" "+f.Where)
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
			t.Errorf("want %q among the findings", w)
		}
		id, _, _ := strings.Cut(w, " ")
		s.mu.Lock()
		s.ids[id] = true
		s.mu.Unlock()
	}
	if t.Failed() {
		for _, f := range found {
			t.Logf("%s %s %s: %s", f.Level, f.Where, f.ID, f.Found)
		}
	}
}

func TestEveryPlantedFaultIsFound(t *testing.T) {
	t.Parallel()
	s := &seen{ids: map[string]bool{}}
	t.Run("settings", func(t *testing.T) {
		for name, plant := range map[string]func(*testing.T, *seen){
			"redis and keys": plantInRedis, "replicas": plantReplicas, "pool": plantInPool, "PHP": plantInPHP, "bridge": plantInBridge,
			"nothing is there": plantNothing,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				plant(t, s)
			})
		}
	})
	for _, id := range planted {
		if !s.ids[id] {
			t.Errorf("%s is listed as planted and was not", id)
		}
	}
	for id := range s.ids {
		if !slices.Contains(planted, id) {
			t.Errorf("%s was planted and is not listed", id)
		}
	}
}

// do runs commands, one a line, words apart by a blank.
func do(t *testing.T, rdb *redis.Client, lines ...string) {
	t.Helper()
	for _, line := range lines {
		var args []any
		for word := range strings.FieldsSeq(line) {
			args = append(args, word)
		}
		if err := rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func plantInRedis(t *testing.T, s *seen) {
	set := newSetting(t, testenv.Redis(t, "dbfilename d"), goodFPM())
	rdb := set.redis.Client()
	set.host("proc/sys/vm/overcommit_memory", "0\n")

	// Evicted keys first, that the queues are not among them.
	do(t, rdb, "CONFIG SET maxmemory-policy allkeys-lru", fmt.Sprintf("CONFIG SET maxmemory %d", set.redis.Used(t.Context())+1<<20))
	for i := range 40 {
		rdb.Set(t.Context(), fmt.Sprint("filler", i), strings.Repeat("x", 64<<10), 0)
	}
	do(t, rdb, "CONFIG SET maxmemory 100mb")
	if err := os.Mkdir(filepath.Join(set.redis.Dir, "d"), 0o755); err != nil { // in the way of the snapshot
		t.Fatal(err)
	}
	do(t, rdb, "BGSAVE")
	plantKeys(t, rdb)
	busy := "local t = redis.call('TIME') repeat local n = redis.call('TIME') until (n[1]-t[1])*1000000+n[2]-t[2] > 20000"
	for _, keys := range [][]string{{"delay:pool:mail"}, nil} {
		if err := rdb.Eval(t.Context(), busy, keys).Err(); err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
	}
	do(t, rdb, "CONFIG SET timeout 60", "CONFIG SET tcp-keepalive 0")
	waiters := redis.NewClient(&redis.Options{Network: "unix", Addr: set.redis.Socket, PoolSize: 12})
	defer waiters.Close()
	for range 12 {
		go waiters.BLPop(t.Context(), 0, "queue:prod:none") // ends with its connection
	}
	testenv.Poll(t, 10*time.Second, "the consumers to wait", func() bool {
		info := rdb.InfoMap(t.Context(), "clients").Val()
		return info["Clients"]["blocked_clients"] == "12"
	})
	testenv.Poll(t, 10*time.Second, "the snapshot to fail", func() bool {
		return strings.Contains(rdb.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err")
	})
	do(t, rdb, "CONFIG SET maxclients 19")
	rdb.ConfigSet(t.Context(), "save", "3600 1")
	cfg := set.config("", "", "children = 3\nstatus = \"/status\"", topics(set.fpm.Handler("ok"), "mail", "sick", "laravel", "elsewhere", "old")+
		fmt.Sprintf("[list.sms]\nkey = \"queue:prod:sms\"\nshards = 2\ndead = \"queue:prod:dead\"\nscript = %q\n", set.fpm.Handler("ok")))
	before := scans(t, rdb)
	found := set.examine(cfg)
	if n := scans(t, rdb) - before; n != 1 {
		t.Errorf("%d SCANs for three things to look for, want one walk through the keys", n)
	}
	s.want(t, found, "redis-eviction", "redis-evicted", "redis-rdb-only", "redis-save-failed", "redis-slow-ours", "redis-slow-others",
		"redis-timeout", "redis-keepalive", "redis-maxclients", "redis-consumers", "redis-overcommit",
		"key-type topic mail", "key-ttl topic mail", "key-unit topic mail", "text-encoded topic mail", "text-unreadable topic mail",
		"claims-overdue topic mail", "jobs-late topic old", "dead-growing topic sick", "key-prefix topic laravel", "key-database topic elsewhere",
		"key-prefix topic sick", "key-database topic old",
		"topic-unconfigured topic stranger", "topic-paused topic sick", "shards-left topic sms")

	rdb.ConfigSet(t.Context(), "save", "")
	told := *cfg
	told.Alert.Targets = []alert.Target{{Name: "ops"}, {Name: "well"}}
	do(t, set.redis.Client(), `HSET sidecar:alert:targets ops {"failures":3,"error":"refused"} well {"failures":1}`)
	s.want(t, set.examine(&told, "sick"), "alert-target alert target ops")
	do(t, rdb, "CONFIG SET maxclients 1000", fmt.Sprintf("CONFIG SET maxmemory %d", set.redis.Used(t.Context())*100/85),
		"ACL SETUSER few on >few ~* +@all -zadd -config -slowlog -client")
	few := set.config("", "username = \"few\"", "children = 3\nstatus = \"/status\"", topics(set.fpm.Handler("ok"), "sick"))
	few.Redis.Password = "few"
	s.want(t, set.examine(few), "redis-memory-full", "key-rights topic sick", "redis-unasked")
	s.want(t, set.examine(cfg, "sick"), "redis-persistence")
	do(t, rdb, "ACL SETUSER few -eval")
	do(t, set.redis.Client(), "SET sidecar:paused x") // rdb may be in another database by now
	s.want(t, set.examine(few), "key-rights redis")
	s.want(t, set.examine(cfg, "sick"), "key-type redis")
}

// topics are tables of topics that run script.
func topics(script string, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "[topic.%s]\nscript = %q\n", name, script)
	}
	return b.String()
}

// scans is how often Redis was asked for names of keys.
func scans(t *testing.T, rdb *redis.Client) (n int) {
	t.Helper()
	_, calls, _ := strings.Cut(rdb.Info(t.Context(), "commandstats").Val(), "cmdstat_scan:calls=")
	calls, _, _ = strings.Cut(calls, ",")
	n, _ = strconv.Atoi(calls)
	return n
}

// millis is Redis's time.
func millis(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	return rdb.Time(t.Context()).Val().UnixMilli() //nolint:forbidigo // it is Redis's
}

// plantKeys writes keys that something is wrong with.
func plantKeys(t *testing.T, rdb *redis.Client) {
	t.Helper()
	now := millis(t, rdb)
	job := `{"uuid":"1"}`
	do(t, rdb,
		fmt.Sprintf("ZADD delay:pool:mail %d %s", now/1000+60, job),
		fmt.Sprintf("ZADD delay:running:mail %d %s", now-300000, `{"uuid":"2"}`),
		`RPUSH delay:ready:mail s:12:"{"uuid":"1"}"; no-job {"uuid":"3"}`,
		"EXPIRE delay:ready:mail 1000",
		"SET delay:dead:mail oops",
		fmt.Sprintf("ZADD laravel_delay:pool:laravel %d %s", now, job),
		fmt.Sprintf("ZADD laravel_delay:pool:sick %d %s", now, job),
		fmt.Sprintf("ZADD delay:pool:stranger %d %s", now, job),
		fmt.Sprintf("ZADD delay:pool:old %d %s", now-1200000, job),
		"LPUSH queue:prod:sms_5 "+`{"job_id":"1","type":"sms"}`,
	)
	for i := range 12 {
		rdb.RPush(t.Context(), "delay:dead:sick", fmt.Sprintf(`{"job":{"uuid":"%d"},"error":"x","trace":"","at":%q}`, i, time.UnixMilli(now).UTC().Format(time.DateTime)))
	}
	elsewhere := rdb.Conn()
	defer elsewhere.Close()
	elsewhere.Select(t.Context(), 3)
	elsewhere.ZAdd(t.Context(), "delay:pool:elsewhere", redis.Z{Score: 1, Member: job})
	elsewhere.ZAdd(t.Context(), "delay:pool:old", redis.Z{Score: 1, Member: job})
	rdb.HSet(t.Context(), "sidecar:paused", "sick", `{"at":"2026-01-01T00:00:00Z","by":"cli me"}`)
}

func plantReplicas(t *testing.T, s *seen) {
	master := testenv.Redis(t, "appendonly yes", "appendfsync no", "repl-diskless-sync-delay 0")
	host, port, _ := strings.Cut(master.Addr, ":")
	replica := testenv.Redis(t, "replicaof "+host+" "+port)
	set := newSetting(t, master, goodFPM())
	replica.AwaitReplication()
	s.want(t, set.examine(set.config("", "", "", topics(set.fpm.Handler("ok"), "mail"))), "redis-failover", "redis-fsync", "redis-memory-unbounded", "fpm-status fpm")
	set.redis = replica
	s.want(t, set.examine(set.config("", "", "", topics(set.fpm.Handler("ok"), "mail"))), "redis-role")
}

func plantInPool(t *testing.T, s *seen) {
	set := newSetting(t, testenv.Redis(t, goodRedis...), testenv.FPMOptions{
		PM: "ondemand", Status: true, RequestTerminateTimeout: 5 * time.Second, Opcache: true, Pool: []string{"listen.mode = 0600"},
	})
	set.host("etc/systemd/system/sidecar.service", "[Service]\nUser=daemon\nTimeoutStopSec=10\n")
	set.host("etc/systemd/system/sidecar.service.d/limits.conf", "[Service]\nLimitNOFILE=64\n")
	pid := filepath.Join(set.root, "sidecar.pid")
	set.host("sidecar.pid", "999999999\n")
	ok := set.fpm.Handler("ok")
	cfg := set.config(fmt.Sprintf("pid_file = %q", pid), "", "children = 8\nstatus = \"/elsewhere\"",
		fmt.Sprintf("[topic.mail]\nscript = %q\nworkers = 9\nlease = \"10m\"\n[topic.stay]\nscript = %q\nmode = \"worker\"\nmin_workers = 8\nlease = \"3s\"\nmemory_limit = \"64M\"\nmax_memory = \"96MB\"\n", ok, ok)+
			"[spool.web]\ndsn = \"sqlite:/nowhere/spool.sqlite\"\n")
	cfg.Admin = config.Admin{Listen: "127.0.0.1:0", Write: true, UndoDir: filepath.Join(pid, "undo")}
	s.want(t, set.examine(cfg), "fpm-children", "fpm-spawn", "fpm-terminate", "fpm-reload", "fpm-status-refused", "fpm-socket-user", "fpm-workers",
		"grace-service", "host-files", "pid-file", "undo-dir", "config-doubtful", "lease-long topic mail", "lease-short topic stay", "php-memory-worker topic stay",
		"spool-unreachable spool web")
	mended := cfg.FPM["default"]
	mended.Status = "/status"
	cfg.FPM["default"] = mended
	runWebScript(t, set, mended)
	s.want(t, set.examine(cfg), "fpm-web")
}

// runWebScript has the pool run a script that is no job, and returns while it runs.
func runWebScript(t *testing.T, set *setting, opts fastcgi.PoolOptions) {
	t.Helper()
	pool := fastcgi.NewPool(opts, slog.New(slog.DiscardHandler), fastcgi.NewMetrics(prometheus.NewRegistry(), []string{opts.Name}, nil))
	begun := filepath.Join(set.fpm.Shared(), "begun")
	web := pool.NewAide("index", "WEB", fmt.Appendf(nil, "<?php touch(%q); sleep(60);", begun))
	if _, err := web.Place(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = web.AskAtOnce(ctx, "", 100) }) // it ends with PHP-FPM
	t.Cleanup(wg.Wait)
	t.Cleanup(cancel)
	testenv.Poll(t, 10*time.Second, "the script to begin", func() bool {
		_, err := os.Stat(begun)
		return err == nil
	})
}

func plantInPHP(t *testing.T, s *seen) {
	opts := goodFPM()
	opts.DisplayErrors = true
	opts.Ini = []string{
		"extension = tokenizer", "date.timezone = Asia/Shanghai", "memory_limit = -1", "disable_functions = posix_kill,flush",
		"opcache.validate_timestamps = 0",
	}
	set := newSetting(t, testenv.Redis(t, goodRedis...), opts)
	set.host("usr/lib/systemd/system/sidecar.service", "[Service]\nUser=daemon\n")
	closed := set.fpm.Script("closed.php", "<?php")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	tables := topics(set.fpm.Script("bad.php", "<?php if ("), "bad") + topics(closed, "closed") + topics(filepath.Join(set.fpm.Dir, "none.php"), "none")
	s.want(t, set.examine(set.config("", "", "children = 3\nstatus = \"/status\"", tables)),
		"script-syntax topic bad", "script-unreadable topic closed", "script-missing topic none", "php-display-errors", "php-functions", "php-posix",
		"php-memory-unlimited", "php-timezone", "opcache-deploy")
}

func plantInBridge(t *testing.T, s *seen) {
	opts := goodFPM()
	opts.Opcache, opts.TCP = false, true
	dir, err := os.MkdirTemp("", "doctor") // t.TempDir is closed to the pool's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.MkdirAll(filepath.Join(dir, "deployed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the pool's user looks into it
		t.Fatal(err)
	}
	opts.OpenBasedir = dir
	set := newSetting(t, testenv.Redis(t, goodRedis...), opts)
	cfg := set.config("", "", "children = 3\nstatus = \"/status\"", topics(set.fpm.Handler("ok"), "mail"))
	own := cfg.FPM["default"]
	own.BridgeDir = filepath.Join(dir, "bridge")
	cfg.FPM["default"] = own
	s.want(t, set.examine(cfg), "script-outside topic mail", "opcache-off")
	for _, f := range set.examine(cfg) {
		if f.ID == "fpm-unread" {
			t.Errorf("by TCP, too, the pool's file is found: %s", f.Found)
		}
	}

	at := func(change func(*fastcgi.PoolOptions)) []doctor.Finding {
		pool := cfg.FPM["default"]
		change(&pool)
		cfg.FPM["default"] = pool
		return set.examine(cfg)
	}
	deployed := filepath.Join(dir, "deployed", "bridge.php")
	deploy(t, deployed, "<?php // of another version")
	s.want(t, at(func(o *fastcgi.PoolOptions) { o.BridgePath = deployed }), "bridge-beside")
	deploy(t, filepath.Join(dir, "deployed", "doctor.php"), string(phpclient.Doctor))
	s.want(t, at(func(*fastcgi.PoolOptions) {}), "bridge-old")

	hidden := filepath.Join(t.TempDir(), "bridge") // open_basedir is elsewhere
	s.want(t, at(func(o *fastcgi.PoolOptions) { o.BridgePath, o.BridgeDir = "", hidden }), "bridge-unreadable")
	if err := os.Chmod(hidden, 0o777); err != nil { //nolint:gosec // the fault
		t.Fatal(err)
	}
	if err := os.Remove(onlyFile(t, hidden)); err != nil {
		t.Fatal(err)
	}
	s.want(t, at(func(*fastcgi.PoolOptions) {}), "bridge-dir")
}

func deploy(t *testing.T, path, code string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
}

func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("want one file in %s, got %v, %v", dir, files, err)
	}
	return files[0]
}

// With neither Redis nor PHP-FPM there all else is told.
func plantNothing(t *testing.T, s *seen) {
	set := &setting{t: t, redis: &testenv.RedisServer{Addr: testenv.FreeAddr(t)}, fpm: &testenv.FPM{Listen: "unix:///nowhere/fpm.sock"}, root: t.TempDir()}
	cfg := set.config("", "", "", topics("/nowhere/job.php", "mail")+"lease = \"10m\"\n")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s.want(t, doctor.Examine(ctx, cfg, doctor.Options{Root: set.root}), "redis-down", "fpm-down", "lease-long")
}

func TestTheFileDoesNothingForAnybodyElse(t *testing.T) {
	t.Parallel()
	fpm := testenv.StartFPM(t, testenv.FPMOptions{})
	opts := fastcgi.PoolOptions{Name: "default", Listen: fpm.Listen, BridgeDir: filepath.Join(fpm.Dir, "bridge"), Children: 1}
	pool := fastcgi.NewPool(opts, slog.New(slog.DiscardHandler), fastcgi.NewMetrics(prometheus.NewRegistry(), []string{opts.Name}, nil))
	aide := pool.NewAide("doctor", "HTTP_SIDECAR_DOCTOR", phpclient.Doctor)
	if _, err := aide.Place(); err != nil {
		t.Fatal(err)
	}
	said, err := aide.AskAtOnce(t.Context(), `{"nonce":"n","files":["/etc/passwd"]}`, 1000)
	if err == nil || !strings.Contains(err.Error(), "403") || len(said) > 0 {
		t.Errorf("got %q, %v, want a 403", said, err)
	}
}
