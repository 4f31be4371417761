package alert_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidecar/internal/alert"
	"sidecar/queue"
)

// A failover to a host whose clock is behind.
func TestAClockOfRedisThatIsSetBackHoldsNoMessageUp(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	var back time.Duration
	w.ledger = alert.NewMemory(func() time.Time { return w.now.Add(-back) })
	s := w.sidecar("a")
	s.backlog(2000)
	w.pass(3*time.Minute, s)
	wantTold(t, r, "firing backlog orders")
	back = 24 * time.Hour
	s.backlog(0)
	w.pass(3*time.Minute, s)
	wantTold(t, r, "recovered backlog orders")
	s.backlog(2000)
	w.pass(3*time.Minute, s)
	wantTold(t, r, "firing backlog orders")
}

// A silence is for a while. What it would last longer by a clock set back further than its beginning has no bound.
func TestASilenceEndsWithAClockSetBackBehindItsBeginning(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	var back time.Duration
	w.ledger = alert.NewMemory(func() time.Time { return w.now.Add(-back) })
	if _, err := alert.Mute(t.Context(), w.ledger, "orders", time.Hour, "test"); err != nil {
		t.Fatal(err)
	}
	s := w.sidecar("a")
	s.backlog(2000)
	w.pass(30*time.Minute, s)
	back = 20 * time.Minute
	w.pass(10*time.Minute, s)
	wantTold(t, r)
	back = 24 * time.Hour
	w.pass(3*time.Minute, s)
	wantTold(t, r, "firing backlog orders")
	if left, err := w.ledger.Read(t.Context(), queue.AlertSilences); err != nil || len(left) > 0 {
		t.Errorf("silences left, which would begin anew: %v %v", left, err)
	}
}

// refused is what Redis says to a user without the right.
type refused struct{}

func (refused) Error() string { return "NOPERM this user has no permissions" }
func (refused) RedisError()   {}

// faulty is a ledger that counts, and that fails while it is told so.
type faulty struct {
	alert.Ledger
	read, change error
	reads, swaps int
}

func (f *faulty) Read(ctx context.Context, key queue.AlertKey) (map[string]string, error) {
	f.reads++
	if f.read != nil {
		return nil, f.read
	}
	return f.Ledger.Read(ctx, key)
}

func (f *faulty) Swap(ctx context.Context, key queue.AlertKey, field, read, next string) (bool, error) {
	f.swaps++
	if f.change != nil {
		return false, f.change
	}
	return f.Ledger.Swap(ctx, key, field, read, next)
}

func TestAlarmsOfASidecarByItselfAreSharedOnceItMay(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	ledger := &faulty{Ledger: w.ledger, read: refused{}}
	w.ledger = ledger
	s := w.sidecar("a")
	s.backlog(2000)
	w.pass(3*time.Minute, s)
	wantTold(t, r, "firing backlog orders")
	ledger.read = nil
	w.pass(3*time.Minute, s)
	wantTold(t, r) // it is known already
	s.backlog(0)
	w.pass(2*time.Minute, s)
	wantTold(t, r, "recovered backlog orders")
	w.pass(9*time.Hour, s)
	wantTold(t, r)
	if len(s.engine.State()) > 0 {
		t.Errorf("left: %+v", s.engine.State())
	}
}

// Each change would wait for its timeout, and nobody would say meanwhile that Redis is away.
func TestALookGivesUpAtTheFirstChangeThatRedisDoesNotAnswer(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	ledger := &faulty{Ledger: w.ledger, change: io.ErrUnexpectedEOF}
	w.ledger = ledger
	s := w.sidecar("a")
	for i := range 100 {
		s.topics["t"+strconv.Itoa(i)] = alert.Topic{Known: true, Backlog: 2000, Pool: "default"}
	}
	w.pass(130*time.Second, s)
	if ledger.swaps != 1 {
		t.Errorf("tried %d changes in one look, want one", ledger.swaps)
	}
	if n := strings.Count(w.log.String(), "cannot be written down"); n != 1 {
		t.Errorf("said it %d times", n)
	}
}

// A Redis that is full may be so for hours, and each look tries anew.
func TestThatAlarmsCannotBeWrittenDownIsSaidOnceUntilTheyCan(t *testing.T) {
	w := newWorld(t, newReceiver(t), alert.JSON, backlogRule())
	ledger := &faulty{Ledger: w.ledger, change: io.ErrUnexpectedEOF}
	w.ledger = ledger
	s := w.sidecar("a")
	s.backlog(2000)
	for i := range 2 {
		ledger.change, ledger.swaps = io.ErrUnexpectedEOF, 0
		w.pass(5*time.Minute, s)
		if n := strings.Count(w.log.String(), "cannot be written down"); n != i+1 || ledger.swaps < 3 {
			t.Errorf("said it %d times of %d tries, want %d", n, ledger.swaps, i+1)
		}
		ledger.change = nil
		w.pass(time.Minute, s)
		s.backlog(0)
	}
}

func TestWhatWasToldOfManyAlarmsIsWrittenDownByOneReading(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	ledger := &faulty{Ledger: w.ledger}
	w.ledger = ledger
	s := w.sidecar("a")
	for i := range 100 {
		s.topics["t"+strconv.Itoa(i)] = alert.Topic{Known: true, Backlog: 2000, Pool: "default"}
	}
	w.pass(120*time.Second, s)
	ledger.reads = 0
	w.pass(10*time.Second, s)
	if len(r.took()) != 1 || ledger.reads > 10 {
		t.Errorf("read %d times to tell of a hundred alarms", ledger.reads)
	}
	w.pass(time.Minute, s)
	wantTold(t, r)
}

// The other one, which sends it, has nothing to mend.
func TestAMessageSaysWhoseOwnTroubleItIs(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, rule("down", func(r *alert.Rule) { r.FPMDown = true }), backlogRule())
	a, b := w.sidecar("web1-1"), w.sidecar("web2-1")
	b.pools["default"] = alert.Pool{Down: "connection refused"}
	a.backlog(2000)
	w.pass(3*time.Minute, a, b)
	for _, body := range r.took() {
		if strings.Contains(body, `"down"`) != strings.Contains(body, "seen by sidecar web2-1") || strings.Contains(body, "web1-1") {
			t.Errorf("got %s", body)
		}
	}
}

// The one that sees it could not say so for as long.
func TestAnAlarmOfAnotherSidecarOutlastsAnOutageOfRedis(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, rule("down", func(r *alert.Rule) { r.FPMDown = true }))
	a, b := w.sidecar("a"), w.sidecar("b")
	b.pools["default"] = alert.Pool{Down: "connection refused"}
	w.pass(3*time.Minute, a, b)
	wantTold(t, r, "firing down default")
	a.redis.Away, b.redis.Away = "i/o timeout", "i/o timeout"
	w.pass(10*time.Minute, a, b)
	a.redis.Away, b.redis.Away = "", ""
	w.pass(10*time.Minute, a, b)
	wantTold(t, r)
	b.pools["default"] = alert.Pool{}
	w.pass(2*time.Minute, a, b)
	wantTold(t, r, "recovered down default")
}

// A receiver may quote the address as it came, and at a place where a long answer is cut.
func TestWhatAReceiverQuotesOfTheAddressIsNotShown(t *testing.T) {
	r := newReceiver(t)
	const token = "to%2Fken%20of-the-group"
	for _, before := range []int{0, 280, 290, 295} {
		for _, code := range []string{"HTTP 404", "code 300001"} {
			r.answers(func(w http.ResponseWriter) {
				if code == "HTTP 404" {
					w.WriteHeader(http.StatusNotFound)
					_, _ = io.WriteString(w, strings.Repeat("x", before)+token)
					return
				}
				_, _ = io.WriteString(w, `{"errcode":300001,"errmsg":"`+strings.Repeat("x", before)+token+`"}`)
			})
			target := alert.Target{Name: "ops", Kind: alert.DingTalk, Rate: 10, URL: queue.Secret(r.URL + "/send/" + token + "?key=" + token)}
			said, err := alert.Test(t.Context(), alert.Options{Name: "shop", Zone: time.UTC}, target)
			if err == nil || strings.Contains(said+err.Error(), token[:6]) {
				t.Errorf("%d bytes before it: said %q, %v", before, said, err)
			}
		}
	}
}

func TestARedirectionIsNotFollowedAndSaidToBeOne(t *testing.T) {
	r := newReceiver(t)
	r.answers(func(w http.ResponseWriter) {
		w.Header().Set("Location", r.URL)
		w.WriteHeader(http.StatusFound)
	})
	target := alert.Target{Name: "ops", Kind: alert.JSON, Rate: 10, URL: queue.Secret(r.URL)}
	if _, err := alert.Test(t.Context(), alert.Options{Name: "shop", Zone: time.UTC}, target); err == nil || !strings.Contains(err.Error(), "leads elsewhere") || len(r.took()) != 1 {
		t.Errorf("got %v", err)
	}
}

func TestCountsThatSomebodyWroteByHandStopNoSidecar(t *testing.T) {
	for _, count := range []string{"-1", "-9223372036854775808", "9223372036854775807"} {
		r := newReceiver(t)
		r.answers(func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
		w := newWorld(t, r, alert.JSON, rule("backlog", func(r *alert.Rule) { r.Backlog, r.For = alert.Over(1000), 0 }))
		if _, err := w.ledger.Swap(t.Context(), queue.AlertTargets, "ops", "", `{"failures":`+count+`}`); err != nil {
			t.Fatal(err)
		}
		one := w.sidecar("one")
		one.backlog(2000)
		w.pass(10*time.Second, one)
		if n := len(r.took()); n != 1 {
			t.Fatalf("failures = %s: %d messages went out, want one", count, n)
		}
		r.answers(func(http.ResponseWriter) {})
		w.pass(10*time.Minute, one)
		if n := len(r.took()); n != 1 {
			t.Errorf("failures = %s: %d messages went out in the ten minutes after the receiver was mended, want one", count, n)
		}
	}
}
