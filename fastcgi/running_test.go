package fastcgi_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

func TestATopicTellsWhichJobsRunOnWhichProcesses(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*fastcgi.TopicOptions){
		"request": func(*fastcgi.TopicOptions) {},
		"worker":  func(o *fastcgi.TopicOptions) { o.Mode, o.Workers = fastcgi.ModeWorker, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{Children: 2})
			r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 2 })
			topic := r.handler("sleep", set)
			r.run()
			r.opened(topic)
			if list := topic.Runs(); len(list) != 0 {
				t.Errorf("at first %+v", list)
			}
			dir := f.Shared()
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for _, uuid := range []string{"one", "two"} {
				job := sleeper(t, uuid, dir, 30) // until it is stopped
				wg.Go(func() { topic.Handle(ctx, job) })
				testenv.Poll(t, 10*time.Second, uuid+" to run", func() bool { return started(dir, uuid) })
			}
			var list []fastcgi.Running
			testenv.Poll(t, 10*time.Second, "both processes to be known", func() bool {
				list = topic.Runs()
				return len(list) == 2 && list[0].PID > 1 && list[1].PID > 1
			})
			if list[0].UUID != "one" || list[1].UUID != "two" || list[0].PID == list[1].PID {
				t.Errorf("runs %+v", list)
			}
			for _, one := range list {
				if one.For <= 0 || one.For > 10*time.Second {
					t.Errorf("for %s", one.For)
				}
			}
			cancel()
			wg.Wait()
			testenv.Poll(t, 10*time.Second, "nothing to run", func() bool { return len(topic.Runs()) == 0 })
		})
	}
}
