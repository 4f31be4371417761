package queue_test

import (
	"fmt"
	"slices"
	"testing"

	"sidecar/queue"
)

func TestTheTrailTellsOfAJobWhatWasDoneToItAlone(t *testing.T) {
	t.Parallel()
	lines := []queue.Audited{ // the newest first
		{Verb: queue.VerbRequeue, Topic: "mail", Count: 7}, // on the dashboard, by no file
		{Verb: queue.VerbRequeue, Topic: "mail", Count: 7, File: "f0"},
		{Verb: queue.VerbReplay, Topic: "mail", Count: 9, File: "f9"},
		{Verb: queue.VerbDrop, Topic: "other", Count: 1, UUID: "a", File: "f8"},
		{Verb: queue.VerbUndo, Topic: "mail", Count: 4, File: "f6"},
		{Verb: queue.VerbUndo, Topic: "mail", Count: 1, File: "f5"},
		{Verb: queue.VerbDrop, Topic: "mail", Count: 1, UUID: "b", File: "f7"},
		{Verb: queue.VerbDrop, Topic: "mail", Count: 4, File: "f6"},
		{Verb: queue.VerbDrop, Topic: "mail", Count: 0, UUID: "c"}, // it was not there when it came to that
		{Verb: queue.VerbDrop, Topic: "mail", Count: 1, UUID: "c", File: "f4"},
		{Verb: queue.VerbDrop, Topic: "mail", Count: 1, UUID: "a", File: "f5"},
		{Verb: queue.VerbPause, Topic: "mail"},
		{Verb: queue.VerbReplay, Topic: "mail", Count: 1, UUID: "a", File: "f1"},
	}
	for uuid, want := range map[string][]string{
		"a": {"undo f5", "drop f5", "replay f1", "several requeue f0", "several replay f9"},
		"b": {"drop f7", "several requeue f0", "several replay f9"},
		"c": {"several requeue f0", "several replay f9"},
		"":  {"several requeue f0", "several replay f9"},
	} {
		var got []string
		by := queue.ByHandTo(lines, uuid, []string{"mail"})
		for _, line := range by.Own {
			got = append(got, line.Verb+" "+line.File)
		}
		for _, line := range by.Several {
			got = append(got, fmt.Sprintf("several %s %s", line.Verb, line.File))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", uuid, got, want)
		}
	}
}
