package pulse

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// fake is a sidecar that counts what it is told to.
type fake struct {
	name     string
	outcomes *prometheus.CounterVec
	buried   *prometheus.CounterVec
	run      *prometheus.HistogramVec
	readings map[string]queue.Reading
	reg      *prometheus.Registry
	peak     float64 // of its runs; 0: a version that does not tell
}

func newFake(name string) *fake {
	f := &fake{
		name:     name,
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: outcomesName}, []string{"topic", "outcome"}),
		buried:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: buriedName}, []string{"topic"}),
		run:      prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: runName, Buckets: []float64{.1, 1, 10}}, []string{"topic"}),
		readings: map[string]queue.Reading{}, reg: prometheus.NewRegistry(),
	}
	f.reg.MustRegister(f.outcomes, f.buried, f.run)
	return f
}

func (f *fake) Heartbeat(context.Context) queue.Heartbeat {
	return queue.Heartbeat{Instance: f.name, Host: "h", Topics: []string{"mail"}}
}

func (f *fake) Peaks() map[string]queue.Peaks {
	defer func() { f.peak = 0 }()
	if f.peak == 0 {
		return nil
	}
	return map[string]queue.Peaks{"mail": {Run: f.peak}}
}

func (f *fake) Readings() map[string]queue.Reading { return f.readings }

// works lets n jobs of mail be done in that many seconds each, and some fail for good.
func (f *fake) works(done, dead int, seconds float64) {
	f.outcomes.WithLabelValues("mail", "done").Add(float64(done))
	f.outcomes.WithLabelValues("mail", "failed").Add(float64(dead))
	f.buried.WithLabelValues("mail").Add(float64(dead))
	for range done + dead {
		f.run.WithLabelValues("mail").Observe(seconds)
	}
}

func (*fake) Meeting() *Server { return nil }

// clock is Redis's, as tests set it: minutes pass when they say so.
type clock struct{ now time.Time }

func (c *clock) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *clock) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if told, ok := cmd.(*redis.TimeCmd); ok && err == nil {
			told.SetVal(c.now)
		}
		return err
	}
}

func (c *clock) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *clock) passes(d time.Duration) { c.now = c.now.Add(d) }

// newServer returns where sidecars meet, and its clock.
func newServer(t *testing.T, r *testenv.RedisServer) (*Server, *clock) {
	t.Helper()
	c := &clock{now: time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)}
	rdb := r.Client()
	rdb.AddHook(c)
	return &Server{Redis: rdb, Prefix: "shop:"}, c
}

func newPulse(f *fake) *Pulse { return New(f.reg, f, slog.New(slog.DiscardHandler)) }

// outs returns how many jobs left in each minute that is known.
func outs(h History) (list []int64) {
	for _, m := range h.All {
		list = append(list, m.Out)
	}
	return list
}

func TestTheMinutesOfAllSidecarsAreSummedUp(t *testing.T) {
	t.Parallel()
	server, clock := newServer(t, testenv.Redis(t))
	one, two := newFake("one"), newFake("two")
	one.works(1000, 0, 5) // before its pulse is taken
	a, b := newPulse(one), newPulse(two)
	one.readings["mail"] = queue.Reading{Pool: 70, Ready: 20, Running: 10, Dead: 4}
	for _, p := range []*Pulse{a, b} {
		p.Beat(t.Context(), server)
	}
	one.works(8, 2, .05)
	two.works(90, 0, .5)
	clock.passes(time.Minute)
	for _, p := range []*Pulse{a, b} {
		p.Beat(t.Context(), server)
	}
	a.Beat(t.Context(), server) // b's was not there yet
	for name, p := range map[string]*Pulse{"one": a, "two": b} {
		h := p.History()
		if len(h.All) != 1 || len(h.Topics["mail"].Minutes) != 1 {
			t.Fatalf("%s knows %+v", name, h)
		}
		m, r := h.Topics["mail"].Minutes[0], h.Topics["mail"].Recent
		if m.Out != 100 || m.Dead != 2 || m.Outcomes["done"] != 98 || m.Outcomes["failed"] != 2 || m.Depths.Pool != 70 || h.All[0].Out != 100 {
			t.Errorf("%s: the minute is %+v", name, m)
		}
		if r.OutPerMinute != 100 || r.DeadPerHour != 2 || r.P50 < .1 || r.P50 > 1 || r.P99 > 1 {
			t.Errorf("%s: of late %+v", name, r)
		}
	}
	alive, now := b.Alive()
	if len(alive) != 2 || alive[0].Instance != "one" || alive[0].Lost(now) || !alive[0].Lost(now.Add(time.Minute)) {
		t.Errorf("alive are %+v at %s", alive, now)
	}
}

func TestARestartKnowsTheHourBefore(t *testing.T) {
	t.Parallel()
	server, clock := newServer(t, testenv.Redis(t))
	before := newFake("before")
	old := newPulse(before)
	old.Beat(t.Context(), server)
	before.works(5, 0, .05)
	clock.passes(time.Minute)
	old.Beat(t.Context(), server)
	before.works(3, 0, .05)
	old.leave(t.Context(), server) // with what the minute has so far
	after := newPulse(newFake("after"))
	after.Beat(t.Context(), server)
	if got := outs(after.History()); !slices.Equal(got, []int64{5}) {
		t.Errorf("in the same minute it knows %d", got)
	}
	clock.passes(time.Minute)
	after.Beat(t.Context(), server)
	if got := outs(after.History()); !slices.Equal(got, []int64{5, 3}) {
		t.Errorf("in the next minute it knows %d", got)
	}
	alive, _ := after.Alive()
	if len(alive) != 2 || !alive[1].Stopped || alive[0].Stopped {
		t.Errorf("alive are %+v", alive)
	}
}

// How runs ended is counted over the hour, as the dead are: rates and times are of the last minutes.
func TestWhatRanAnHourAgoIsCountedAndNoRate(t *testing.T) {
	t.Parallel()
	server, clock := newServer(t, testenv.Redis(t))
	f := newFake("one")
	p := newPulse(f)
	p.Beat(t.Context(), server)
	f.works(7, 3, .05)
	for minute := range 62 {
		clock.passes(time.Minute)
		p.Beat(t.Context(), server)
		r := p.History().Topics["mail"].Recent
		known := minute < 60
		if r.Outcomes["done"] != of(known, 7) || r.Outcomes["failed"] != of(known, 3) || r.DeadPerHour != of(known, 3) {
			t.Fatalf("after %d minutes the hour had %+v", minute+1, r)
		}
		if late := minute < recentMinutes; (r.P99 > 0) != late || (r.OutPerMinute > 0) != late {
			t.Fatalf("after %d minutes its rate is %+v", minute+1, r)
		}
	}
}

func of(known bool, n int64) int64 {
	if known {
		return n
	}
	return 0
}

// A look at Redis that fails, fails for one look and not for the hour.
func TestTheHourIsAskedForAgainWhereRedisDidNotAnswer(t *testing.T) {
	t.Parallel()
	server, clock := newServer(t, testenv.Redis(t))
	newPulse(newFake("other")).Beat(t.Context(), server)
	key := server.Prefix + "sidecar:minutes:other"
	server.Redis.Set(t.Context(), key, "no hash", 0)
	p := newPulse(newFake("one"))
	p.Beat(t.Context(), server)
	server.Redis.Del(t.Context(), key)
	minutes, now := queue.NewMinutes(server.Redis, server.Prefix), queue.MinuteAt(clock.now)
	for at := now - queue.MinutesKept; at < now; at++ {
		minute := queue.Minute{At: at, Topics: map[string]queue.TopicMinute{"mail": {Left: 1}}}
		if err := minutes.Put(t.Context(), "other", minute); err != nil {
			t.Fatal(err)
		}
	}
	p.Beat(t.Context(), server)
	if got := outs(p.History()); len(got) != queue.MinutesKept {
		t.Errorf("%d minutes are known, want %d", len(got), queue.MinutesKept)
	}
	if again := p.wanted("other"); len(again) != 0 {
		t.Errorf("it asks again for %d", again)
	}
}

func TestAMinuteThatWasNeverPublishedIsNotAskedForForEver(t *testing.T) {
	t.Parallel()
	server, _ := newServer(t, testenv.Redis(t))
	newPulse(newFake("other")).Beat(t.Context(), server)
	p := newPulse(newFake("one"))
	p.Beat(t.Context(), server)
	if again := p.wanted("other"); len(again) != askFor {
		t.Errorf("it asks again for %d, want the last %d", again, askFor)
	}
}

func TestWithoutRedisThereIsNoHistoryAndNoHarm(t *testing.T) {
	t.Parallel()
	redisServer := testenv.Redis(t)
	server, clock := newServer(t, redisServer)
	f := newFake("one")
	p := newPulse(f)
	p.Beat(t.Context(), nil)
	redisServer.Stop()
	f.works(4, 0, .05)
	p.Beat(t.Context(), server)
	if alive, now := p.Alive(); len(alive) != 0 || !now.IsZero() || len(p.History().All) != 0 {
		t.Errorf("alive are %v at %s", alive, now)
	}
	redisServer.Start()
	p.Beat(t.Context(), server)
	clock.passes(time.Minute)
	p.Beat(t.Context(), server)
	if got := outs(p.History()); !slices.Equal(got, []int64{4}) {
		t.Errorf("what was counted meanwhile is %d", got)
	}
}

func TestNoFigureIsAboveWhatWasSeen(t *testing.T) {
	t.Parallel()
	server, clock := newServer(t, testenv.Redis(t))
	f := newFake("one")
	p := newPulse(f)
	p.Beat(t.Context(), server)
	for range 2 { // two minutes
		f.works(50, 0, 1.01)
		f.peak = 1.02
		p.Beat(t.Context(), server)
		f.works(50, 0, 1.01)
		f.peak = 1.01
		clock.passes(time.Minute)
		p.Beat(t.Context(), server)
	}
	if r := p.History().Topics["mail"].Recent; r.P50 < 1 || r.P50 > 1.02 || r.P99 < 1 || r.P99 > 1.02 {
		t.Errorf("%+v, want no figure above 1.02 s", r)
	}
	f.works(1, 0, 1.01) // whose greatest nobody knows
	clock.passes(time.Minute)
	p.Beat(t.Context(), server)
	if r := p.History().Topics["mail"].Recent; r.P50 < 5 {
		t.Errorf("%+v, want it to be of the buckets alone", r)
	}
}

func TestWhatDiesInTheMinuteUnderWayIsCountedByAllAndOnce(t *testing.T) {
	t.Parallel()
	server, clock := newServer(t, testenv.Redis(t))
	one, two := newFake("one"), newFake("two")
	a, b := newPulse(one), newPulse(two)
	wants := func(when string, n int64) {
		t.Helper()
		for range 2 { // each hears of the other
			a.Beat(t.Context(), server)
			b.Beat(t.Context(), server)
		}
		for name, p := range map[string]*Pulse{"one": a, "two": b} {
			if got := p.History().Topics["mail"].Recent.DeadPerHour; got != n {
				t.Errorf("%s: %s counts %d, want %d", when, name, got, n)
			}
		}
	}
	wants("before", 0)
	one.works(0, 20, .05)
	wants("at once", 20)
	two.works(0, 3, .05)
	wants("on both", 23)
	clock.passes(time.Minute)
	wants("when the minute is over", 23)
	one.works(0, 1, .05)
	wants("in the next", 24)
	b.leave(t.Context(), server)
	a.Beat(t.Context(), server)
	if got := a.History().Topics["mail"].Recent.DeadPerHour; got != 24 {
		t.Errorf("after a goodbye: %d, want 24", got)
	}
}

func TestWhatCameInFollowsFromWhatWaitsAndWhatLeft(t *testing.T) {
	reading := func(waiting int64) *queue.Reading { return &queue.Reading{Pool: waiting} }
	for name, tt := range map[string]struct {
		before *queue.Reading
		sum    queue.TopicMinute
		want   int64
	}{
		"as many as left":       {reading(10), queue.TopicMinute{Left: 5, Depths: reading(10)}, 5},
		"more wait":             {reading(10), queue.TopicMinute{Left: 5, Depths: reading(30)}, 25},
		"fewer wait":            {reading(10), queue.TopicMinute{Left: 5, Depths: reading(5)}, 0},
		"somebody else took":    {reading(10), queue.TopicMinute{Left: 1, Depths: reading(0)}, 0},
		"no reading before":     {nil, queue.TopicMinute{Left: 5, Depths: reading(30)}, 5},
		"no reading at its end": {reading(10), queue.TopicMinute{Left: 5}, 5},
	} {
		if got := came(tt.before, tt.sum); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestQuantilesAreThoseOfTheirBuckets(t *testing.T) {
	bounds := []float64{1, 2, 4}
	for name, tt := range map[string]struct {
		q      float64
		counts []int64
		most   float64
		want   float64
	}{
		"nothing":            {.5, []int64{0, 0, 0, 0}, 0, 0},
		"within a bucket":    {.5, []int64{0, 10, 0, 0}, 0, 1.5},
		"at a bound":         {.5, []int64{5, 5, 0, 0}, 0, 1},
		"past empty ones":    {.99, []int64{1, 0, 99, 0}, 0, 3.98},
		"above all bounds":   {.99, []int64{0, 0, 0, 10}, 0, 4},
		"of other bounds":    {.5, []int64{1, 2}, 0, 0},
		"all equal":          {.5, []int64{0, 0, 10, 0}, 2.02, 2.01},
		"up to the greatest": {.99, []int64{0, 0, 100, 0}, 2.5, 2.495},
		"far above":          {.99, []int64{0, 0, 0, 10}, 700, 700},
		"below its bucket":   {.5, []int64{0, 0, 10, 0}, 1, 2}, // of a run that is not counted yet
	} {
		if got := float64(quantile(tt.q, bounds, tt.counts, tt.most)); math.Abs(got-tt.want) > .01 {
			t.Errorf("%s: %g, want %g", name, got, tt.want)
		}
	}
}

func TestACounterThatBeganAnewIsNotCountedBackwards(t *testing.T) {
	was := tally{topics: map[string]queue.TopicMinute{"mail": {Left: 10, Outcomes: map[string]int64{"done": 10}, Run: []int64{4, 6}}}}
	now := tally{topics: map[string]queue.TopicMinute{"mail": {Left: 3, Outcomes: map[string]int64{"done": 3}, Run: []int64{1, 2}}}}
	if d := now.since(was)["mail"]; d.Left != 3 || d.Outcomes["done"] != 3 || d.Run[1] != 2 {
		t.Errorf("got %+v", d)
	}
	if d, changed := was.since(was)["mail"]; changed {
		t.Errorf("nothing happened: %+v", d)
	}
}

func TestAFullRedisIsKnownByTheHeartbeatThatGotThrough(t *testing.T) {
	t.Parallel()
	server, _ := newServer(t, testenv.Redis(t))
	var log bytes.Buffer
	one := newFake("one")
	p := New(one.reg, one, slog.New(slog.NewTextHandler(&log, nil)))
	p.Beat(t.Context(), server)
	if p.Full() || log.Len() > 0 {
		t.Error("a Redis with room is full")
	}
	server.Redis.ConfigSet(t.Context(), "maxmemory", "1mb")
	p.Beat(t.Context(), server)
	if alive, now := p.Alive(); !p.Full() || len(alive) != 1 || alive[0].Lost(now) {
		t.Errorf("full: %t, alive: %+v", p.Full(), alive)
	}
	p.Beat(t.Context(), server)
	if alive, _ := p.Alive(); !alive[0].Refused {
		t.Errorf("the next heartbeat does not tell of it: %+v", alive)
	}
	server.Redis.ConfigSet(t.Context(), "maxmemory", "0")
	p.Beat(t.Context(), server)
	p.Beat(t.Context(), server)
	if alive, _ := p.Alive(); alive[0].Refused {
		t.Errorf("a heartbeat tells of it still: %+v", alive)
	}
	if text := log.String(); strings.Count(text, "redis is at maxmemory") != 1 || strings.Count(text, "redis has memory again") != 1 || strings.Count(text, "\n") != 2 {
		t.Errorf("want a line at its begin and one at its end:\n%s", text)
	}
}
