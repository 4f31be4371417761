package alert_test

import (
	"strings"
	"testing"
	"time"

	"sidecar/internal/alert"
	"sidecar/queue"
)

func TestAPoolWithoutAFreeWorkerIsNotToldAsOneThatDoesNotAnswer(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, rule("down", func(r *alert.Rule) { r.FPMDown = true }))
	s := w.sidecar("a")
	s.pools["default"] = alert.Pool{Down: "no child took the job within 12s", Full: true}
	w.pass(3*time.Minute, s)
	told := strings.Join(r.took(), "\n")
	if !strings.Contains(told, "PHP-FPM takes no job: no free worker, or it hangs") || strings.Contains(told, "does not answer") {
		t.Errorf("it is told as %s", told)
	}
	if a := s.engine.State()[0]; a.Readings[0].Cause != queue.CauseFull {
		t.Errorf("the readings are %+v", a.Readings)
	}

	// The alarm stands, and says at the next look that it is another one now.
	s.pools["default"] = alert.Pool{Down: "connection refused"}
	w.now = w.now.Add(time.Second)
	s.look()
	if a := s.engine.State()[0]; a.Readings[0].Cause != "" || alert.Plain(a.Readings) != "PHP-FPM does not answer: connection refused" {
		t.Errorf("the readings are %+v", a.Readings)
	}
}
