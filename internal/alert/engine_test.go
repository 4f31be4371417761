package alert_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"sidecar/internal/alert"
	"sidecar/queue"
)

func TestAnAlarmIsToldOnceItsConditionsHaveHeldAndOnceTheyHaveNotForLong(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	s := w.sidecar("a")
	s.backlog(1000)
	w.pass(10*time.Minute, s)
	wantTold(t, r) // not above it
	s.backlog(1001)
	w.pass(2*time.Minute, s)
	wantTold(t, r) // not yet for two minutes
	w.pass(10*time.Second, s)
	wantTold(t, r, "firing backlog orders")
	w.pass(time.Hour, s)
	wantTold(t, r) // once
	s.backlog(0)
	w.pass(50*time.Second, s)
	wantTold(t, r)
	w.pass(20*time.Second, s)
	wantTold(t, r, "recovered backlog orders")
	w.pass(time.Hour, s)
	wantTold(t, r)
	if len(s.engine.State()) > 0 {
		t.Errorf("left: %+v", s.engine.State())
	}
}

func TestAnAlarmThatGoesOnIsToldAgain(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, rule("backlog", func(r *alert.Rule) {
		r.Backlog, r.For, r.RepeatEvery = alert.Over(1), 0, time.Hour
	}))
	s := w.sidecar("a")
	s.backlog(2)
	w.pass(3*time.Hour, s)
	wantTold(t, r, "firing backlog orders", "still backlog orders", "still backlog orders")
}

func TestAValueThatSwingsAboutItsLimitIsOneAlarm(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	s := w.sidecar("a")
	for range 60 {
		s.backlog(1200)
		w.pass(3*time.Minute, s)
		s.backlog(900) // below the limit, above four fifths of it
		w.pass(3*time.Minute, s)
	}
	wantTold(t, r, "firing backlog orders", "still backlog orders")
	s.backlog(800)
	w.pass(2*time.Minute, s)
	wantTold(t, r, "recovered backlog orders")
}

// Its jobs wait because somebody wants them to.
func TestABacklogOfATopicThatIsPausedIsNoAlarm(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule(), rule("late", func(r *alert.Rule) { r.OldestDue, r.For = alert.Over(300), 0 }),
		rule("forgotten", func(r *alert.Rule) {
			r.Backlog, r.PausedFor, r.For = alert.Over(1000), alert.Over(3600), 0
		}))
	s := w.sidecar("a")
	topic := alert.Topic{Known: true, Backlog: 2000, OldestDue: time.Hour, Pool: "default", Waits: true}
	s.topics["orders"] = topic
	w.pass(10*time.Minute, s)
	wantTold(t, r)
	topic.Paused = 2 * time.Hour // a rule that names both means it
	s.topics["orders"] = topic
	w.pass(time.Minute, s)
	wantTold(t, r, "firing forgotten orders")
	topic.Paused, topic.Waits = 0, false
	s.topics["orders"] = topic
	w.pass(10*time.Second, s)
	wantTold(t, r, "firing late orders")
}

// The sources' alarm (CONTRACT 2): only when all three are so at once.
func TestTheTripleConditionNeedsAllThree(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, rule("overload", func(r *alert.Rule) {
		r.Backlog, r.RedisLatency, r.Dead, r.For = alert.Over(1000), alert.Over(0.5), alert.Over(10), 0
	}))
	s := w.sidecar("a")
	set := func(backlog, dead int64, latency time.Duration) {
		s.topics["orders"] = alert.Topic{Known: true, Backlog: backlog, Dead: dead, Pool: "default"}
		s.redis.Latency = latency
		w.pass(time.Minute, s)
	}
	set(1001, 11, 500*time.Millisecond)
	set(1001, 10, time.Second)
	set(1000, 11, time.Second)
	wantTold(t, r)
	set(1001, 11, 501*time.Millisecond)
	wantTold(t, r, "firing overload orders")
}

func TestSeveralAlarmsOfOneMomentAreOneMessage(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule(),
		rule("down", func(r *alert.Rule) { r.FPMDown, r.Severity = true, alert.Critical }))
	s := w.sidecar("a")
	for _, name := range []string{"a", "b", "c"} {
		s.topics[name] = alert.Topic{Known: true, Backlog: 5000, Pool: "default"}
	}
	s.pools["default"] = alert.Pool{Down: "connection refused"}
	w.pass(3*time.Minute, s)
	wantTold(t, r, "firing down default, firing backlog a, firing backlog b, firing backlog c")
}

func TestTwoSidecarsTellOnce(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule(), rule("down", func(r *alert.Rule) { r.FPMDown = true }))
	a, b := w.sidecar("a"), w.sidecar("b")
	a.backlog(2000)
	b.backlog(2000)
	w.pass(10*time.Minute, a, b)
	wantTold(t, r, "firing backlog orders")
	// What one of them alone sees is no less an alarm, and the other does not end it.
	b.pools["default"] = alert.Pool{Down: "no child took the job"}
	w.pass(10*time.Minute, a, b)
	wantTold(t, r, "firing down default")
	a.backlog(0)
	b.backlog(0)
	b.pools["default"] = alert.Pool{}
	w.pass(2*time.Minute, a, b)
	wantTold(t, r, "recovered down default", "recovered backlog orders")
}

func TestARestartTellsNothingTwice(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule(), rule("dead", func(r *alert.Rule) { r.DeadPerHour, r.For = alert.Over(5), 0 }))
	s := w.sidecar("a")
	w.pass(time.Minute, s)
	s.topics["orders"] = alert.Topic{Known: true, Backlog: 2000, Dead: 8, Pool: "default"}
	w.pass(3*time.Minute, s)
	wantTold(t, r, "firing dead orders", "firing backlog orders")
	for range 3 {
		w.now = w.now.Add(5 * time.Minute) // it was away for a while
		next := w.sidecar("again")
		next.topics = s.topics
		w.pass(10*time.Minute, next)
	}
	wantTold(t, r) // neither again, nor that it was over: a young sidecar does not know what died before it came
}

func TestASilenceKeepsQuietAndEnds(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	s := w.sidecar("a")
	if _, err := alert.Mute(t.Context(), w.ledger, "orders", time.Hour, "test"); err != nil {
		t.Fatal(err)
	}
	s.backlog(2000)
	w.pass(50*time.Minute, s)
	wantTold(t, r)
	w.pass(20*time.Minute, s)
	wantTold(t, r, "firing backlog orders") // it has not gone away

	if _, err := alert.Mute(t.Context(), w.ledger, "backlog", time.Hour, "test"); err != nil {
		t.Fatal(err)
	}
	s.backlog(0)
	w.pass(2*time.Hour, s)
	wantTold(t, r) // it ended while nobody was to hear of it
	if left, err := w.ledger.Read(t.Context(), queue.AlertSilences); err != nil || len(left) > 0 {
		t.Errorf("silences left: %v %v", left, err)
	}
}

func TestADeadReceiverIsToldWhenItIsBackAndOnlyWhatIsStillSo(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule(), rule("dead", func(r *alert.Rule) { r.Dead, r.For = alert.Over(1), 0 }))
	s := w.sidecar("a")
	r.answers(func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
	s.topics["orders"] = alert.Topic{Known: true, Backlog: 2000, Dead: 5, Pool: "default"}
	w.pass(10*time.Minute, s)
	if n := len(r.took()); n < 3 || n > 12 {
		t.Errorf("offered %d times in ten minutes, want it backed off", n)
	}
	s.topics["orders"] = alert.Topic{Known: true, Backlog: 2000, Pool: "default"}
	w.pass(2*time.Minute, s)
	r.took()
	r.answers(func(http.ResponseWriter) {})
	w.pass(6*time.Minute, s)
	wantTold(t, r, "firing backlog orders")
}

func TestAwayRedisIsToldByEachAndTheRestWaits(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule(), rule("redis_away", func(r *alert.Rule) { r.RedisAway, r.For = true, 30*time.Second }))
	a, b := w.sidecar("a"), w.sidecar("b")
	a.backlog(2000)
	b.backlog(2000)
	w.pass(3*time.Minute, a, b)
	wantTold(t, r, "firing backlog orders")
	for _, s := range []*sidecar{a, b} {
		s.redis.Away = "connection refused"
		s.topics = map[string]alert.Topic{"orders": {Pool: "default"}}
	}
	w.pass(10*time.Minute, a, b)
	wantTold(t, r, "firing redis_away", "firing redis_away")
	for _, s := range []*sidecar{a, b} {
		s.redis.Away = ""
		s.topics = map[string]alert.Topic{"orders": {Known: true, Backlog: 2000, Pool: "default"}}
	}
	w.pass(10*time.Minute, a, b)
	wantTold(t, r, "recovered redis_away", "recovered redis_away") // and of the backlog nothing
}

func TestAFullRedisIsAnAlarmAndTheOthersGoOn(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule(), rule("redis_away", func(r *alert.Rule) { r.RedisAway, r.For = true, 30*time.Second }))
	s := w.sidecar("a")
	s.redis.Full = "at maxmemory"
	w.pass(time.Minute, s)
	wantTold(t, r, "firing redis_away")
	s.backlog(2000)
	w.pass(3*time.Minute, s)
	wantTold(t, r, "firing backlog orders")
	s.backlog(0)
	w.pass(10*time.Minute, s)
	wantTold(t, r, "recovered backlog orders")
	s.redis.Full = ""
	w.pass(10*time.Minute, s)
	wantTold(t, r, "recovered redis_away")
}

func TestAReloadChangesRulesAndTargets(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	s := w.sidecar("a")
	s.backlog(2000)
	w.pass(3*time.Minute, s)
	wantTold(t, r, "firing backlog orders")
	other := w.opts.Targets[0]
	other.Name = "more"
	w.opts.Targets = append(w.opts.Targets, other)
	w.pass(time.Minute, s)
	wantTold(t, r, "firing backlog orders") // to the new one
	w.opts.Rules = []alert.Rule{rule("backlog", func(r *alert.Rule) { r.Backlog = alert.Over(10000) })}
	w.pass(2*time.Minute, s)
	wantTold(t, r, "recovered backlog orders", "recovered backlog orders")
	w.opts.Targets = nil
	s.backlog(20000)
	w.pass(time.Hour, s)
	wantTold(t, r)
}

func TestNoLogAndNoErrorShowsTheAddress(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.DingTalk, backlogRule())
	s := w.sidecar("a")
	s.backlog(2000)
	r.answers(func(rw http.ResponseWriter) {
		_, _ = rw.Write([]byte(`{"errcode":300005,"errmsg":"token t0ken-of-the-group is not exist"}`))
	})
	w.pass(4*time.Minute, s)
	r.Close()
	w.pass(20*time.Minute, s)
	targets, err := w.ledger.Read(t.Context(), queue.AlertTargets)
	shown := w.log.String() + targets["ops"]
	if err != nil || strings.Contains(shown, "t0ken") || !strings.Contains(shown, "[hidden] is not exist") {
		t.Errorf("%v: %s", err, shown)
	}
}

// lame is a ledger that takes no change while it is told so.
type lame struct {
	alert.Ledger
	refuses bool
}

func (l *lame) Swap(ctx context.Context, key queue.AlertKey, field, read, next string) (bool, error) {
	if l.refuses {
		return false, errors.New("connection refused")
	}
	return l.Ledger.Swap(ctx, key, field, read, next)
}

func TestWhatWasToldAndNotWrittenDownIsNotToldAgain(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	ledger := &lame{Ledger: w.ledger}
	w.ledger = ledger
	r.answers(func(http.ResponseWriter) { ledger.refuses = true }) // Redis goes while the message is under way
	s := w.sidecar("a")
	s.backlog(2000)
	w.pass(130*time.Second, s)
	wantTold(t, r, "firing backlog orders")
	w.pass(time.Minute, s)
	ledger.refuses = false
	r.answers(func(http.ResponseWriter) {})
	w.pass(10*time.Minute, s)
	wantTold(t, r)
	s.backlog(0)
	w.pass(2*time.Minute, s)
	wantTold(t, r, "recovered backlog orders")
}
