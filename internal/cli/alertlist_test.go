package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"sidecar/internal/alert"
	"sidecar/internal/config"
	"sidecar/queue"
)

// Its rule may be gone from the configuration: then nobody ends it before an hour, and without a target nobody at all.
func TestAnAlarmThatNobodyHasSeenForLongIsShownAsThat(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	seen := func(rule string, ago time.Duration) alert.Shown {
		return alert.Shown{State: "firing", Alarm: queue.Alarm{Rule: rule, Since: now.Add(-3 * time.Hour), Seen: now.Add(-ago)}}
	}
	var out bytes.Buffer
	showAlarms(&out, &config.Config{Timezone: time.UTC}, alert.Overview{At: now, Alarms: []alert.Shown{seen("young", time.Minute), seen("old", 2*time.Hour)}})
	if text := out.String(); !strings.Contains(text, "firing, seen 2h0m0s ago") || strings.Count(text, "ago") != 1 {
		t.Errorf("got\n%s", text)
	}
}
