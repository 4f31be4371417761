package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sidecar/internal/config"
	"sidecar/internal/doctor"
	"sidecar/internal/testenv"
)

// setting is a whole one: a Redis, a PHP-FPM, a configuration, and a root for the files of the host.
type setting struct {
	t     *testing.T
	redis *testenv.RedisServer
	fpm   *testenv.FPM
	root  string
}

// goodRedis are the lines of redis.conf that leave nothing to say.
var goodRedis = []string{"appendonly yes", "appendfsync everysec", "maxmemory 100mb", "timeout 0", "tcp-keepalive 300", "slowlog-log-slower-than 1000000"}

// goodFPM is a pool that leaves nothing to say.
func goodFPM() testenv.FPMOptions {
	return testenv.FPMOptions{
		Children: 4, Status: true, Opcache: true, ProcessControlTimeout: 10 * time.Second, OutputBuffering: 4096,
		Ini: []string{"extension = tokenizer", "date.timezone = UTC", "memory_limit = 128M"},
	}
}

func newSetting(t *testing.T, redis *testenv.RedisServer, fpm testenv.FPMOptions) *setting {
	t.Helper()
	s := &setting{t: t, redis: redis, fpm: testenv.StartFPM(t, fpm), root: t.TempDir()}
	s.host("proc/sys/vm/overcommit_memory", "1\n")
	s.host("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
	return s
}

// host writes a file of the host.
func (s *setting) host(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// config is a configuration with these lines at the top, in [redis] and in [fpm.default], and these further tables.
func (s *setting) config(top, redis, fpm, tables string) *config.Config {
	s.t.Helper()
	text := fmt.Sprintf("timezone = \"UTC\"\n%s\n[redis]\nurl = %q\n%s\n[fpm.default]\nlisten = %q\n%s\n%s\n",
		top, s.redis.URL(), redis, s.fpm.Listen, fpm, tables)
	cfg, err := config.Parse("sidecar.toml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		s.t.Fatalf("%v in\n%s", err, text)
	}
	pool := cfg.FPM["default"] // below /tmp it would be worth a warning
	if pool.BridgeDir == "/run/sidecar" {
		pool.BridgeDir = filepath.Join(s.fpm.Dir, "bridge")
	}
	cfg.FPM["default"] = pool
	return cfg
}

func (s *setting) examine(cfg *config.Config, topics ...string) []doctor.Finding {
	s.t.Helper()
	return doctor.Examine(s.t.Context(), cfg, doctor.Options{Topics: topics, Root: s.root})
}
