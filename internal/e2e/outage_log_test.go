package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Thirty topics with half a dozen steps each meet the same outage: nobody reads it two hundred times.
func TestAnOutageIsToldOnceForAllTopics(t *testing.T) {
	t.Parallel()
	r := newLastingRig(t, 2)
	var others strings.Builder
	for i := range 29 {
		fmt.Fprintf(&others, "[topic.other%d]\nscript = %q\n", i, filepath.Join(r.dir, r.script))
	}
	p := r.start(r.config("", others.String()))
	p.wantReady(10 * time.Second)
	r.redis.Kill()
	p.wantNotReady("and 29 more topics", 20*time.Second)
	_, body, err := p.get("/readyz")
	if err != nil {
		t.Fatal(err)
	}
	var probe struct{ Reasons []string }
	if err := json.Unmarshal([]byte(body), &probe); err != nil {
		t.Fatal(err)
	}
	if len(probe.Reasons) != 1 || !strings.HasPrefix(probe.Reasons[0], "redis: ") {
		t.Errorf("reasons %q, want one", probe.Reasons)
	}
	r.redis.Start()
	p.wantReady(20 * time.Second)
	eventually(t, 20*time.Second, func() error {
		if p.count(`msg="redis works again"`) == 0 {
			return fmt.Errorf("the log does not tell of the end")
		}
		return nil
	})
	if n := p.count(`msg="redis refuses"`); n < 1 || n > 2 { // the connection is lost, and the server may say that it loads
		t.Errorf("%d lines tell of the outage, want one for each kind of fault", n)
	}
	if n := p.count(`msg="redis works again"`); n != 1 {
		t.Errorf("%d lines tell of its end, want 1", n)
	}
	if p.count("topics=30 failures=") != 1 {
		t.Error("the line of the end does not count the topics")
	}
}
