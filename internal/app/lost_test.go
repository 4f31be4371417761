package app

import (
	"errors"
	"fmt"
	"testing"

	"sidecar/queue"
)

func TestJobsAreMissedAfterARestartAlone(t *testing.T) {
	counts := func(pool, due, ready, dead int64) map[string]queue.DepthsRead {
		return map[string]queue.DepthsRead{"mail": {Depths: queue.Depths{Pool: pool, Due: due, Ready: ready, Dead: dead}}}
	}
	type look struct {
		run     string
		counted map[string]queue.DepthsRead
	}
	full, none := counts(300, 0, 0, 0), counts(0, 0, 0, 0)
	failed := map[string]queue.DepthsRead{"mail": {Err: errors.New("LOADING")}}
	for name, tt := range map[string]struct {
		looks []look
		want  string
	}{
		"the same life":                       {[]look{{"a", full}, {"a", none}}, "[]"},
		"all are gone":                        {[]look{{"a", full}, {"b", none}, {"b", none}}, "[{lost mail  300 300 0}]"},
		"counted before, asked after":         {[]look{{"a", full}, {"b", full}, {"b", none}, {"b", none}}, "[{lost mail  300 300 0}]"},
		"it was away, and loaded":             {[]look{{"a", full}, {"", none}, {"b", failed}, {"b", none}}, "[{lost mail  300 300 0}]"},
		"a restart that lost nothing":         {[]look{{"a", full}, {"b", full}, {"b", full}, {"b", none}}, "[]"},
		"some have run since":                 {[]look{{"a", full}, {"b", counts(200, 0, 0, 0)}, {"b", counts(160, 0, 0, 0)}}, "[]"},
		"all were due, and have run":          {[]look{{"a", counts(300, 300, 50, 0)}, {"b", none}, {"b", none}}, "[]"},
		"due ones have gone with the others":  {[]look{{"a", counts(300, 200, 50, 20)}, {"b", none}}, "[{lost mail  370 370 0}]"},
		"few":                                 {[]look{{"a", counts(9, 0, 0, 0)}, {"b", none}, {"b", none}}, "[]"},
		"dead ones":                           {[]look{{"a", counts(0, 0, 0, 40)}, {"b", counts(0, 0, 0, 2)}}, "[{lost mail  38 40 0}]"},
		"the first look sees a life, no more": {[]look{{"b", none}}, "[]"},
	} {
		var watch lostWatch
		gone := []queue.Incident{}
		for _, l := range tt.looks {
			gone = append(gone, watch.look(l.run, l.counted)...)
		}
		if got := fmt.Sprint(gone); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
