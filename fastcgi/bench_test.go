package fastcgi_test

import (
	"sync/atomic"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// BenchmarkDispatch is one job of the simplest kind through the bridge, two at a time.
func BenchmarkDispatch(b *testing.B) {
	for name, set := range map[string]func(*fastcgi.TopicOptions){"bridge": func(*fastcgi.TopicOptions) {}, "raw": raw} {
		b.Run(name, func(b *testing.B) {
			f := testenv.StartFPM(b, testenv.FPMOptions{Opcache: true})
			r := newRig(b, f)
			topic := r.handler("ok", set)
			r.run()
			j := job(b, "")
			if got := topic.Run(b.Context(), j); got.Outcome.Verdict != compat.Done {
				b.Fatal(got.Outcome)
			}
			var done atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(1)
			begin := time.Now()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if got := topic.Handle(b.Context(), j); got.Verdict == compat.Done {
						done.Add(1)
					}
				}
			})
			b.ReportMetric(float64(done.Load())/time.Since(begin).Seconds(), "jobs/s")
			if done.Load() != int64(b.N) {
				b.Errorf("%d of %d done", done.Load(), b.N)
			}
		})
	}
}
