package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/app"
	"sidecar/internal/config"
	"sidecar/internal/dash"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

const patience = 20 * time.Second

// waitsForRedis is how long whoever waited for an answer of Redis would wait: its client's timeout, which each page and order
// undercuts by far, and on a busy machine still clearly.
const waitsForRedis = 5 * time.Second

// board is a sidecar whose dashboard listens on a unix socket.
type board struct {
	redis  *testenv.RedisServer
	rdb    *redis.Client
	client *http.Client
	stop   func() time.Duration // how long the stop took
	undo   string
	shared string // a directory in which the job scripts may look
}

// newBoard starts a sidecar with topic mail, whose jobs all fail at once and for good, topic fragile, which has a breaker, and list sms beside it. admin are further
// lines of [admin].
func newBoard(t *testing.T, server *testenv.RedisServer, admin string) *board {
	t.Helper()
	fpm := testenv.StartFPM(t, testenv.FPMOptions{Children: 2})
	script := fpm.Script("fails.php", `<?php if ($job["uuid"] === "slow") { while (!file_exists($job["until"])) { usleep(20000); } return true; } throw new Exception("no answer from 13812345678, token=abcdef " . $job["uuid"]);`)
	dir := t.TempDir()
	b := &board{redis: server, rdb: server.Client(), undo: filepath.Join(dir, "undo"), shared: fpm.Shared()}
	socket := filepath.Join(dir, "a.sock")
	text := fmt.Sprintf("[redis]\nurl = %q\n[admin]\nlisten = \"unix://%s\"\nundo_dir = %q\n%s\n[fpm.default]\nlisten = %q\nbridge_dir = %q\nchildren = 2\n"+
		"[topic.mail]\nscript = %q\nretry = []\n[topic.fragile]\nscript = %q\nretry = []\nbreaker = 2\nbreaker_probe = \"1h\"\n[list.sms]\nkey = \"queue:sms\"\ndead = \"queue:dead\"\nmax_retry = 0\nscript = %q\n",
		server.URL(), socket, b.undo, admin, fpm.Listen, filepath.Join(fpm.Dir, "bridge"), script, script, script)
	cfg, err := config.Parse("sidecar.toml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := app.Run(ctx, app.Options{Config: cfg, Version: "v-test", Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), Level: new(slog.LevelVar)}); err != nil {
			t.Errorf("it ended with %v", err)
		}
	}()
	b.stop = func() time.Duration {
		began := time.Now()
		cancel()
		<-over
		return time.Since(began)
	}
	t.Cleanup(func() { b.stop() })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	b.client = &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: patience}
	t.Cleanup(b.client.CloseIdleConnections)
	testenv.Poll(t, patience, "the dashboard", func() bool { code, _ := b.try(t, "GET", "/readyz", ""); return code == http.StatusOK })
	return b
}

func (b *board) try(t *testing.T, method, path, body string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := b.client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close() // it was read
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, got
}

// ask asks the API, wants an answer, and reads it into what v points to.
func (b *board) ask(t *testing.T, method, path, body string, v any) {
	t.Helper()
	code, got := b.try(t, method, "/api/v1"+path, body)
	if code != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, code, got)
	}
	if err := json.Unmarshal(got, v); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, got)
	}
}

// search asks for one step after the other, as many as it takes: on a busy machine one step does not get through all topics. It
// returns what all of them have found, with what else the last one says, and all that was answered.
func (b *board) search(t *testing.T, query string) (all dash.SearchStep, said []byte) {
	t.Helper()
	for next := ""; ; {
		code, got := b.try(t, "GET", "/api/v1/search?"+query+"&cursor="+next, "")
		var step dash.SearchStep
		if err := json.Unmarshal(got, &step); code != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s (%v)", query, code, got, err)
		}
		step.Found = append(all.Found, step.Found...)
		all, said = step, append(said, got...)
		if next = step.Next; next == "" {
			return all, said
		}
	}
}

// fail lets n jobs of mail fail and returns the dead ones.
func (b *board) fail(t *testing.T, n int) dash.JobsPage {
	t.Helper()
	for i := range n {
		text := fmt.Sprintf(`{"uuid":"ord_web_%d","created_at":1732900000,"payload":{"phone":"13912345678","secret":"hush","n":%d}}`, i, i)
		if err := b.rdb.ZAdd(t.Context(), "delay:pool:mail", redis.Z{Member: text}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.wantDead(t, n)
	var page dash.JobsPage
	b.ask(t, "GET", "/topics/mail/jobs?key=dead", "", &page)
	return page
}

func (b *board) wantDead(t *testing.T, n int) {
	t.Helper()
	testenv.Poll(t, patience, fmt.Sprintf("%d dead jobs", n), func() bool {
		return b.rdb.LLen(t.Context(), "delay:dead:mail").Val() == int64(n)
	})
}

func TestDeadJobsAreSeenDroppedRestoredAndReplayed(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "show_payload = true\nmask = [\"payload.n\"]")
	dead := b.fail(t, 3)
	if len(dead.Jobs) != 3 || dead.Total != 3 || dead.Jobs[0].Died.IsZero() || dead.Jobs[0].Created.IsZero() || dead.Jobs[0].Tries != 1 {
		t.Fatalf("dead shows %+v", dead)
	}
	row := dead.Jobs[1]
	if !strings.HasPrefix(row.Error, "no answer from ***, token=*** ord_web_") {
		t.Errorf("the error is shown as %q", row.Error)
	}
	var job dash.JobView
	b.ask(t, "GET", "/topics/mail/jobs/"+row.Ref, "", &job)
	p := job.Payload
	if !p.Shown || p.Masked < 3 || !strings.Contains(p.Raw, `"phone":"***","secret":"***","n":"***"`) || !strings.Contains(p.Pretty, "\n") || job.RedisKey != "delay:dead:mail" {
		t.Errorf("the job is shown as %+v", job)
	}
	before := b.rdb.LRange(t.Context(), "delay:dead:mail", 0, -1).Val()

	var dropped, undone, replayed dash.Result
	order := fmt.Sprintf(`{"refs":[%q,%q]}`, row.Ref, dead.Jobs[2].Ref)
	b.ask(t, "POST", "/topics/mail/drop", order, &dropped)
	if dropped.Count != 2 || dropped.Undo == "" || filepath.Dir(dropped.File) != b.undo {
		t.Errorf("dropped %+v", dropped)
	}
	b.wantDead(t, 1)
	if gone, _ := b.search(t, "uuid="+row.UUID); len(gone.Found) != 0 || len(gone.ByHand) != 1 || gone.ByHand[0].Verb != "drop" || gone.ByHand[0].Undo != dropped.Undo {
		t.Errorf("a search for what was dropped with others says %+v", gone)
	}
	b.ask(t, "POST", "/topics/mail/drop", order, &undone)
	if undone.Count != 0 || undone.Gone != 2 {
		t.Errorf("dropped again %+v", undone)
	}
	b.ask(t, "POST", "/undo", fmt.Sprintf(`{"undo":%q}`, dropped.Undo), &undone)
	after := b.rdb.LRange(t.Context(), "delay:dead:mail", 0, -1).Val()
	if undone.Count != 2 || len(after) != 3 {
		t.Errorf("undone %+v, %d are dead", undone, len(after))
	}
	for _, text := range before { // byte for byte
		if !strings.Contains(strings.Join(after, "\n"), text) {
			t.Errorf("%s did not come back as it was", text)
		}
	}
	b.ask(t, "POST", "/topics/mail/replay", `{"filter":{"error":"NO ANSWER"},"limit":2}`, &replayed)
	if replayed.Count != 2 || !replayed.More {
		t.Errorf("replayed %+v", replayed)
	}
	b.wantDead(t, 3) // they ran, and failed again
	var trail []dash.AuditLine
	b.ask(t, "GET", "/audit?topic=mail", "", &trail)
	if len(trail) != 3 || trail[0].Verb != "replay" || trail[0].By != "web unix" || trail[0].Undo == "" || trail[2].Verb != "drop" || trail[2].Undo != "" {
		t.Errorf("the trail says %+v", trail)
	}
}

func TestNothingOfAJobIsShownUnlessItIsLet(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	dead := b.fail(t, 1)
	code, job := b.try(t, "GET", "/api/v1/topics/mail/jobs/"+dead.Jobs[0].Ref, "")
	_, list := b.try(t, "GET", "/api/v1/topics/mail/jobs?key=dead&uuid=ord_web_0", "")
	_, found := b.search(t, "prefix=ord_web")
	for _, query := range []string{"text=hush", "field=secret%3Dhush"} {
		if code, got := b.try(t, "GET", "/api/v1/search?"+query, ""); code != http.StatusForbidden {
			t.Errorf("%s: %d %s", query, code, got)
		}
	}
	page, err := b.client.Get("http://localhost/job?t=mail&ref=" + dead.Jobs[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close() // read to its end
	html, _ := io.ReadAll(page.Body)
	for name, got := range map[string][]byte{"job": job, "jobs": list, "search": found, "page": html} {
		if !bytes.Contains(got, []byte("ord_web_0")) {
			t.Errorf("%s: %d %s", name, code, got)
		}
		for _, secret := range []string{"13912345678", "13812345678", "hush", "abcdef"} {
			if bytes.Contains(got, []byte(secret)) {
				t.Errorf("%s shows %s: %s", name, secret, got)
			}
		}
	}
}

// An id may be somebody's phone number: it is not shown, and found only by who knows it.
func TestAnIDThatIsAPhoneNumberIsNotShown(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	record := `{"job":{"uuid":"sms_13912345678","type":"13712345678"},"error":"x","trace":"","at":"2026-11-29 12:00:00"}`
	if err := b.rdb.RPush(t.Context(), "delay:dead:mail", record).Err(); err != nil {
		t.Fatal(err)
	}
	shown := func(asked string, got []byte, found int) {
		t.Helper()
		if bytes.Contains(got, []byte("1391234")) || bytes.Contains(got, []byte("1371234")) || bytes.Count(got, []byte(`"uuid":"sms_***"`)) != found {
			t.Errorf("%s: %s", asked, got)
		}
	}
	_, got := b.try(t, "GET", "/api/v1/topics/mail/jobs?key=dead", "")
	shown("the dead", got, 1)
	for query, found := range map[string]int{"uuid=sms_13912345678": 1, "prefix=sms_": 1, "prefix=sms_139": 0} {
		_, got := b.search(t, query)
		shown(query, got, found)
	}
	var dropped dash.Result
	b.ask(t, "POST", "/topics/mail/drop", `{"filter":{"uuid":"sms_13912345678"}}`, &dropped)
	if _, got := b.try(t, "GET", "/api/v1/audit", ""); dropped.Count != 1 || !bytes.Contains(got, []byte(`"uuid":"sms_***"`)) || bytes.Contains(got, []byte("1391234")) {
		t.Errorf("dropped %+v, the trail says %s", dropped, got)
	}
}

func TestAPausedTopicWaitsAndARequeuedJobRunsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	in := float64(time.Now().Add(time.Hour).UnixMilli()) //nolint:forbidigo // far from now by any clock
	if err := b.rdb.ZAdd(t.Context(), "delay:pool:mail", redis.Z{Score: in, Member: `{"uuid":"later"}`}).Err(); err != nil {
		t.Fatal(err)
	}
	var nothing struct{}
	b.ask(t, "POST", "/topics/mail/pause", `{"for_seconds":600,"reason":"the supplier is down"}`, &nothing)
	var view dash.TopicView
	b.ask(t, "GET", "/topics/mail", "", &view)
	if p := view.Topic.State.Paused; p == nil || p.By != "web unix" || p.Reason != "the supplier is down" || p.Until.IsZero() {
		t.Errorf("the topic's state is %+v", view.Topic.State)
	}
	if len(view.RedisAt) != 4 || view.RedisAt[0].Key != "delay:pool:mail" || view.Topic.Depths.Pool != 1 {
		t.Errorf("it is %+v", view)
	}
	b.ask(t, "POST", "/topics/mail/resume", "", &nothing)
	if err := b.rdb.Set(t.Context(), "sidecar:paused", "in the way", 0).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, patience, "the word that pauses cannot be read", func() bool {
		b.ask(t, "GET", "/topics/mail", "", &view)
		return strings.Contains(strings.Join(view.Topic.State.Trouble, "\n"), "sidecar:paused is a string, want a hash")
	})
	b.rdb.Del(t.Context(), "sidecar:paused")
	var page dash.JobsPage
	b.ask(t, "GET", "/topics/mail/jobs?key=pool", "", &page)
	if len(page.Jobs) != 1 || time.Until(page.Jobs[0].Due) < 50*time.Minute {
		t.Fatalf("the pool shows %+v", page)
	}
	var res dash.Result
	b.ask(t, "POST", "/topics/mail/requeue", fmt.Sprintf(`{"refs":[%q]}`, page.Jobs[0].Ref), &res)
	if res.Count != 1 {
		t.Errorf("requeued %+v", res)
	}
	b.wantDead(t, 1)
}

func TestResumingEndsThisSidecarsBreakerAndWhereThereIsNothingToEndNothingIsAudited(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	var resumed struct{ Ended bool }
	var trail []dash.AuditLine
	if b.ask(t, "POST", "/topics/fragile/resume", "", &resumed); resumed.Ended {
		t.Error("nothing held the topic, and something was ended")
	}
	if b.ask(t, "GET", "/audit?topic=fragile", "", &trail); len(trail) != 0 {
		t.Errorf("nothing held the topic, and the trail says %+v", trail)
	}
	for i := range 2 {
		if err := b.rdb.ZAdd(t.Context(), "delay:pool:fragile", redis.Z{Member: fmt.Sprintf(`{"uuid":"f%d"}`, i)}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var view dash.TopicView
	testenv.Poll(t, patience, "the breaker of fragile", func() bool {
		b.ask(t, "GET", "/topics/fragile", "", &view)
		return view.Topic.State.Breaker != nil
	})
	if br := view.Topic.State.Breaker; !br.Here || br.Failures != 2 {
		t.Errorf("the breaker is %+v", br)
	}
	if b.ask(t, "POST", "/topics/fragile/resume", "", &resumed); !resumed.Ended {
		t.Error("the breaker held the topic, and nothing was ended")
	}
	var after dash.TopicView
	if b.ask(t, "GET", "/topics/fragile", "", &after); after.Topic.State.Breaker != nil {
		t.Errorf("after a resume its state is %+v", after.Topic.State)
	}
	if b.ask(t, "GET", "/audit?topic=fragile", "", &trail); len(trail) != 1 || trail[0].Verb != dash.VerbResume {
		t.Errorf("the trail says %+v", trail)
	}
}

func TestListsAreShownLikeTopics(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	if err := b.rdb.LPush(t.Context(), "queue:sms", `{"job_id":"s1","type":"sms","payload":{}}`).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, patience, "a dead letter", func() bool { return b.rdb.LLen(t.Context(), "queue:dead").Val() == 1 })
	var page dash.JobsPage
	b.ask(t, "GET", "/topics/sms/jobs?key=dead", "", &page)
	if len(page.Jobs) != 1 || page.Jobs[0].UUID != "s1" || page.Jobs[0].Type != "sms" {
		t.Fatalf("its dead are %+v", page)
	}
	var res dash.Result
	b.ask(t, "POST", "/topics/sms/drop", `{"limit":10}`, &res)
	if n := b.rdb.LLen(t.Context(), "queue:dead").Val(); res.Count != 1 || n != 0 {
		t.Errorf("dropped %+v, %d are left", res, n)
	}
}

func TestThePagesGoOnWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	b := newBoard(t, server, "")
	b.fail(t, 2)
	var o dash.Overview
	mail := func() dash.Topic {
		return o.Topics[slices.IndexFunc(o.Topics, func(t dash.Topic) bool { return t.Name == "mail" })]
	}
	testenv.Poll(t, patience, "the count", func() bool {
		b.ask(t, "GET", "/overview", "", &o)
		return o.Redis.Up && mail().Depths.Dead == 2
	})
	server.Stop()
	testenv.Poll(t, patience, "the word that redis is away", func() bool {
		began := time.Now()
		b.ask(t, "GET", "/overview", "", &o)
		if took := time.Since(began); took > waitsForRedis {
			t.Errorf("the overview took %s", took)
		}
		return !o.Redis.Up && o.Redis.Error != ""
	})
	if mail().Depths.Dead != 2 || mail().Error == "" {
		t.Errorf("the last known is %+v", mail())
	}
	if code, got := b.try(t, "GET", "/api/v1/topics/mail/jobs?key=dead", ""); code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", code, got)
	}
}

func TestARunningJobShowsWhoRunsIt(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	until := filepath.Join(b.shared, "until")
	job := fmt.Sprintf(`{"uuid":"slow","until":%q}`, until)
	if err := b.rdb.ZAdd(t.Context(), "delay:pool:mail", redis.Z{Member: job}).Err(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.WriteFile(until, nil, 0o644); err != nil {
			t.Error(err)
		}
	}()
	var page dash.JobsPage
	testenv.Poll(t, patience, "the run", func() bool {
		b.ask(t, "GET", "/topics/mail/jobs?key=running", "", &page)
		return len(page.Jobs) == 1 && page.Jobs[0].PID > 0
	})
	var view dash.JobView
	b.ask(t, "GET", "/topics/mail/jobs/"+page.Jobs[0].Ref, "", &view)
	if row := view.Row; row.Holder == "" || row.PID != page.Jobs[0].PID || row.Lease.IsZero() || view.Now.Sub(row.Started).Abs() > patience {
		t.Errorf("it is shown as %+v at %s", row, view.Now)
	}
	var o dash.Overview
	testenv.Poll(t, patience, "redis's word about itself", func() bool {
		b.ask(t, "GET", "/overview", "", &o)
		return o.Redis.Version != "" && o.Redis.UsedBytes > 0
	})
	elsewhere := queue.Heartbeat{Instance: "web2-7", Host: "web2", Topics: []string{"mail"}}
	elsewhere.AddRun("mail", "told", 4711, time.Minute)
	if _, err := queue.NewHeartbeats(b.rdb, "").Beat(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, patience, "the heartbeat that tells the others of the run", func() bool {
		all, err := queue.NewHeartbeats(b.rdb, "").All(t.Context())
		if err != nil || len(all) != 2 {
			return false
		}
		own := all[slices.IndexFunc(all, func(b queue.Heartbeat) bool { return b.Instance != "web2-7" })]
		run, since, found := own.RunOf("mail", "slow")
		return found && run.PID == page.Jobs[0].PID && since.Sub(page.Jobs[0].Started).Abs() < patience
	})
	// Other sidecars' runs: one has told of its own, of the other the lease is all that is known.
	later := float64(time.Now().Add(time.Hour).UnixMilli()) //nolint:forbidigo // far from now by any clock
	if err := b.rdb.ZAdd(t.Context(), "delay:running:mail", redis.Z{Score: later, Member: `{"uuid":"other"}`}, redis.Z{Score: later - 1, Member: `{"uuid":"told"}`}).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, patience, "the run that another sidecar tells of", func() bool {
		page = dash.JobsPage{}
		b.ask(t, "GET", "/topics/mail/jobs?key=running", "", &page)
		return len(page.Jobs) == 3 && page.Jobs[1].Holder == "web2-7" && page.Jobs[1].PID == 4711 && !page.Jobs[1].Started.IsZero()
	})
	if other := page.Jobs[2]; other.Holder != "" || other.PID != 0 || other.Lease.IsZero() {
		t.Errorf("running shows %+v", page.Jobs)
	}
	if _, html := b.try(t, "GET", "/topic?t=mail&k=running", ""); !bytes.Contains(html, []byte("only its lease is known")) {
		t.Error("the page does not say so")
	}
}

func TestATopicWhoseLastSidecarStopsIsConsumedByNobody(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	until := filepath.Join(os.TempDir(), fmt.Sprintf("sidecar-until-%d", os.Getpid())) // where PHP-FPM's user may look, too
	t.Cleanup(func() { _ = os.Remove(until) })
	if err := b.rdb.ZAdd(t.Context(), "delay:pool:mail", redis.Z{Member: fmt.Sprintf(`{"uuid":"slow","until":%q}`, until)}).Err(); err != nil {
		t.Fatal(err)
	}
	var view dash.TopicView
	testenv.Poll(t, patience, "the run", func() bool {
		b.ask(t, "GET", "/topics/mail", "", &view)
		return view.Topic.Depths.Running == 1
	})
	if view.Topic.State.Unconsumed {
		t.Error("it is consumed by nobody while its job runs")
	}
	var stopped sync.WaitGroup
	stopped.Go(func() { b.stop() })
	testenv.Poll(t, patience, "the word that nobody consumes it", func() bool {
		view = dash.TopicView{}
		code, got := b.try(t, "GET", "/api/v1/topics/mail", "")
		return code == http.StatusOK && json.Unmarshal(got, &view) == nil && view.Topic.State.Unconsumed
	})
	if err := os.WriteFile(until, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	stopped.Wait()
}

// What the masks hide must not be found out by asking for it, letter by letter.
func TestAFilterFindsOnlyWhatIsShown(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	b.fail(t, 2)
	for filter, want := range map[string]int64{"no answer": 2, "token=abc": 0, "1381234": 0, "token=***": 2, "from ***, TOKEN": 2, "abcdef": 0} {
		var page dash.JobsPage
		b.ask(t, "GET", "/topics/mail/jobs?key=dead&error="+url.QueryEscape(filter), "", &page)
		var chosen dash.Selection
		b.ask(t, "POST", "/topics/mail/select", fmt.Sprintf(`{"filter":{"error":%q}}`, filter), &chosen)
		if int64(len(page.Jobs)) != want || chosen.Count != want {
			t.Errorf("%q: %d are shown and %d chosen, want %d", filter, len(page.Jobs), chosen.Count, want)
		}
	}
}

// Errors that differ by numbers alone are one cause; it is counted and chosen by what is shown of them.
func TestDeadJobsOfOneCauseAreCountedAndChosenTogether(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	b.fail(t, 3)
	record := `{"job":{"uuid":"other"},"error":"no money","trace":"","at":"2026-11-29 12:00:00"}`
	if err := b.rdb.RPush(t.Context(), "delay:dead:mail", record).Err(); err != nil {
		t.Fatal(err)
	}
	code, page := b.try(t, "GET", "/topic?t=mail&k=dead", "")
	if code != http.StatusOK || !bytes.Contains(page, []byte("no answer from ***, token=*** #")) {
		t.Errorf("the page is %d %s", code, page)
	}
	for like, want := range map[string]int64{"no answer from ***, token=*** #": 3, "no answer from ***, token=*** ord_web_77": 3, "no money": 1, "no": 0, "no answer from #, token=abcdef #": 0} {
		var jobs dash.JobsPage
		b.ask(t, "GET", "/topics/mail/jobs?key=dead&like="+url.QueryEscape(like), "", &jobs)
		var chosen dash.Selection
		b.ask(t, "POST", "/topics/mail/select", fmt.Sprintf(`{"filter":{"like":%q}}`, like), &chosen)
		if int64(len(jobs.Jobs)) != want || chosen.Count != want {
			t.Errorf("%q: %d are shown and %d chosen, want %d", like, len(jobs.Jobs), chosen.Count, want)
		}
	}
	var all dash.JobsPage
	b.ask(t, "GET", "/topics/mail/jobs?key=dead", "", &all)
	if len(all.Causes.List) == 0 || all.Causes.More {
		t.Errorf("causes %+v", all.Causes)
	}
}

// By texts only those search to whom they are shown, and only for what is shown of them.
func TestASearchByTextFindsOnlyWhatIsShown(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "show_payload = true\nmask = [\"payload.n\"]")
	b.fail(t, 2)
	for query, want := range map[string]int{
		"field=created_at%3D1732900000": 2, "field=uuid%3Dord_web_1": 1, "text=%22created_at%22:17329": 2,
		"field=n%3D1": 0, "field=phone%3D13912345678": 0, "text=139123": 0, "text=hush": 0, "field=secret%3Dhush": 0,
	} {
		if all, _ := b.search(t, query); len(all.Found) != want {
			t.Errorf("%s: found %+v, want %d", query, all, want)
		}
	}
	for _, query := range []string{"field=x", "text=a&uuid=b", ""} {
		if code, got := b.try(t, "GET", "/api/v1/search?"+query, ""); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, code, got)
		}
	}
}

func TestForgedReferencesAndCursorsFindNothing(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	b.fail(t, 1)
	cursor := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	sum := strings.Repeat("a", 20)
	const most = "9223372036854775807"
	for _, path := range []string{
		"/jobs/x", "/jobs/pool_0_0_0_nan_" + sum, "/jobs/dead_9_0_0__" + sum, "/jobs/dead_0_" + most + "_" + most + "__" + sum, "/jobs/dead_0_-" + most + "_5__" + sum,
		"/jobs/running_0_-" + most + "_0_1_" + sum, "/jobs/pool_0_" + most + "_0_-inf_" + sum,
		"/jobs?key=dead&error=x&cursor=x", "/jobs?key=dead&error=x&cursor=" + cursor(`{"p":0,"s":1}`), "/jobs?key=dead&cursor=-1", "/jobs?key=dead&cursor=" + strings.Repeat("9", 5000),
	} {
		if code, got := b.try(t, "GET", "/api/v1/topics/mail"+path, ""); code != http.StatusNotFound {
			t.Errorf("%.80s: %d %s", path, code, got)
		}
	}
	var page dash.JobsPage
	if b.ask(t, "GET", "/topics/mail/jobs?key=dead&cursor="+most, "", &page); len(page.Jobs) != 0 {
		t.Errorf("behind everything there is %+v", page)
	}
	for _, at := range []string{`{"t":"none"}`, `{"t":"mail","c":"x"}`, `[]`} {
		if code, got := b.try(t, "GET", "/api/v1/search?uuid=x&cursor="+cursor(at), ""); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", at, code, got)
		}
	}
	shard := cursor(`{"t":"sms","c":"` + cursor(`{"p":3,"s":1}`) + `"}`)
	if code, got := b.try(t, "GET", "/api/v1/search?uuid=x&cursor="+shard, ""); code != http.StatusNotFound {
		t.Errorf("a shard of dead: %d %s", code, got)
	}
}

func TestADoubleClickMovesEachJobOnce(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	refs := []string{}
	for _, row := range b.fail(t, 5).Jobs {
		refs = append(refs, row.Ref)
	}
	list, _ := json.Marshal(refs)
	counts := make(chan int64, 4)
	for range cap(counts) {
		go func() {
			var res dash.Result
			_, got := b.try(t, "POST", "/api/v1/topics/mail/drop", fmt.Sprintf(`{"refs":%s}`, list))
			_ = json.Unmarshal(got, &res)
			counts <- res.Count
		}()
	}
	var sum int64
	for range cap(counts) {
		sum += <-counts
	}
	files, _ := filepath.Glob(filepath.Join(b.undo, "*.jsonl"))
	if left := b.rdb.LLen(t.Context(), "delay:dead:mail").Val(); sum != 5 || left != 0 || len(files) == 0 {
		t.Errorf("%d were dropped, %d are left, in %q", sum, left, files)
	}
}

// A server that hangs takes connections and says nothing, which is worse than one that is gone.
func TestThePagesGoOnWhileRedisHangs(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	b := newBoard(t, server, "")
	jobs := b.fail(t, 2).Jobs
	ref := jobs[0].Ref
	var dropped dash.Result
	b.ask(t, "POST", "/topics/mail/drop", fmt.Sprintf(`{"refs":[%q]}`, jobs[1].Ref), &dropped)
	resume := server.Pause()
	defer resume()
	var looks sync.WaitGroup // all at once
	for _, path := range []string{
		"/", "/topic?t=mail", "/job?t=mail&ref=" + ref, "/search?q=ord_web_0", "/sidecars", "/audit", "/api/v1/overview", "/api/v1/audit",
		"/api/v1/topics/mail", "/api/v1/topics/mail/jobs?key=dead", "/api/v1/topics/mail/jobs?key=dead&error=x", "/api/v1/topics/mail/jobs/" + ref,
	} {
		looks.Go(func() {
			began := time.Now()
			b.try(t, "GET", path, "")
			if took := time.Since(began); took > waitsForRedis {
				t.Errorf("%s took %s", path, took)
			}
		})
	}
	looks.Wait()
	for path, order := range map[string]string{
		"/topics/mail/drop": fmt.Sprintf(`{"refs":[%q]}`, ref), "/topics/mail/replay": `{"limit":1}`, "/topics/mail/requeue": `{"limit":1}`,
		"/topics/mail/pause": "", "/topics/mail/resume": "", "/undo": fmt.Sprintf(`{"undo":%q}`, dropped.Undo),
	} {
		began := time.Now()
		code, got := b.try(t, "POST", "/api/v1"+path, order)
		if took := time.Since(began); took > waitsForRedis || code != http.StatusServiceUnavailable {
			t.Errorf("%s took %s: %d %s", path, took, code, got)
		}
	}
	for _, path := range []string{"/readyz", "/metrics"} { // a supervisor and a scraper wait for some seconds
		began := time.Now()
		if code, _ := b.try(t, "GET", path, ""); time.Since(began) > 2*waitsForRedis || code == 0 {
			t.Errorf("%s took %s: %d", path, time.Since(began), code)
		}
	}
	var o dash.Overview
	began := time.Now()
	testenv.Poll(t, patience, "the word that redis hangs", func() bool {
		b.ask(t, "GET", "/overview", "", &o)
		return !o.Redis.Up && o.Redis.Error != ""
	})
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s until that was told", took)
	}
}

func TestAStreamTellsOfChangesAndDoesNotHoldUpTheStop(t *testing.T) {
	t.Parallel()
	b := newBoard(t, testenv.Redis(t), "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/events?topic=mail", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // it ends with the sidecar
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	b.fail(t, 1)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var topic dash.Topic
			if err := json.Unmarshal([]byte(data), &topic); err != nil || topic.Name != "mail" {
				t.Fatalf("%v in %s", err, data)
			}
			if topic.Depths.Dead == 1 {
				break
			}
		}
	}
	if took := b.stop(); took > 10*time.Second { // a stream lasts for longer
		t.Errorf("the stop took %s", took)
	}
	for lines.Scan() { // to its end
	}
}
