package app

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/fastcgi"
)

// deadPools returns pools, and the options of one where nothing listens.
func deadPools(t *testing.T) (*pools, map[string]fastcgi.PoolOptions) {
	t.Helper()
	o := fastcgi.DefaultPoolOptions()
	o.Name, o.Listen, o.BridgeDir = "default", "unix://"+filepath.Join(t.TempDir(), "none.sock"), filepath.Join(t.TempDir(), "bridge")
	metrics := fastcgi.NewMetrics(prometheus.NewRegistry(), nil, nil)
	return newPools(metrics, slog.New(slog.DiscardHandler)), map[string]fastcgi.PoolOptions{o.Name: o}
}

func TestPoolsEndAlthoughAGenerationStillHasThem(t *testing.T) {
	p, opts := deadPools(t)
	if err := p.start(t.Context(), p.acquire(opts), opts); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		p.stop()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Fatal("the pools wait for jobs that nobody waits for any more")
	}
}

func TestAPoolWhoseOptionsStayOutlivesAReload(t *testing.T) {
	p, opts := deadPools(t)
	old := p.acquire(opts)
	next := p.acquire(opts)
	if old["default"] != next["default"] {
		t.Error("the same options made a second pool")
	}
	p.release(old)
	if again := p.acquire(opts); again["default"] != next["default"] {
		t.Error("the pool ended with the old generation")
	} else {
		p.release(again)
	}
	p.release(next)
	if len(p.open) != 0 {
		t.Errorf("%d pools are open although nobody uses them", len(p.open))
	}
}

// Two pools beside each other would run more jobs at once than either of them may.
func TestAPoolOutlivesAChangeOfItsChildren(t *testing.T) {
	p, opts := deadPools(t)
	old := p.acquire(opts)
	changed := opts["default"]
	changed.Children = 2
	next := p.acquire(map[string]fastcgi.PoolOptions{"default": changed})
	if old["default"] != next["default"] {
		t.Error("other children made a second pool")
	}
	changed.Listen += ".new"
	other := p.acquire(map[string]fastcgi.PoolOptions{"default": changed})
	if old["default"] == other["default"] {
		t.Error("another address is the same pool")
	}
	for _, got := range []map[string]*openPool{old, next, other} {
		p.release(got)
	}
}
