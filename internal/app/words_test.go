package app

import (
	"testing"

	"sidecar/internal/dash"
	"sidecar/queue"
)

// The dashboard may not know package queue, so that both spell these.
func TestTheDashboardAndTheAuditTrailUseTheSameWords(t *testing.T) {
	t.Parallel()
	for shown, kept := range map[string]string{
		dash.VerbReplay: queue.VerbReplay, dash.VerbDrop: queue.VerbDrop, dash.VerbRequeue: queue.VerbRequeue,
		dash.VerbUndo: queue.VerbUndo, dash.VerbPause: queue.VerbPause, dash.VerbResume: queue.VerbResume,
	} {
		if shown != kept {
			t.Errorf("the dashboard says %q, the audit trail %q", shown, kept)
		}
	}
	if dash.LongestPause != queue.LongestPause {
		t.Errorf("the dashboard pauses for at most %s, the commands for %s", dash.LongestPause, queue.LongestPause)
	}
}
