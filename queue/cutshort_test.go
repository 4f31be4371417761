package queue

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidecar/compat"
)

func TestRunsThatWereCutShortAreToldOfOnceAMinuteForEachOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newCutShort(slog.New(slog.NewTextHandler(&log, nil)).With("topic", "mail"))
		job, err := compat.ParseJob(`{"uuid":"a","retry":2,"crashes":1,"phone":"13800000000"}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range compat.Verdicts() {
			for range 100 {
				c.saw(t.Context(), job, v, 1500*time.Millisecond)
			}
		}
		<-time.After(cutShortGap)
		for range 2 {
			c.saw(t.Context(), job, compat.Crashed, time.Second)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		want := []string{
			"topic=mail uuid=a outcome=crashed took=1.5s tries_before=2 crashes_before=1 others_since_last=0",
			"topic=mail uuid=a outcome=timed_out took=1.5s tries_before=2 crashes_before=1 others_since_last=0",
			"topic=mail uuid=a outcome=crashed took=1s tries_before=2 crashes_before=1 others_since_last=99",
		}
		if len(lines) != len(want) {
			t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(want), log.String())
		}
		for i, line := range lines {
			if !strings.Contains(line, "level=WARN") || !strings.HasSuffix(line, want[i]) {
				t.Errorf("line %d is %s, want %s", i, line, want[i])
			}
		}
	})
}
