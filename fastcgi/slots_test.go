package fastcgi_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

func TestAcquireTakesWhatIsFreeUpToTheWorkers(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 5 })
	topic := r.handler("ok", func(o *fastcgi.TopicOptions) { o.Workers = 3 })
	other := r.handler("reject", func(o *fastcgi.TopicOptions) { o.Workers = 5 })
	r.run()
	for _, step := range []struct {
		topic      *fastcgi.Topic
		most, want int
	}{{topic, 2, 2}, {topic, 8, 1}, {other, 8, 2}} {
		if got := step.topic.Acquire(t.Context(), step.most); got != step.want {
			t.Errorf("asked for %d, got %d, want %d", step.most, got, step.want)
		}
	}
	if acquires(t, topic, 50*time.Millisecond) || acquires(t, other, 50*time.Millisecond) {
		t.Error("a slot beyond the pool's children")
	}
	topic.Release(3)
	if got := other.Acquire(t.Context(), 8); got != 3 {
		t.Errorf("got %d of the 3 that were given back", got)
	}
	other.Release(5)
}

func TestNobodyWaitsBehindATopicThatIsShut(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	missing := r.topic("/srv/nowhere/none.php")
	topic := r.handler("ok")
	r.run()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if n := missing.Acquire(ctx, 2); n != 0 {
			t.Errorf("%d slots for a handler that is missing", n)
		}
	})
	if !acquires(t, topic, 30*time.Second) {
		t.Error("no slot for the other topic")
	}
	cancel()
	wg.Wait()
}

func TestSlotsBeyondFewerChildrenRunOut(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	topic := r.handler("ok", func(o *fastcgi.TopicOptions) { o.Workers = 8 })
	r.run()
	r.opened(topic)
	if got := topic.Acquire(t.Context(), 8); got != 4 {
		t.Fatalf("got %d of 4 slots", got)
	}
	r.pool.SetChildren(2)
	topic.Release(2)
	if acquires(t, topic, 50*time.Millisecond) {
		t.Error("a third slot of two")
	}
	topic.Release(1)
	if got := topic.Acquire(t.Context(), 8); got != 1 {
		t.Errorf("got %d of the 1 that is free", got)
	}
	r.pool.SetChildren(5)
	if got := topic.Acquire(t.Context(), 8); got != 3 {
		t.Errorf("got %d of the 3 that came with more children", got)
	}
	topic.Release(5)
}
