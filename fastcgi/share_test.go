package fastcgi

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// openPoolWith makes a pool without any FPM whose gates are open.
func openPoolWith(children int, topics ...TopicOptions) (*Pool, []*Topic) {
	o := DefaultPoolOptions()
	o.Name, o.Listen, o.Children = "default", "unix:///nowhere", children
	p := NewPool(o, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry(), []string{o.Name}, nil))
	p.gate.unshut()
	var made []*Topic
	for _, o := range topics {
		t := p.NewTopic(o)
		t.gate.unshut()
		made = append(made, t)
	}
	return p, made
}

// Where the weights add up to more than there are slots, a light topic's share is less than one: it has one now and then.
func TestALightTopicIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, topics := openPoolWith(4, TopicOptions{Topic: "heavy", Weight: 5}, TopicOptions{Topic: "light", Weight: 1}, TopicOptions{Topic: "lighter", Weight: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		ran := make([]time.Duration, len(topics))
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i, takes := range []time.Duration{100 * time.Millisecond, time.Millisecond, 10 * time.Millisecond} {
			for range 4 {
				wg.Go(func() {
					for ctx.Err() == nil && topics[i].Acquire(ctx, 1) == 1 {
						time.Sleep(takes) //nolint:forbidigo // the bubble's time passes at once
						mu.Lock()
						ran[i] += takes
						mu.Unlock()
						topics[i].Release(1)
					}
				})
			}
		}
		wg.Wait()
		for i, least := range []time.Duration{time.Minute, 100 * time.Millisecond, time.Second} { // of 2 minutes
			if ran[i] < least {
				t.Errorf("%s ran for %v of 30s on 4 slots", topics[i].opts.Topic, ran[i])
			}
		}
	})
}

// Two topics that always want more share what is given back by their weights.
func TestSlotsAreSharedByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, topics := openPoolWith(8, TopicOptions{Topic: "heavy", Weight: 3}, TopicOptions{Topic: "light", Weight: 1})
		heavy, light := topics[0], topics[1]
		if got := heavy.Acquire(t.Context(), 100); got != 8 {
			t.Fatalf("alone it got %d of 8", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for _, topic := range topics {
			go func() {
				for topic.Acquire(ctx, 1) == 1 {
				}
			}()
		}
		for range 40 { // finished jobs of both, one by one
			synctest.Wait()
			if heavy.used > 0 {
				heavy.Release(1)
			}
			synctest.Wait()
			if light.used > 2 {
				light.Release(1)
			}
		}
		synctest.Wait()
		if heavy.used != 6 || light.used != 2 {
			t.Errorf("weights 3 and 1 have %d and %d of 8 slots", heavy.used, light.used)
		}
		cancel()
		synctest.Wait()
	})
}

func TestBatchesAreSharedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, topics := openPoolWith(8, TopicOptions{Topic: "a", Weight: 1}, TopicOptions{Topic: "b", Weight: 1})
		p.setLimit(0)
		got := make([]int, 2)
		for i, topic := range topics {
			go func() { got[i] = topic.Acquire(t.Context(), 8) }()
		}
		synctest.Wait()
		p.setLimit(8)
		synctest.Wait()
		if got[0] != 4 || got[1] != 4 {
			t.Errorf("got %v of 8", got)
		}
	})
}

func TestCancelledWaiterLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, topics := openPoolWith(1, TopicOptions{Topic: "a", Weight: 1})
		topics[0].Acquire(t.Context(), 1)
		ctx, cancel := context.WithCancel(t.Context())
		got := -1
		go func() { got = topics[0].Acquire(ctx, 1) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		topics[0].Release(1)
		if used, _, wanted := p.load(); got != 0 || used != 0 || wanted {
			t.Errorf("got %d; %d in use, wanted %v", got, used, wanted)
		}
	})
}

func TestLimitFollowsTheCrowd(t *testing.T) {
	limit := 8
	for _, step := range []struct {
		crowded bool
		want    int
	}{{true, 4}, {true, 2}, {true, 1}, {true, 1}, {false, 2}, {false, 3}, {true, 1}} {
		if limit = nextLimit(limit, 8, step.crowded); limit != step.want {
			t.Fatalf("limit %d, want %d", limit, step.want)
		}
	}
	if got := nextLimit(8, 8, false); got != 8 {
		t.Errorf("limit %d beyond the children", got)
	}
}

func TestCrowdIsWhoeverIsNotUs(t *testing.T) {
	unix, tcp := "unix:///s", "tcp://127.0.0.1:9"
	tests := map[string]struct {
		listen, status string
		page           statusPage
		err            error
		used           int
		want           bool
	}{
		"a queue on tcp":                           {tcp, "/status", statusPage{Queue: 1, Active: 3}, nil, 2, true},
		"no queue on tcp":                          {tcp, "/status", statusPage{Idle: 0, Active: 8}, nil, 2, false},
		"unix: all children are ours":              {unix, "unix:///t?path=/s", statusPage{Active: 4}, nil, 4, false},
		"unix: others have the rest":               {unix, "unix:///t?path=/s", statusPage{Active: 4}, nil, 2, true},
		"unix: the rest is the page's own child":   {unix, "/status", statusPage{Active: 3}, nil, 2, false},
		"unix: somebody is idle":                   {unix, "/status", statusPage{Idle: 1, Active: 6}, nil, 2, false},
		"no child for the page, and not our doing": {unix, "/status", statusPage{}, errBusy, 2, true},
		"no child for the page, all are ours":      {unix, "/status", statusPage{}, errBusy, 8, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Pool{opts: PoolOptions{Listen: tt.listen, Status: tt.status, Children: 8}, listen: parseListen(tt.listen), children: 8}
			if got := p.crowded(tt.page, tt.err, tt.used); got != tt.want {
				t.Errorf("crowded = %v", got)
			}
		})
	}
}

func TestAStatusPageStandsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := openPoolWith(2)
		if got := p.Reading(); got.Page {
			t.Errorf("before it was read: %+v", got)
		}
		p.keepPage(statusPage{Queue: 3, Idle: 1, Active: 1, Reached: 5})
		if got := p.Reading(); !got.Page || got.Queue != 3 || got.Idle != 1 || got.Active != 1 || got.Reached != 5 {
			t.Errorf("just read: %+v", got)
		}
		<-time.After(pageStands)
		if got := p.Reading(); got.Page || got.Queue != 0 {
			t.Errorf("%s later: %+v", pageStands, got)
		}
	})
}
