package queue_test

import (
	"context"
	"fmt"
	"testing"

	"sidecar/queue"
)

func TestDepthsOfManyTopicsComeInTheirOrderEachWithItsOwnFault(t *testing.T) {
	b := newBench(t, nil)
	stores := make([]*queue.Store, 30)
	for i := range stores {
		opts := queue.DefaultOptions()
		opts.Topic = fmt.Sprint("t", i)
		stores[i] = queue.NewStore(b.rdb, "", opts)
		for range i % 5 {
			b.do(t, "RPUSH", "delay:dead:"+opts.Topic, "x")
		}
	}
	b.do(t, "SET", "delay:dead:t10", "no list")
	for i, read := range queue.DepthsOf(t.Context(), stores) {
		fault := queue.FaultOf(read.Err)
		if i == 10 && fault != queue.WrongType || i != 10 && (read.Err != nil || read.Depths.Dead != int64(i%5)) {
			t.Errorf("of t%d read %d dead, %v", i, read.Depths.Dead, read.Err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for i, read := range queue.DepthsOf(ended, stores) {
		if read.Err == nil {
			t.Errorf("read t%d although nobody waits any more", i)
		}
	}
}
