package fastcgi

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sidecar/compat"
)

// crewOf makes a crew on a pool without any FPM; its gates are open, and nobody runs it.
func crewOf(children int, o TopicOptions) *crew {
	o.Mode, o.MaxJobs, o.MaxAge, o.Timeout, o.IdleTimeout = ModeWorker, 1000, time.Hour, time.Minute, time.Minute
	_, topics := openPoolWith(children, o)
	return topics[0].crew
}

// serving adds a worker that is ready.
func (c *crew) serving(now time.Time) *resident {
	r := newResident(c, now)
	r.ready = true
	c.residents = append(c.residents, r)
	return r
}

func TestTheWindowIsTenMillisecondsOfWork(t *testing.T) {
	c := crewOf(2, TopicOptions{Topic: "mail"})
	for mean, want := range map[time.Duration]int{
		0: 1, time.Microsecond: 64, 150 * time.Microsecond: 64, 200 * time.Microsecond: 50, 3 * time.Millisecond: 3, time.Second: 1,
	} {
		if c.pace.mean = mean; c.window() != want {
			t.Errorf("%s a run: %d claims ahead, want %d", mean, c.window(), want)
		}
	}
}

func TestTheMeanFollowsTheLastRuns(t *testing.T) {
	c := crewOf(2, TopicOptions{Topic: "mail"})
	c.measure(c.topic.routes.other, 10*time.Millisecond) // the first of a worker is slow
	for range 100 {
		c.measure(c.topic.routes.other, 20*time.Microsecond)
	}
	if c.pace.mean > 100*time.Microsecond {
		t.Errorf("%s after a slow start", c.pace.mean)
	}
	c.measure(c.topic.routes.other, time.Second)
	if c.window() != 1 {
		t.Errorf("%d claims ahead after a run of a second", c.window())
	}
}

// A worker that has been with one job for long gets no more claims ahead, nor does a topic without any worker.
func TestPermitsFollowTheWorkers(t *testing.T) {
	now := time.Now()
	c := crewOf(4, TopicOptions{Topic: "mail", Workers: 2})
	c.pace.mean = time.Millisecond
	check := func(what string, want int) {
		t.Helper()
		if got := c.permits(now); got != want {
			t.Errorf("%s: %d permits, want %d", what, got, want)
		}
	}
	check("two workers could be had", 20)
	r := c.serving(now)
	check("one is there", 20)
	r.give(&errand{route: c.topic.routes.other}, now.Add(-time.Second))
	check("it has been busy for long", 11)
	c.notBefore = now.Add(time.Second)
	check("and no other can be started now", 1)
	c.drained = true
	check("drained", 0)
	c = crewOf(1, TopicOptions{Topic: "mail"})
	c.topic.pool.used = 1
	check("others have all slots: one claim, for which somebody gives way", 1)
	c.slots = &waiter{}
	check("nobody does so far", 0)
	c.slots, c.topic.gate.reason = nil, ErrNotSeen
	check("the gate is shut", 0)
}

func TestJobsGoToWhoHasRoom(t *testing.T) {
	now := time.Now()
	c := crewOf(4, TopicOptions{Topic: "mail"})
	own := c.topic.routes.other
	small := &errand{route: own, job: parse(t, `{"a":1}`)}
	large := &errand{route: own, job: parse(t, `{"a":"`+strings.Repeat("x", 40<<10)+`"}`)}
	a, b := c.serving(now), c.serving(now.Add(time.Second))
	if got := c.pick(small); got != b {
		t.Error("not the one that was busy last")
	}
	a.give(large, now)
	b.give(large, now)
	if got := c.pick(small); got != nil {
		t.Error("a second job, though nothing is known of the runs")
	}
	c.pace.mean = time.Microsecond
	a.give(small, now)
	if got := c.pick(small); got != b {
		t.Error("not the one that has least")
	}
	if got := c.pick(large); got != nil {
		t.Error("more than the socket holds")
	}
	for _, unfit := range []func(*resident){
		func(r *resident) { r.leaving = byIdle },
		func(r *resident) { r.epoch-- },
		func(r *resident) { r.pinged = now },
		func(r *resident) { r.given = 1000 },
		func(r *resident) { r.ready = false },
	} {
		c := crewOf(1, TopicOptions{Topic: "mail"})
		r := c.serving(now)
		unfit(r)
		if c.pick(small) != nil {
			t.Errorf("a job for one that must not have it: %+v", r)
		}
	}
}

// What lies behind a slow job waits for its end: of a mixed topic only quick routes are lain behind.
func TestNothingLiesBehindAJobOfASlowRoute(t *testing.T) {
	now := time.Now()
	c := crewOf(1, TopicOptions{Topic: "mail", Routes: map[string]Target{"quick": {Call: "quick"}, "slow": {Call: "slow"}}})
	of := func(typ string) *errand { return &errand{route: c.topic.routes.byType[typ]} }
	for range 10 {
		c.measure(c.topic.routes.byType["quick"], time.Microsecond)
		c.measure(c.topic.routes.byType["slow"], time.Second)
	}
	r := c.serving(now)
	for _, typ := range []string{"quick", "quick", "slow"} {
		if c.pick(of(typ)) != r {
			t.Fatalf("no room for a %s one behind %d quick ones", typ, len(r.inHand))
		}
		r.give(of(typ), now)
	}
	if c.pick(of("quick")) != nil {
		t.Error("a quick job behind a slow one")
	}
}

// The jobs of a worker each have their own route's time, and the crew wakes up for it.
func TestEachJobIsLateByItsOwnRoute(t *testing.T) {
	c := crewOf(1, TopicOptions{Topic: "mail", Call: "handle", Routes: map[string]Target{"short": {Call: "short", Timeout: time.Second}}})
	now, r := time.Now(), c.serving(time.Now())
	r.life.reply = newReply(r.token, 0)
	c.wakes = now.Add(time.Hour)
	long := c.errands.get(compat.Job{}, c.topic.routes.other, nil)
	r.give(long, now)
	r.give(c.errands.get(compat.Job{}, c.topic.routes.byType["short"], nil), now)
	if wait := r.look(now.Add(2 * time.Second)); r.late || wait != 58*time.Second || !c.wakes.Equal(now.Add(time.Minute)) {
		t.Errorf("two seconds into a minute: late = %v, looked at again after %s, by %s", r.late, wait, c.wakes)
	}
	if err := r.settle(t.Context(), []conclusion{{id: long.id, outcome: compat.Outcome{Verdict: compat.Done}}}); err != nil {
		t.Fatal(err)
	}
	if in := time.Until(c.wakes); in > time.Second {
		t.Errorf("the crew wakes up in %s for a job that has a second", in)
	}
	if r.look(time.Now().Add(2 * time.Second)); !r.late {
		t.Error("not late after two seconds of one")
	}
}

// Which of a dead worker's jobs it had begun.
func TestOnlyWhatMayHaveBegunIsCharged(t *testing.T) {
	unix, tcp := &net.UnixConn{}, &net.TCPConn{}
	tests := map[string]struct {
		conn   net.Conn
		err    error
		bye    bool
		jobs   int
		unsent bool
		want   bool
	}{
		"it ended with the job":            {unix, nil, false, 1, false, true},
		"it said bye":                      {unix, nil, true, 2, false, false},
		"the frame could not be sent":      {unix, nil, false, 1, true, false},
		"it had not read the only frame":   {unix, syscall.ECONNRESET, false, 1, false, false},
		"of several it may have read some": {unix, syscall.ECONNRESET, false, 2, false, true},
		"a reset says nothing on TCP":      {tcp, syscall.ECONNRESET, false, 1, false, true},
	}
	for name, tt := range tests {
		r := &resident{}
		r.life.call.conn, r.life.readErr = tt.conn, tt.err
		r.life.bye.Store(tt.bye)
		inHand := make([]*errand, tt.jobs)
		for i := range inHand {
			inHand[i] = &errand{unsent: tt.unsent}
		}
		if got := r.began(inHand); got != tt.want {
			t.Errorf("%s: begun = %v", name, got)
		}
	}
}

func TestAWaiterForPermitsLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crewOf(1, TopicOptions{Topic: "mail"})
		if got := c.acquire(t.Context(), 5); got != 1 {
			t.Fatal(got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got := -1
		go func() { got = c.acquire(ctx, 1) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		c.release(1)
		if got != 0 || c.taken != 0 || len(c.takers) != 0 {
			t.Errorf("got %d; %d taken, %d wait", got, c.taken, len(c.takers))
		}
	})
}

// lapsing is a claim that lapses when it is told to.
type lapsing struct{ over bool }

func (l *lapsing) Lapsed() bool { return l.over }

// A process that stood still past its leases must not begin what waits in it: others have it by then.
func TestWhatHasLapsedIsNotGivenToAWorker(t *testing.T) {
	now := time.Now()
	c := crewOf(1, TopicOptions{Topic: "mail"})
	claims := []*lapsing{{over: true}, {}, {over: true}}
	for _, claim := range claims {
		e := c.errands.get(parse(t, `{"a":1}`), c.topic.routes.other, nil)
		e.claim = claim
		c.pending.push(e)
	}
	waiting := c.pending.all()
	for _, e := range waiting {
		c.pending.push(e)
	}
	r := c.serving(now)
	c.dispatch(now)
	if len(r.inHand) != 1 || r.inHand[0] != waiting[1] {
		t.Errorf("the worker has %v, want the one whose claim holds", r.inHand)
	}
	for _, i := range []int{0, 2} {
		select {
		case o := <-waiting[i].outcome:
			if o.Verdict != compat.Unavailable {
				t.Errorf("the lapsed one is %s, want unavailable", o.Verdict)
			}
		default:
			t.Errorf("the lapsed one at %d has no outcome", i)
		}
	}
}

// The job for which a slot was asked has gone elsewhere meanwhile, and another worker is on its way: the slot goes back,
// once.
func TestASlotThatIsNotNeededAnyMoreGoesBack(t *testing.T) {
	c := crewOf(2, TopicOptions{Topic: "mail", Workers: 2})
	now := time.Now()
	c.slots = c.topic.pool.enlist(c.topic, 1)
	c.residents = append(c.residents, newResident(c, now))
	c.topic.used++ // the resident's
	c.topic.pool.used++
	todo := plan{next: now.Add(time.Hour)}
	c.mu.Lock()
	c.hireMore(now, &todo)
	c.mu.Unlock()
	if used, _, _ := c.topic.pool.load(); used != 1 || len(todo.start) != 0 || c.slots != nil {
		t.Errorf("%d slots taken and %d workers started, want the one of the worker that is on its way", used, len(todo.start))
	}
}
