package dash_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sidecar/internal/dash"
)

// fakeNow is the time in all that fake tells.
var fakeNow = time.Date(2026, 11, 30, 8, 15, 30, 0, time.UTC)

// fake is a Source with what it is given, and a list of what was asked of it.
type fake struct {
	overview dash.Overview
	topic    dash.TopicView
	jobs     dash.JobsPage
	job      dash.JobView
	steps    []dash.SearchStep // one after the other; the cursor is the number of the next
	lines    []dash.AuditLine
	chosen   dash.Selection
	result   dash.Result
	err      error
	slow     time.Duration // what a step of a search takes

	mu   sync.Mutex
	acts []string
}

func (f *fake) did(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acts = append(f.acts, fmt.Sprintf(format, args...))
}

func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.acts)
}

func (f *fake) Overview(context.Context) (dash.Overview, error) { return f.overview, f.err }

func (f *fake) Topic(_ context.Context, name string) (dash.TopicView, error) {
	if f.err == nil && name != f.topic.Topic.Name {
		return dash.TopicView{}, dash.ErrNotFound
	}
	return f.topic, f.err
}

func (f *fake) Jobs(_ context.Context, q dash.JobsQuery) (dash.JobsPage, error) {
	f.did("jobs %s %s %q %+v", q.Topic, q.Key, q.Cursor, q.Filter)
	return f.jobs, f.err
}

func (f *fake) Job(_ context.Context, topic, ref string) (dash.JobView, error) {
	if f.err == nil && ref != f.job.Row.Ref {
		return dash.JobView{}, dash.ErrNotFound
	}
	return f.job, f.err
}

func (f *fake) Search(_ context.Context, q dash.SearchQuery) (dash.SearchStep, error) {
	if q.Text+q.Field != "" {
		f.did("search text=%q field=%q topic=%q", q.Text, q.Field, q.Topic)
	} else {
		f.did("search uuid=%q prefix=%q topic=%q from %q", q.UUID, q.Prefix, q.Topic, q.Cursor)
	}
	<-time.After(f.slow)
	n := 0
	_, _ = fmt.Sscan(q.Cursor, &n)
	if f.err != nil || n >= len(f.steps) {
		return dash.SearchStep{Now: fakeNow}, f.err
	}
	return f.steps[n], nil
}

func (f *fake) Audit(_ context.Context, topic string) ([]dash.AuditLine, error) {
	return f.lines, f.err
}

func (f *fake) Select(_ context.Context, a dash.Act) (dash.Selection, error) { return f.chosen, f.err }

func (f *fake) act(verb string, a dash.Act) (dash.Result, error) {
	f.did("%s %s %s refs=%s filter=%+v keep=%t", verb, a.Topic, a.Key, strings.Join(a.Refs, ","), a.Filter, a.KeepRetry)
	return f.result, f.err
}

func (f *fake) Replay(_ context.Context, a dash.Act) (dash.Result, error) { return f.act("replay", a) }

func (f *fake) Drop(_ context.Context, a dash.Act) (dash.Result, error) { return f.act("drop", a) }

func (f *fake) Requeue(_ context.Context, a dash.Act) (dash.Result, error) {
	return f.act("requeue", a)
}

func (f *fake) Undo(_ context.Context, id string) (dash.Result, error) {
	f.did("undo %s", id)
	return f.result, f.err
}

func (f *fake) Pause(_ context.Context, p dash.PauseOrder) error {
	f.did("pause %s for %s because %q", p.Topic, p.For.Duration(), p.Reason)
	return f.err
}

func (f *fake) Resume(_ context.Context, topic string) (ended bool, err error) {
	f.did("resume %s", topic)
	return f.result.Count > 0, f.err
}

// ago is so long before fakeNow.
func ago(d time.Duration) time.Time { return fakeNow.Add(-d) }

// wave are sixty minutes with something of everything.
func wave(height int64) (minutes []dash.Minute) {
	for i := range int64(60) {
		up := (i*i*7+i*13)%17 + 4
		in := height * up / 10
		out := max(0, in-height*(i%5)/20)
		bad := (i * i) % 11 * height / 150
		minutes = append(minutes, dash.Minute{
			At: ago(time.Duration(60-i) * time.Minute).Truncate(time.Minute), In: in, Out: out,
			Outcomes: dash.Outcomes{"done": out, "failed": bad, "timed_out": bad / 3, "crashed": bad / 9, "deferred": out / 20},
			Dead:     bad / 9, P50: dash.Seconds(0.04 + float64(up)/400), P99: dash.Seconds(0.3 + float64(i%13)/9),
			Depths: dash.Depths{Pool: height * 40, Due: in - out + height/4, Ready: up * 3, Running: up % 9, Dead: i * height / 90}, OldestDue: dash.Seconds(i % 23),
		})
	}
	return minutes
}

// busy are sidecars, pools and n topics on an ordinary day with some trouble.
func busy(n int) dash.Overview {
	o := dash.Overview{
		Now: fakeNow, Version: "v1.4.0", Instance: "shop-web-1:4711", Redis: dash.Redis{Up: true, Latency: 0.0004, Version: "7.0.15", UsedBytes: 812 << 20, MaxBytes: 4 << 30},
		Pools: []dash.Pool{
			{Name: "default", Instance: "shop-web-1:4711", Listen: "unix:///run/php/php8.2-fpm.sock", Slots: 8, Most: 8, Used: 5, Status: &dash.Status{Active: 6, Idle: 2}},
			{Name: "jobs", Instance: "shop-web-1:4711", Listen: "unix:///run/php/jobs.sock", Slots: 24, Most: 24, Used: 23, Status: &dash.Status{Active: 24, Queue: 3, MaxReached: 118}},
			{Name: "reports", Instance: "shop-web-2:815", Listen: "tcp://10.0.0.7:9000", Down: "dial tcp 10.0.0.7:9000: connect: connection refused", Slots: 4, Most: 4},
		},
		Sidecars: []dash.Sidecar{
			{Instance: "shop-web-1:4711", Host: "shop-web-1", PID: 4711, Version: "v1.4.0", Since: ago(52 * time.Hour), Seen: ago(time.Second), State: dash.SidecarRunning, Topics: n, InHand: 28, Memory: 41 << 20},
			{Instance: "shop-web-2:815", Host: "shop-web-2", PID: 815, Version: "v1.3.2", Since: ago(9 * time.Hour), Seen: ago(2 * time.Second), State: dash.SidecarNotReady, Reasons: []string{`fpm pool "reports": connection refused`}, Topics: n, Memory: 38 << 20},
			{Instance: "shop-web-3:99", Host: "shop-web-3", PID: 99, Version: "v1.3.2", Since: ago(9 * time.Hour), Seen: ago(4 * time.Minute), State: dash.SidecarLost, Topics: n},
		},
		Alarms: []dash.Alarm{
			{Rule: "oldest_due", Topic: "order_timeout", Text: "oldest due job waits for: 7m36s > 5m0s", Readings: []dash.Reading{{Condition: "oldest_due", Value: 455.55172, Limit: 300}}, Since: ago(3 * time.Minute)},
			{Rule: "fpm_down", Pool: "reports", Text: "PHP-FPM does not answer: connection refused", Readings: []dash.Reading{{Condition: "fpm_down", Value: 1, Why: "connection refused"}}, Since: ago(4 * time.Minute)},
		},
		Minutes: wave(2400),
	}
	names := []string{"order_timeout", "send_sms", "invoice_pdf", "push_notice", "stock_sync", "coupon_expire", "refund_check", "mail", "report_daily", "image_thumb", "search_index", "webhook_out", "points_settle", "cart_remind", "audit_log"}
	for i := range n {
		name := names[i%len(names)]
		if i >= len(names) {
			name = fmt.Sprintf("%s_%03d", name, i/len(names))
		}
		o.Topics = append(o.Topics, quiet(name, int64(i)))
	}
	for i := range min(n, 8) {
		trouble(&o.Topics[i], i)
	}
	return o
}

func quiet(name string, i int64) dash.Topic {
	height := (i*37)%300 + 3
	return dash.Topic{
		Name: name, Profile: dash.ProfileDelay, Depths: dash.Depths{Pool: height * 40, Due: height % 3, Ready: height % 5, Running: height % 4, Dead: i % 7 * 3},
		LateAfter: 60, Pool: "default", Mode: "request", Workers: 8, Minutes: wave(height),
		Recent: dash.Recent{
			InPerMinute: float64(height) * 1.02, OutPerMinute: float64(height), Outcomes: dash.Outcomes{"done": height * 60, "failed": i % 5 * 3, "deferred": height / 3},
			P50: 0.042, P99: 0.81, LateP50: 0.0013, LateP99: 0.021,
		},
	}
}

// trouble makes something wrong with t.
func trouble(t *dash.Topic, kind int) {
	switch kind {
	case 0:
		t.Depths.Due, t.Depths.Ready, t.OldestDue = 12480, 310, 250
		t.Recent.Outcomes = dash.Outcomes{"done": 8100, "failed": 640, "timed_out": 122, "crashed": 14, "rejected": 9}
		t.Recent.DeadPerHour, t.Depths.Dead = 143, 1920
	case 1:
		t.State.Paused = &dash.Paused{By: "web 127.0.0.1", Reason: "gateway maintenance until nine", Since: ago(12 * time.Minute), Until: fakeNow.Add(48 * time.Minute)}
		t.Profile, t.Depths.Ready = dash.ProfileList, 5120
	case 2:
		t.State.Shut = []string{"script /srv/shop/jobs/invoice_pdf.php: no such file"}
		t.Depths.Ready = 44
	case 3:
		t.State.Breaker = &dash.Breaker{Failures: 20, Error: "RuntimeException: APNs answered 403 InvalidProviderToken", Since: ago(6 * time.Minute), NextProbe: fakeNow.Add(24 * time.Second)}
		t.Recent.DeadPerHour = 12
	case 4:
		t.State.Backpressure = true
		t.Depths.Due, t.Depths.Ready, t.OldestDue = 380000, 60000, 41
	case 5:
		t.State.Throttled = "100/s"
	case 6:
		t.Error = "WRONGTYPE Operation against a key holding the wrong kind of value"
	case 7:
		t.State.Stalled = "due jobs are not claimed, for no known reason, for 63 s"
	}
}

// deadTopic is a topic with dead jobs, and what its page shows.
func deadTopic() dash.TopicView {
	t := quiet("order_timeout", 5)
	trouble(&t, 0)
	return dash.TopicView{
		Now: fakeNow, Topic: t,
		Options: []dash.Option{
			{Name: "call", Value: `"App\\Jobs\\OrderTimeout::handle"`},
			{Name: "timeout", Value: `"20s"`},
			{Name: "retry", Value: `["5s", "30s", "2m", "10m", "30m"]`, Default: true},
			{Name: "workers", Value: "0", Default: true},
			{Name: "lease", Value: `"30s"`, Default: true},
		},
		RedisAt: []dash.KeyName{
			{Role: "pool", Key: "delay:pool:order_timeout"}, {Role: "ready", Key: "delay:ready:order_timeout"}, {Role: "running", Key: "delay:running:order_timeout"}, {Role: "dead", Key: "delay:dead:order_timeout"},
		},
	}
}

func deadJobs() dash.JobsPage {
	page := dash.JobsPage{Now: fakeNow, Next: "50", Looked: 50, Total: 1920}
	errs := []string{
		"RuntimeException: payment gateway answered 502 Bad Gateway in /srv/shop/src/Gateway.php:214",
		"timed out after 20s", "PDOException: SQLSTATE[HY000] [2002] Connection refused", "child was killed by signal 9",
	}
	for i := range 12 {
		page.Jobs = append(page.Jobs, dash.JobRow{
			Ref: fmt.Sprintf("d%d", i), Topic: "order_timeout", Key: dash.KeyDead, UUID: fmt.Sprintf("ord_%s_20261130_%06d", []string{"web", "app"}[i%2], 788000+i*37),
			Tries: 6, Crashes: i % 4 / 3, Size: 412 + i, Created: ago(time.Duration(i+50) * time.Minute), Died: ago(time.Duration(i*4+1) * time.Minute), Error: errs[i%len(errs)],
		})
	}
	return page
}

// deadJob is a job that is dead.
func deadJob() dash.JobView {
	row := deadJobs().Jobs[0]
	return dash.JobView{
		Now: fakeNow, Row: row, Ahead: -1, Slots: 8, MaxTries: 5, RedisKey: "delay:dead:order_timeout",
		Trace: "#0 /srv/shop/src/Gateway.php(214): Shop\\Gateway->fail()\n#1 /srv/shop/src/Orders.php(77): Shop\\Gateway->refund()\n#2 /srv/shop/jobs/order_timeout.php(4): Shop\\Orders->closeIfUnpaid()\n#3 {main}",
		Payload: dash.Payload{
			Shown: true, Size: 412, Masked: 1, Raw: `{"uuid":"` + row.UUID + `","order_id":788000,"phone":"138****5678","retry":6}`,
			Pretty: "{\n    \"uuid\": \"" + row.UUID + "\",\n    \"order_id\": 788000,\n    \"phone\": \"138****5678\",\n    \"retry\": 6\n}",
		},
		History: []dash.Event{
			{At: row.Created, What: dash.EventCreated},
			{What: dash.EventTried, N: 6, Text: "RuntimeException: payment gateway answered 502 Bad Gateway"},
			{At: row.Died, What: dash.EventDied, Text: row.Error},
		},
		Audit: []dash.AuditLine{{At: ago(20 * time.Minute), By: "cli ops@shop-web-1", Verb: "replay", Topic: "order_timeout", Count: 12, Filter: "error~502"}},
	}
}

// busySource has something on every page.
func busySource(n int) *fake {
	rows := deadJobs().Jobs
	return &fake{
		overview: busy(n), topic: deadTopic(), jobs: deadJobs(), job: deadJob(),
		steps: []dash.SearchStep{
			{Now: fakeNow, Found: rows[:3], Next: "1", Looked: 500, Total: 1500, Topic: "order_timeout", Key: dash.KeyPool},
			{Now: fakeNow, Next: "2", Looked: 1000, Total: 1500, Topic: "order_timeout", Key: dash.KeyDead},
			{Now: fakeNow, Found: rows[3:5], Looked: 1500, Total: 1500, Topic: "send_sms", Key: dash.KeyDead},
		},
		lines: []dash.AuditLine{
			{At: ago(2 * time.Minute), By: "web 127.0.0.1", Verb: "drop", Topic: "order_timeout", Count: 3, Filter: "error~502", File: "/var/lib/sidecar/undo/20261130-081330.jsonl", Undo: "u1"},
			{At: ago(12 * time.Minute), By: "web 127.0.0.1", Verb: "pause", Topic: "send_sms", Note: "for 1h0m0s gateway maintenance"},
			{At: ago(time.Hour), By: "alert", Verb: "rewind"},
		},
		chosen: dash.Selection{Count: 1920, Sample: rows[:5]},
		result: dash.Result{Count: 2, Undo: "u1"},
	}
}

func (brokenJobs) Jobs(context.Context, dash.JobsQuery) (dash.JobsPage, error) {
	return dash.JobsPage{}, fmt.Errorf("NOPERM this user has no permissions")
}

type sourceKey struct{}

// fromContext is the Source that a request's context holds.
type fromContext struct{}

func (fromContext) of(ctx context.Context) dash.Source {
	s, _ := ctx.Value(sourceKey{}).(dash.Source)
	return s
}

func (f fromContext) Overview(ctx context.Context) (dash.Overview, error) {
	return f.of(ctx).Overview(ctx)
}

func (f fromContext) Topic(ctx context.Context, name string) (dash.TopicView, error) {
	return f.of(ctx).Topic(ctx, name)
}

func (f fromContext) Jobs(ctx context.Context, q dash.JobsQuery) (dash.JobsPage, error) {
	return f.of(ctx).Jobs(ctx, q)
}

func (f fromContext) Job(ctx context.Context, topic, ref string) (dash.JobView, error) {
	return f.of(ctx).Job(ctx, topic, ref)
}

func (f fromContext) Search(ctx context.Context, q dash.SearchQuery) (dash.SearchStep, error) {
	return f.of(ctx).Search(ctx, q)
}

func (f fromContext) Audit(ctx context.Context, topic string) ([]dash.AuditLine, error) {
	return f.of(ctx).Audit(ctx, topic)
}

func (f fromContext) Select(ctx context.Context, a dash.Act) (dash.Selection, error) {
	return f.of(ctx).Select(ctx, a)
}

func (f fromContext) Replay(ctx context.Context, a dash.Act) (dash.Result, error) {
	return f.of(ctx).Replay(ctx, a)
}

func (f fromContext) Drop(ctx context.Context, a dash.Act) (dash.Result, error) {
	return f.of(ctx).Drop(ctx, a)
}

func (f fromContext) Requeue(ctx context.Context, a dash.Act) (dash.Result, error) {
	return f.of(ctx).Requeue(ctx, a)
}

func (f fromContext) Undo(ctx context.Context, id string) (dash.Result, error) {
	return f.of(ctx).Undo(ctx, id)
}

func (f fromContext) Pause(ctx context.Context, p dash.PauseOrder) error {
	return f.of(ctx).Pause(ctx, p)
}

func (f fromContext) Resume(ctx context.Context, topic string) (ended bool, err error) {
	return f.of(ctx).Resume(ctx, topic)
}
