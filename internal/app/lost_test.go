package app

import (
	"errors"
	"fmt"
	"testing"

	"sidecar/internal/pulse"
	"sidecar/queue"
)

// nobody has moved anything by hand.
func nobody(queue.ServerTime) map[string]int64 { return nil }

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
			gone = append(gone, watch.look(lostLook{run: l.run, counted: l.counted, byHand: nobody})...)
		}
		if got := fmt.Sprint(gone); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// A FLUSHALL ends no life of Redis, and some servers do not tell which it is.
func TestJobsAreMissedWhereRedisWasEmptied(t *testing.T) {
	counts := func(pool, due, dead int64) map[string]queue.DepthsRead {
		return map[string]queue.DepthsRead{"mail": {Depths: queue.Depths{Pool: pool, Due: due, Dead: dead}}}
	}
	failed := map[string]queue.DepthsRead{"mail": {Err: errors.New("LOADING")}}
	full, none := counts(300, 0, 0), counts(0, 0, 0)
	type look struct {
		run            string
		beats, emptied int
		counted        map[string]queue.DepthsRead
	}
	const gone = "[{lost mail emptied 300 300 0}]"
	for name, tt := range map[string]struct {
		looks []look
		want  string
	}{
		"nobody says which life it is":    {[]look{{"", 1, 0, full}, {"", 2, 0, full}, {"", 2, 1, none}, {"", 3, 1, none}}, gone},
		"the same life":                   {[]look{{"a", 1, 0, full}, {"a", 2, 0, full}, {"a", 2, 1, none}, {"a", 3, 1, none}}, gone},
		"counted before the heartbeat":    {[]look{{"a", 1, 0, full}, {"a", 2, 0, full}, {"a", 2, 0, none}, {"a", 2, 0, none}, {"a", 2, 1, none}}, gone},
		"counted before, asked behind it": {[]look{{"a", 1, 0, full}, {"a", 2, 0, full}, {"a", 2, 1, full}, {"a", 3, 1, none}, {"a", 4, 1, none}}, gone},
		"it did not answer in between":    {[]look{{"a", 1, 0, full}, {"a", 2, 0, full}, {"", 2, 0, failed}, {"a", 2, 1, none}}, gone},
		"a restart that kept nothing":     {[]look{{"a", 1, 0, full}, {"a", 2, 0, full}, {"b", 2, 0, none}, {"b", 2, 1, none}, {"b", 3, 1, none}}, "[{lost mail  300 300 0}]"},
		"the same, heartbeat first":       {[]look{{"a", 1, 0, full}, {"a", 2, 0, full}, {"b", 2, 1, none}, {"b", 3, 1, none}}, "[{lost mail  300 300 0}]"},
		"the heartbeats alone":            {[]look{{"a", 1, 0, full}, {"a", 2, 0, full}, {"a", 2, 1, full}, {"a", 3, 1, full}, {"a", 4, 1, none}}, "[]"},
		"nothing is known of before":      {[]look{{"a", 1, 0, full}, {"a", 1, 1, none}, {"a", 2, 1, none}}, "[]"},
		"all were due":                    {[]look{{"a", 1, 0, counts(300, 300, 0)}, {"a", 2, 0, counts(300, 300, 0)}, {"a", 2, 1, none}, {"a", 3, 1, none}}, "[]"},
	} {
		var watch lostWatch
		missed := []queue.Incident{}
		for _, l := range tt.looks {
			missed = append(missed, watch.look(lostLook{run: l.run, kept: pulse.Kept{Beats: l.beats, Emptied: l.emptied}, counted: l.counted, byHand: nobody})...)
		}
		if got := fmt.Sprint(missed); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestWhatAPersonHasTakenOutIsNotMissed(t *testing.T) {
	counts := func(mail, sms int64, at queue.ServerTime) map[string]queue.DepthsRead {
		return map[string]queue.DepthsRead{"mail": {Depths: queue.Depths{Dead: mail, Now: at}}, "sms": {Depths: queue.Depths{Dead: sms, Now: at}}}
	}
	for name, tt := range map[string]struct {
		moved map[string]int64
		left  int64 // of sms
		want  string
	}{
		"all of it":          {map[string]int64{"mail": 100}, 100, "[]"},
		"a part of it":       {map[string]int64{"mail": 40}, 100, "[{lost mail  60 60 0}]"},
		"and more were lost": {map[string]int64{"mail": 100}, 0, "[{lost sms  100 100 0}]"},
	} {
		var watch lostWatch
		since := queue.ServerTime(0)
		byHand := func(from queue.ServerTime) map[string]int64 { since = from; return tt.moved }
		watch.look(lostLook{run: "a", counted: counts(100, 100, 7), byHand: byHand})
		gone := watch.look(lostLook{run: "b", counted: counts(0, tt.left, 9), byHand: byHand})
		if got := fmt.Sprint(gone); got != tt.want || since != 7 {
			t.Errorf("%s: %s since %d, want %s since 7", name, got, since, tt.want)
		}
	}
}

// A reload may lead to another Redis, which has never had the jobs.
func TestAnotherRedisHasLostNothing(t *testing.T) {
	counts := func(pool int64) map[string]queue.DepthsRead {
		return map[string]queue.DepthsRead{"mail": {Depths: queue.Depths{Pool: pool}}}
	}
	var watch lostWatch
	watch.look(lostLook{where: "one", run: "a", counted: counts(300), byHand: nobody})
	for range 2 {
		if gone := watch.look(lostLook{where: "other", run: "b", counted: counts(0), byHand: nobody}); len(gone) > 0 {
			t.Errorf("missed %+v", gone)
		}
	}
}
