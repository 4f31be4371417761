package queue_test

import (
	"strconv"
	"testing"

	"sidecar/queue"
)

func TestWhatRunsNextHasNobodyAhead(t *testing.T) {
	b := newBench(t, nil)
	topic := queue.DefaultOptions()
	topic.Topic = "mail"
	list := func(order queue.Order) queue.Options {
		l := queue.DefaultListOptions()
		l.Key, l.Dead, l.Order = "queue:"+string(order), "queue:dead", order
		o := queue.DefaultOptions()
		o.Topic, o.List = string(order), &l
		return o
	}
	for i := range 3 {
		b.do(t, "RPUSH", "delay:ready:mail", `{"uuid":"`+strconv.Itoa(i)+`"}`)
		b.do(t, "LPUSH", "queue:"+string(queue.FIFO), `{"job_id":"`+strconv.Itoa(i)+`"}`)
		b.do(t, "LPUSH", "queue:"+string(queue.LIFO), `{"job_id":"`+strconv.Itoa(2-i)+`"}`)
	}
	for _, opts := range []queue.Options{topic, list(queue.FIFO), list(queue.LIFO)} {
		store := queue.NewStore(b.rdb, "", opts)
		peeked, err := store.Peek(t.Context(), queue.InReady, queue.Page{Limit: 10})
		if err != nil || len(peeked.Entries) != 3 {
			t.Fatalf("%s: %+v, %v", opts.Topic, peeked, err)
		}
		for _, e := range peeked.Entries {
			again, err := store.Entry(t.Context(), e.Ref())
			if err != nil {
				t.Fatal(err)
			}
			turn, _ := strconv.ParseInt(e.UUID, 10, 64)
			if opts.Ahead(e) != turn || opts.Ahead(again) != turn {
				t.Errorf("%s: ahead of job %s are %d, and %d", opts.Topic, e.UUID, opts.Ahead(e), opts.Ahead(again))
			}
		}
	}
	if n := topic.Ahead(queue.Entry{Place: queue.InReady, Index: -1}); n != -1 {
		t.Errorf("got %d ahead of one at an unknown place", n)
	}
}
