package app

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/fastcgi"
	"sidecar/internal/dash"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestWhatIsLookedAtForTheFirstTimeIsNoFault(t *testing.T) {
	looked, missing := queue.TopicReason("mail", fastcgi.ErrNotSeen), queue.TopicReason("sms", errors.New("no such file"))
	now := time.Now()
	s := sidecarOf(queue.Heartbeat{Started: now, At: now, Reasons: []string{looked}}, now)
	if s.State != dash.SidecarNotReady || !s.Looking {
		t.Errorf("a sidecar that looks is %+v", s)
	}
	s = sidecarOf(queue.Heartbeat{Started: now, At: now, Reasons: []string{looked, missing}}, now)
	if want := []string{missing, looked}; s.Looking || !slices.Equal(s.Reasons, want) {
		t.Errorf("it says %q, want %q", s.Reasons, want)
	}
}

func TestASidecarThatCannotBeReadAndIsSilentIsGone(t *testing.T) {
	now := time.Now()
	s := sidecarOf(queue.Heartbeat{Unread: true, At: now.Add(-20 * time.Hour)}, now)
	if want := []string{queue.UnreadNote}; s.State != dash.SidecarLost || !slices.Equal(s.Reasons, want) {
		t.Errorf("it is %s and says %q", s.State, s.Reasons)
	}
	if s = sidecarOf(queue.Heartbeat{Unread: true, At: now}, now); s.State != dash.SidecarUnread || len(s.Reasons) != 1 {
		t.Errorf("one that lives is %s and says %q", s.State, s.Reasons)
	}
}

func TestATopicIsLookedAtUntilALookHasFailed(t *testing.T) {
	a, _, _ := heralded(t)
	g, p := a.generation(), &panel{app: a}
	testenv.Poll(t, 10*time.Second, "a look to fail", func() bool {
		state := p.stateOf(g.topics[0], g.cfg.Topics[0].Queue, depthsRound{})
		return !state.Looking && len(state.Shut) == 1
	})
	_, opts := deadPools(t)
	pool := fastcgi.NewPool(opts["default"], a.log, fastcgi.NewMetrics(prometheus.NewRegistry(), nil, nil)) // nobody runs it: nobody looks
	fresh := &topic{name: "mail", fpm: pool.NewTopic(g.cfg.Topics[0].FPM), consumer: g.topics[0].consumer}
	if state := p.stateOf(fresh, g.cfg.Topics[0].Queue, depthsRound{}); !state.Looking || len(state.Shut) > 0 {
		t.Errorf("before the first look the state is %+v", state)
	}
	looking := &generation{cfg: g.cfg, eyes: g.eyes, pools: map[string]*openPool{"default": {Pool: pool}}, topics: []*topic{fresh}}
	if s := looking.sample(t.Context(), a.queue, nil); s.Pools["default"].Down != "" {
		t.Errorf("before the first look the alarms see %+v", s.Pools)
	}
	if why := stalledBy([]error{fastcgi.ErrNotSeen}); why != "" {
		t.Errorf("before the first look a topic is stalled: %s", why)
	}
	if why := stalledBy([]error{errors.New("no such file"), fastcgi.ErrNotSeen}); why != "no such file" {
		t.Errorf("a topic whose file is missing is stalled by %q", why)
	}
	if r := pool.Reading(); r.Down != nil {
		t.Errorf("before the first look the pool is down: %v", r.Down)
	}
}
