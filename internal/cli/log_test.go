package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestBothLogsWriteDurationsForPeople(t *testing.T) {
	for format, want := range map[string]string{"text": "took=1.5s", "json": `"took":"1.5s"`} {
		var out bytes.Buffer
		newLogger(&out, format, slog.LevelInfo).Info("run ended", "took", 1500*time.Millisecond)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", format, &out, want)
		}
	}
}
