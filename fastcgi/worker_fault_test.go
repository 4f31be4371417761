package fastcgi_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// The first worker does what no worker should; the job in its hand bears it or not, and the next worker serves.
func TestFaultyWorkersAreReplaced(t *testing.T) {
	tests := map[string]struct {
		first func(w *fakeWorker)
		want  compat.Verdict // of the first job
		says  string
	}{
		"a frame of no kind":        {func(w *fakeWorker) { w.ready(); w.job(); w.send('?', "x"); w.next() }, compat.Crashed, "protocol"},
		"a frame beyond the limit":  {func(w *fakeWorker) { w.ready(); w.job(); _, _ = w.conn.Write([]byte("\xff\xff\xff\xffV")); w.next() }, compat.Crashed, ""},
		"no JSON":                   {func(w *fakeWorker) { w.ready(); id := w.job(); w.send('V', id+"{"); w.next() }, compat.Crashed, ""},
		"a verdict without an id":   {func(w *fakeWorker) { w.ready(); w.job(); w.send('V', "x"); w.next() }, compat.Crashed, ""},
		"a verdict on another job":  {func(w *fakeWorker) { w.ready(); w.job(); w.done("\x00\x00\x00\x09"); w.next() }, compat.Crashed, ""},
		"a verdict before any job":  {func(w *fakeWorker) { w.ready(); w.done("\x00\x00\x00\x01"); w.next() }, compat.Done, ""},
		"an unknown verdict":        {func(w *fakeWorker) { w.ready(); id := w.job(); w.send('V', id+`{"v":"great"}`) }, compat.Crashed, "great"},
		"half a verdict, then gone": {func(w *fakeWorker) { w.ready(); w.job(); _, _ = w.conn.Write([]byte("\x00\x00\x00\x20V\x00\x00")) }, compat.Crashed, ""},
		"gone with the job":         {func(w *fakeWorker) { w.ready(); w.job() }, compat.Crashed, ""},
		"gone before it reads it":   {func(w *fakeWorker) { w.ready() }, compat.Done, ""},
		"bye with the job unread":   {func(w *fakeWorker) { w.ready(); w.job(); w.send('B', `{"why":"max_memory","jobs":0}`) }, compat.Done, ""},
		"dead with the job": {func(w *fakeWorker) {
			w.ready()
			w.send('D', w.job()+`{"v":"failed","error":"memory exhausted"}`)
		}, compat.Failed, "memory exhausted"},
		"the bootstrap threw": {func(w *fakeWorker) {
			w.hello(1, w.order.Token)
			w.send('D', "\x00\x00\x00\x00"+`{"v":"failed","error":"no database"}`)
		}, compat.Failed, "no database"},
		"no handler": {func(w *fakeWorker) {
			w.hello(1, w.order.Token)
			w.send('D', "\x00\x00\x00\x00"+`{"v":"unavailable","error":"no class"}`)
		}, compat.Unavailable, "no class"},
		"the wrong token":          {func(w *fakeWorker) { w.hello(1, "guessed"); w.next() }, compat.Unavailable, "did not run"},
		"another version":          {func(w *fakeWorker) { w.hello(2, w.order.Token); w.next() }, compat.Unavailable, "did not run"},
		"garbage instead of hello": {func(w *fakeWorker) { _, _ = w.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); w.next() }, compat.Unavailable, "did not run"},
		"nothing at all":           {func(w *fakeWorker) { w.next() }, compat.Unavailable, "did not run"}, // for the 5 s that a hello may take
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fakeWorkers(t, func(n int, w *fakeWorker) {
				if n == 1 {
					tt.first(w)
					return
				}
				w.ready()
				w.serve()
			})
			r := newRig(t, f)
			topic := r.topic("/srv/job.php", resident, func(o *fastcgi.TopicOptions) { o.Workers = 1 })
			r.run()
			r.opened(topic)
			got := handled(t.Context(), topic, job(t, ""))
			wantOutcome(t, got, tt.want, tt.says)
			testenv.Poll(t, 10*time.Second, "the next worker to serve", func() bool {
				return handled(t.Context(), topic, job(t, "")).Verdict == compat.Done
			})
		})
	}
}

// Of the frames that lie in a dead worker's socket only the first is charged; the others run elsewhere.
func TestWhatLiesBehindTheJobInHandIsNotCharged(t *testing.T) {
	ready := make(chan struct{})
	f := fakeWorkers(t, func(n int, w *fakeWorker) {
		w.ready()
		if n > 1 {
			w.serve()
			return
		}
		for range 5 { // quick ones: then several frames may lie in the socket
			w.done(w.job())
		}
		w.job()
		close(ready)
		w.job()
		w.job()
	})
	r := newRig(t, f)
	topic := r.topic("/srv/job.php", resident, func(o *fastcgi.TopicOptions) { o.Workers = 1 })
	r.run()
	r.opened(topic)
	for range 5 {
		wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
	}
	first := make(chan compat.Outcome, 1)
	go func() { first <- topic.Handle(t.Context(), job(t, "")) }()
	<-ready
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "") })
	}
	wg.Wait()
	wantOutcome(t, <-first, compat.Crashed, "")
}

// A worker that hangs while it has nothing to do is let go, and no job waits for it.
func TestAnUnansweredPingLetsAWorkerGo(t *testing.T) {
	t.Parallel()
	f := fakeWorkers(t, func(n int, w *fakeWorker) {
		w.ready()
		if n > 1 {
			w.serve()
			return
		}
		for kind, _ := w.next(); kind != 0; kind, _ = w.next() { // whatever comes, pings too
			if kind == 'J' {
				w.done("\x00\x00\x00\x01")
			}
		}
	})
	r := newRig(t, f)
	topic := r.topic("/srv/job.php", resident, func(o *fastcgi.TopicOptions) { o.Workers = 1 })
	r.run()
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
	r.recycled("silent")
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
}

// A worker that cannot be stopped keeps its slot until abandon_after; when the sidecar stops, the claim is left alone.
func TestAWorkerThatCannotBeStopped(t *testing.T) {
	t.Parallel()
	over, begun := make(chan struct{}), make(chan struct{}, 2)
	hang := func(_ int, w *fakeWorker) {
		w.ready()
		w.job()
		begun <- struct{}{}
		<-over
	}
	f, g := fakeWorkers(t, hang), fakeWorkers(t, hang)
	t.Cleanup(func() { close(over) })

	r := newRig(t, f)
	topic := r.topic("/srv/job.php", resident, timeout(100*time.Millisecond), func(o *fastcgi.TopicOptions) { o.AbandonAfter = 400 * time.Millisecond })
	r.run()
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.TimedOut, "abandoned")
	if !strings.Contains(r.log.String(), "cannot be stopped") {
		t.Error("the log does not say so")
	}

	r = newRig(t, g)
	topic = r.topic("/srv/job.php", resident)
	r.run()
	r.opened(topic)
	<-begun // of the first one
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	o := handled(ctx, topic, job(t, ""))
	wantOutcome(t, o, compat.Unavailable, "may still run")
	if !o.Held {
		t.Error("the claim is not left to its lease")
	}
}
