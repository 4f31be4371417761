package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// The topics of a shop that are of profile delay; those of profile list follow in keys_test.go. The old consumer works on
// the last one of these only, so that no loss on the others can be its.
const (
	topicRequest = "request" // mode request
	topicWorker  = "worker"  // mode worker
	topicShared  = "shared"  // mode request, beside the old consumer
)

var topics = []string{topicRequest, topicWorker, topicShared, topicSharded, topicAcked}

// childrenEach is how many children of FPM each sidecar may occupy.
const childrenEach = 4

// shop is what a kind of fault is done to: a Redis, a PHP-FPM, two sidecars and an old consumer.
type shop struct {
	t     testing.TB
	rng   *rand.Rand
	dir   string // job scripts and ledger
	redis *testenv.RedisServer
	rdb   *redis.Client // the harness's own, past every proxy
	fpm   *testenv.FPM
	proxy *proxy // nil where the kind needs none

	sidecars []*sidecar
	spared   *sidecar // by faults that end one; nil: none
	old      *oldConsumer
	ledger   *ledger
	jobs     *producer

	moment int           // the next of moments
	lasted time.Duration // the last strike

	mu        sync.Mutex
	marks     []mark          // guarded by mu: what strikes did
	outages   series          // guarded by mu: of Redis, the last of them
	forgotten map[string]bool // guarded by mu: the jobs that Redis forgot, by uuid
}

// newShop starts a shop for the kind and waits until both sidecars consume.
func newShop(t testing.TB, k kind, seed uint64) *shop {
	t.Helper()
	s := &shop{t: t, rng: rand.New(rand.NewPCG(seed, 0)), forgotten: make(map[string]bool)}
	s.redis = testenv.Redis(t, append([]string{"appendonly yes", "appendfsync always"}, k.redis...)...)
	s.rdb = s.redis.Client()
	k.fpm.Children = 2 * childrenEach
	s.fpm = testenv.StartFPM(t, k.fpm)
	s.dir = s.fpm.Shared()
	t.Cleanup(s.keepLogs)
	s.writeScripts()
	if k.proxied {
		s.proxy = newProxy(t, s.redis.Addr)
	}
	s.sidecars = []*sidecar{s.newSidecar("a"), s.newSidecar("b")}
	if k.prepare != nil {
		k.prepare(s)
	}
	for _, p := range s.sidecars {
		p.start()
	}
	for _, p := range s.sidecars {
		p.waitReady()
	}
	s.old = s.startOld("--visible-ms=3000", "--back-ms=200", "--handler=usleep:1000")
	s.ledger = newLedger(t, filepath.Join(s.dir, "ledger"), s.old.logs)
	s.jobs = &producer{s: s, backlog: backlog, written: make(map[string]job)}
	return s
}

// writeScripts puts the job scripts where the children can read them, and an empty ledger where they can write it.
func (s *shop) writeScripts() {
	s.t.Helper()
	for _, name := range []string{"jobs.php", "reject.php"} {
		code, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(name, string(code))
	}
	for _, who := range []string{"a", "b"} {
		s.write("jobs-"+who+".php", fmt.Sprintf("<?php\nreturn (require __DIR__ . '/jobs.php')('%s');\n", who))
	}
	if err := os.Chmod(s.write("ledger", ""), 0o666); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) write(name, content string) (path string) {
	s.t.Helper()
	path = filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// depths returns how many texts of all topics are to run, and an error while Redis is away.
func (s *shop) depths(ctx context.Context) (int64, error) {
	pipe := s.rdb.Pipeline()
	var counts []*redis.IntCmd
	for _, topic := range topics {
		k := keysOf(topic)
		for _, set := range k.sets {
			counts = append(counts, pipe.ZCard(ctx, set))
		}
		for _, list := range k.lists {
			counts = append(counts, pipe.LLen(ctx, list))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, err
	}
	sum := int64(0)
	for _, count := range counts {
		sum += count.Val()
	}
	return sum, nil
}

// any returns one of the sidecars for a fault, but the one that is to be spared.
func (s *shop) any() *sidecar {
	for {
		if p := s.sidecars[s.rng.IntN(len(s.sidecars))]; p != s.spared {
			return p
		}
	}
}

// isChild tells whether the pid is a child of this shop's FPM.
func (s *shop) isChild(pid int) bool { return slices.Contains(s.fpm.Children(), pid) }

// keepLogs says what the sidecars said last when the test has failed, and leaves the whole in FAULTS_REPORT.
func (s *shop) keepLogs() {
	if !s.t.Failed() {
		return
	}
	if keep := os.Getenv("FAULTS_REPORT"); keep != "" {
		keep = filepath.Join(keep, filepath.Base(s.t.Name()))
		s.t.Logf("ledger and logs are left in %s: %v", keep, copyFiles(keep, s.fpm.Dir, s.dir))
		return
	}
	for _, p := range s.sidecars {
		if text, err := os.ReadFile(p.log); err == nil {
			s.t.Logf("the end of sidecar %s's log:\n%s", p.name, text[max(0, len(text)-4000):])
		}
	}
}

// copyFiles copies the regular files of some directories into one.
func copyFiles(to string, from ...string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, dir := range from {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err == nil {
				err = os.WriteFile(filepath.Join(to, e.Name()), text, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
