package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/dash"
	"sidecar/internal/testenv"
	"sidecar/internal/undo"
	"sidecar/queue"
)

// What cannot be undone is not done: there is no place for the bytes. A bound of file sizes is a whole process's, and would hold for what
// the go command has its tests write: so the test runs in one of its own.
func TestNothingIsReplayedOrDroppedThatCannotBeKept(t *testing.T) {
	t.Parallel()
	const own = "SIDECAR_TEST_OWN_PROCESS"
	if os.Getenv(own) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // itself
		again.Env = append(os.Environ(), own+"=1")
		if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	b := newBoard(t, testenv.Redis(t), "")
	var refs []string
	for _, row := range b.fail(t, 3).Jobs {
		refs = append(refs, row.Ref)
	}
	before := b.rdb.LRange(t.Context(), "delay:dead:mail", 0, -1).Val()
	refuse := func(why string) {
		t.Helper()
		for _, verb := range []string{"replay", "drop"} {
			code, page := b.act(t, url.Values{"verb": {verb}, "t": {"mail"}, "k": {"dead"}, "ref": refs, "name": {"mail"}})
			for _, want := range []string{"admin.undo_dir", b.undo, "not moved, since it could not be undone", why} {
				if code != http.StatusInternalServerError || !strings.Contains(page, want) {
					t.Errorf("%s: got %d, want a page with %q:\n%s", verb, code, want, page)
				}
			}
		}
		if after := b.rdb.LRange(t.Context(), "delay:dead:mail", 0, -1).Val(); !slices.Equal(before, after) || b.rdb.Exists(t.Context(), "delay:pool:mail").Val() > 0 {
			t.Errorf("%s: jobs were moved: dead is %q", why, after)
		}
		if left, _ := filepath.Glob(filepath.Join(b.undo, "*.jsonl")); len(left) > 0 {
			t.Errorf("%s: %q is left behind", why, left)
		}
	}
	block(t, os.Remove(b.undo)) // the start has made it
	block(t, os.WriteFile(b.undo, []byte("in the way"), 0o600))
	refuse("not a directory")
	block(t, os.Remove(b.undo))
	block(t, os.Symlink("/proc/self/fdinfo", b.undo)) // where nobody may make a file, not even root
	refuse("open: no such file or directory")
	block(t, os.Remove(b.undo))
	for _, most := range []uint64{10, 600} { // not even the first line, not the jobs
		full := boundFiles(t, most)
		refuse("file too large")
		full()
	}
}

// A file of another Redis, which somebody has carried here, is not taken back into these queues.
func TestAnUndoOfAnotherRedisIsRefused(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	var dropped, undone dash.Result
	b.ask(t, "POST", "/topics/mail/drop", fmt.Sprintf(`{"refs":[%q]}`, b.fail(t, 1).Jobs[0].Ref), &dropped)
	whole, err := os.ReadFile(dropped.File)
	block(t, err)
	theirs := regexp.MustCompile(`"servers":\[[^]]*\]`).ReplaceAll(whole, []byte(`"servers":["redis-prod.lan:6379"]`))
	if bytes.Equal(theirs, whole) {
		t.Fatalf("the file does not say where it was: %s", whole)
	}
	block(t, os.WriteFile(dropped.File, theirs, 0o600))
	tickets := b.rdb.Dump(t.Context(), "sidecar:moved:mail").Val()
	b.rdb.Del(t.Context(), "sidecar:moved:mail")
	undo := fmt.Sprintf(`{"undo":%q}`, dropped.Undo)
	code, body := b.try(t, "POST", "/api/v1/undo", undo)
	for _, want := range []string{"its jobs belong elsewhere", "was written at redis-prod.lan:6379, database 0; this configuration leads to ", "sidecar dead undo --anyway " + b.undo} {
		if code != http.StatusInternalServerError || !strings.Contains(string(body), want) {
			t.Errorf("got %d %s, want %q in it", code, body, want)
		}
	}
	if n := b.rdb.Exists(t.Context(), "delay:dead:mail").Val(); n != 0 {
		t.Error("it was put back all the same")
	}
	block(t, b.rdb.Restore(t.Context(), "sidecar:moved:mail", 0, tickets).Err()) // it is this one, by another name
	if b.ask(t, "POST", "/undo", undo, &undone); undone.Count != 1 {
		t.Errorf("undone %+v", undone)
	}
}

func block(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// boundFiles keeps files of this process from growing beyond so many bytes, as a full disk does, until end is called.
func boundFiles(t *testing.T, most uint64) (end func()) {
	t.Helper()
	var usual syscall.Rlimit
	block(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &usual))
	signal.Ignore(syscall.SIGXFSZ)
	block(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: usual.Max}))
	return func() {
		t.Helper()
		block(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &usual))
		signal.Reset(syscall.SIGXFSZ)
	}
}

// act sends a form as the page that asks would, and returns the page that answers.
func (b *board) act(t *testing.T, form url.Values) (code int, page string) {
	t.Helper()
	_, shown := b.try(t, "GET", "/topic?t=mail", "")
	_, token, _ := strings.Cut(string(shown), `name="csrf" value="`)
	token, _, _ = strings.Cut(token, `"`)
	form.Set("csrf", token)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/act", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// The dashboard takes back what the command has requeued by a file in its directory.
func TestARequeueOfManyIsTakenBackOnTheDashboard(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	const pool, text = "delay:pool:mail", `{"uuid":"a"}`
	score := float64(b.rdb.Time(t.Context()).Val().Add(time.Hour).UnixMicro()) //nolint:forbidigo // Redis's
	block(t, b.rdb.ZAdd(t.Context(), pool, redis.Z{Score: score, Member: text}).Err())
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	store := queue.NewStore(b.rdb, "", opts)
	act := undo.NewAct(store, queue.NewAudit(b.rdb, ""), undo.Order{
		Head:    undo.Head{Verb: queue.VerbRequeue, Topic: "mail", By: "cli ann@web1", At: b.rdb.Time(t.Context()).Val()},
		Requeue: queue.RequeueOptions{ScoresIn: queue.Microseconds}, Zone: time.UTC, Patience: time.Minute,
	})
	page, err := store.Peek(t.Context(), queue.InPool, queue.Page{Limit: 1})
	block(t, err)
	move, err := act.Plan(t.Context(), page.Entries[0])
	block(t, err)
	block(t, act.Begin(t.Context(), b.undo, 1))
	results, err := act.Make(t.Context(), []queue.HandMove{move})
	block(t, errors.Join(err, act.Close(t.Context())))
	if got := b.rdb.ZScore(t.Context(), pool, text).Val(); math.Abs(got-score/1000) > 1 || !slices.Equal(results, []queue.MoveResult{queue.Taken}) {
		t.Fatalf("it waits until %f, %v", got, results)
	}
	var lines []dash.AuditLine
	b.ask(t, "GET", "/audit", "", &lines)
	if len(lines) != 1 || lines[0].Verb != dash.VerbRequeue || lines[0].Undo == "" {
		t.Fatalf("the trail is %+v", lines)
	}
	var undone dash.Result
	b.ask(t, "POST", "/undo", fmt.Sprintf(`{"undo":%q}`, lines[0].Undo), &undone)
	if got := b.rdb.ZScore(t.Context(), pool, text).Val(); undone.Count != 1 || got != score {
		t.Errorf("undone %+v; it waits until %f, want %f", undone, got, score)
	}
}
