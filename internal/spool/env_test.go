package spool_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"sidecar/fastcgi"
	"sidecar/internal/spool"
	"sidecar/internal/testenv"
	phpclient "sidecar/php-client"
	"sidecar/queue"
)

const (
	smsList  = "queue:prod:send_sms_3"
	patience = 30 * time.Second
)

// pdo are the lines of php.ini that a pool needs for both databases.
var pdo = []string{"extension = pdo", "extension = pdo_sqlite", "extension = mysqlnd", "extension = pdo_mysql"}

// rig is a shop with a spool: its PHP-FPM, its Redis, and a running pool.
type rig struct {
	t     *testing.T
	fpm   *testenv.FPM
	pool  *fastcgi.Pool
	redis *testenv.RedisServer
	rdb   *redis.Client
	opts  spool.Options
	web   *fastcgi.Aide // stores jobs
	units map[string]queue.ScoreUnit
}

// newRig is a shop whose spool is an SQLite file.
func newRig(t *testing.T) *rig {
	t.Helper()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4, Ini: pdo})
	o := fastcgi.DefaultPoolOptions()
	o.Name, o.Listen, o.Children, o.BridgeDir = "default", f.Listen, 4, filepath.Join(f.Dir, "sidecar")
	pool := fastcgi.NewPool(o, slog.New(slog.DiscardHandler), fastcgi.NewMetrics(prometheus.NewRegistry(), []string{o.Name}, nil))
	if err := pool.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { pool.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	server := testenv.Redis(t)
	r := &rig{t: t, fpm: f, pool: pool, redis: server, rdb: server.Client(), opts: spool.DefaultOptions()}
	r.opts.Name, r.opts.Rate = "web", 0
	r.opts.DSN = "sqlite:" + filepath.Join(f.Shared(), "spool.sqlite")
	r.deploy()
	return r
}

// deploy puts the PHP client, and the request that stores jobs, where FPM's children can read them.
func (r *rig) deploy() {
	r.t.Helper()
	client := os.DirFS("../../php-client")
	err := fs.WalkDir(client, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path != "autoload.php" && !strings.HasPrefix(path, "src/") {
			return err
		}
		text, err := fs.ReadFile(client, path)
		r.fpm.Script(filepath.Join("sidecar/php-client", path), string(text))
		return err
	})
	text, readErr := os.ReadFile("testdata/store.php")
	if err := errors.Join(err, readErr); err != nil {
		r.t.Fatal(err)
	}
	r.web = r.pool.NewAide("store", "SIDECAR_TEST", text) // it is written beside php-client
}

// job is what store.php stores.
type job struct {
	Key     string `json:"key"`
	Text    string `json:"text"`
	DueMS   *int64 `json:"due_ms,omitempty"`
	DelayMS *int64 `json:"delay_ms,omitempty"`
	Seconds bool   `json:"seconds,omitempty"` // its producer knows the pool's scores to be in seconds
}

// texts are jobs of the list key.
func texts(key string, texts ...string) []job {
	jobs := make([]job, len(texts))
	for i, text := range texts {
		jobs[i] = job{Key: key, Text: text}
	}
	return jobs
}

// store stores the jobs in one web request.
func (r *rig) store(jobs ...job) {
	r.t.Helper()
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Text = base64.StdEncoding.EncodeToString([]byte(jobs[i].Text))
	}
	body, err := json.Marshal(map[string]any{
		"dsn": r.opts.DSN, "username": r.opts.Username, "password": string(r.opts.Password), "jobs": jobs,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if said, err := r.web.Ask(r.t.Context(), string(body), 1<<16); err != nil || !strings.HasPrefix(string(said), "stored") {
		r.t.Fatalf("store: %s, %v\n%s", said, err, r.fpm.Log())
	}
}

// asker has the spool's own file run.
func (r *rig) asker() spool.Asker { return r.pool.NewAide("spool", spool.Parameter, phpclient.Spool) }

func (r *rig) inlet() *queue.Inlet { return queue.NewInlet(r.rdb, "") }

func (r *rig) table() *spool.Table { return spool.NewTable(r.opts, r.asker()) }

func (r *rig) drainer() *spool.Drainer {
	return spool.NewDrainer(r.opts, r.table(), r.inlet(), r.units)
}

// drain makes a pass that is to come to its end.
func drain(t *testing.T, d *spool.Drainer, limit int) (spool.Progress, int, error) {
	t.Helper()
	pass := d.Begin(limit, -1)
	for more := true; more; {
		var err error
		if more, err = pass.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left, err := pass.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pass.Progress(), left, pass.Faults()
}

// wantDrained makes a pass and wants it to have come so far.
func wantDrained(t *testing.T, d *spool.Drainer, want spool.Progress, left int) {
	t.Helper()
	got, gotLeft, err := drain(t, d, 0)
	if got != want || gotLeft != left || err != nil {
		t.Errorf("got %+v, %d left, %v; want %+v, %d left", got, gotLeft, err, want, left)
	}
}

// wantList checks what is in a list, in the order in which first in is first out.
func (r *rig) wantList(key string, want ...string) {
	r.t.Helper()
	got, err := r.rdb.LRange(r.t.Context(), key, 0, -1).Result()
	slices.Reverse(got)
	if err != nil || !slices.Equal(got, want) {
		r.t.Errorf("%s holds %d texts, %.300q, %v; want %d, %.300q", key, len(got), got, err, len(want), want)
	}
}

// failing asks through another Asker, until it is to fail: before the request, or after it.
type failing struct {
	spool.Asker
	after int // so many requests are let through
	late  bool
}

var errLost = errors.New("the reply is lost")

func (f *failing) Ask(ctx context.Context, body string, limit int) ([]byte, error) {
	f.after--
	if f.after >= 0 {
		return f.Asker.Ask(ctx, body, limit)
	}
	if f.late {
		if _, err := f.Asker.Ask(ctx, body, limit); err != nil {
			return nil, err
		}
	}
	return nil, errLost
}
