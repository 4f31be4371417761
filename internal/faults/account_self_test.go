package faults

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// at is so many milliseconds past noon.
func at(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

func ran(who string, from, to int, verdict string) run {
	return run{who: who, pid: 7, start: at(from), end: at(to), verdict: verdict}
}

func cutRun(who string, from int) run { return run{who: who, pid: 7, start: at(from)} }

func TestTheAccountsTellWhatBecameOfAJob(t *testing.T) {
	killed := mark{effect: sidecarKilled, who: "a", from: at(15), to: at(16)}
	tests := map[string]struct {
		job   job
		runs  []run
		dead  int
		marks []mark
		other evidence // left, forgotten, oldLoses
		want  account
		fault string
	}{
		"done":                        {runs: []run{ran("a", 0, 10, "done")}, want: account{Done: 1, Runs: 1}},
		"done at the second run":      {runs: []run{cutRun("a", 0), ran("b", 20, 30, "done")}, want: account{Done: 1, Runs: 2}},
		"never ran":                   {want: account{Lost: 1}, fault: "is lost: never ran"},
		"never reached Redis":         {job: job{fate: "unsure"}, want: account{Jobs: -1}},
		"its last run never ended":    {runs: []run{cutRun("a", 0)}, want: account{Lost: 1, Runs: 1}, fault: "is lost"},
		"its last run failed":         {runs: []run{ran("a", 0, 1, "failed")}, want: account{Lost: 1, Runs: 1}, fault: "is lost"},
		"Redis forgot it":             {other: evidence{forgotten: map[string]bool{"j": true}}, want: account{Forgotten: 1}},
		"it is still there":           {other: evidence{left: map[string]bool{"j": true}}, fault: "left in the keys"},
		"dead as it should":           {job: job{fate: fateFail}, dead: 1, want: account{Dead: 1}},
		"dead and should not":         {dead: 1, fault: "wanted done"},
		"done and dead":               {runs: []run{ran("a", 0, 1, "done")}, dead: 1, want: account{Runs: 1}, fault: "done and in dead"},
		"twice, and a kill explains":  {runs: []run{ran("a", 0, 10, "done"), ran("b", 20, 30, "done")}, marks: []mark{killed}, want: account{Done: 1, Runs: 2, Doubled: 1, Explained: map[string]int{"sidecar killed": 1}}},
		"twice, and nothing explains": {runs: []run{ran("b", 0, 10, "done"), ran("a", 20, 30, "done")}, marks: []mark{killed}, want: account{Done: 1, Runs: 2, Doubled: 1}, fault: "nothing explains it"},
		"thrice, one explained":       {runs: []run{ran("a", 0, 10, "done"), ran("b", 20, 30, "done"), ran("b", 40, 50, "done")}, marks: []mark{killed}, want: account{Done: 1, Runs: 3, Doubled: 1}, fault: "nothing explains it"},
		"buried twice":                {job: job{fate: fateReject}, dead: 2, runs: []run{ran("b", 0, 10, "rejected"), ran("b", 20, 30, "rejected")}, want: account{Dead: 1, Runs: 2, Doubled: 1}, fault: "nothing explains it"},
		"two records of one run":      {job: job{fate: fateReject}, dead: 2, runs: []run{ran("b", 0, 10, "rejected")}, want: account{Dead: 1, Runs: 1, Doubled: 1}, fault: "nothing explains it"},
		"twice by the old consumer":   {job: job{topic: topicShared}, runs: []run{ran(old, 0, 10, "done"), ran("a", 20, 30, "done")}, want: account{Done: 1, Runs: 1, OldRuns: 1, OldTwo: 1}},
		"dead by the old consumer":    {job: job{topic: topicShared, fate: fateReject}, dead: 1, runs: []run{ran(old, 0, 10, "done"), ran("a", 20, 30, "rejected")}, want: account{Done: 1, Runs: 1, OldRuns: 1, OldTwo: 1}},
		"lost by the old consumer":    {job: job{topic: topicShared}, runs: []run{cutRun(old, 0)}, want: account{OldRuns: 1, OldLost: 1}},
		"lost by ours beside it":      {job: job{topic: topicShared}, runs: []run{cutRun(old, 0), cutRun("a", 5)}, want: account{OldRuns: 1, Runs: 1, Lost: 1}, fault: "is lost"},
		"lost by its scripts":         {job: job{topic: topicShared}, other: evidence{oldLoses: true}, want: account{OldLost: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := job{uuid: "j", topic: topicWorker, fate: fateDone, sure: test.job.fate != "unsure"}
			if test.job.topic != "" {
				j.topic = test.job.topic
			}
			if test.job.fate != "" {
				j.fate = test.job.fate
			}
			e := test.other
			e.written, e.marks = map[string]job{"j": j}, test.marks
			if test.runs != nil {
				e.runs = map[string][]run{"j": test.runs}
			}
			if test.dead > 0 {
				e.dead = map[string]int{"j": test.dead}
			}
			got, want := settleAccounts(e), test.want
			want.Jobs++
			if !maps.Equal(got.Explained, want.Explained) {
				t.Errorf("explained %v, want %v", got.Explained, want.Explained)
			}
			if test.fault == "" != (len(got.Faults) == 0) || !strings.Contains(strings.Join(got.Faults, "\n"), test.fault) {
				t.Errorf("faults %q, want %q", got.Faults, test.fault)
			}
			got.Faults, got.Explained, want.Explained = nil, nil, nil
			if gotText, wantText := (outcome{account: got}).row(), (outcome{account: want}).row(); gotText != wantText || got.OldLost != want.OldLost || got.OldTwo != want.OldTwo || got.OldRuns != want.OldRuns {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestARunOfAJobThatNobodyWroteIsAFault(t *testing.T) {
	a := settleAccounts(evidence{runs: map[string][]run{"x": {ran("a", 0, 1, "done")}}, dead: map[string]int{"y": 1}})
	if len(a.Faults) != 2 {
		t.Errorf("faults %q, want one for x and one for y", a.Faults)
	}
}

func TestOnlyWhatHitTheRunExplainsIt(t *testing.T) {
	r := ran("a", 1000, 1010, "done")
	for name, test := range map[string]struct {
		mark mark
		want bool
	}{
		"its sidecar was killed after it":             {mark{effect: sidecarKilled, who: "a", from: at(1012), to: at(1013)}, true},
		"the other one was":                           {mark{effect: sidecarKilled, who: "b", from: at(1012), to: at(1013)}, false},
		"long after it":                               {mark{effect: sidecarKilled, who: "a", from: at(2500), to: at(2501)}, false},
		"before it":                                   {mark{effect: sidecarKilled, who: "a", from: at(990), to: at(999)}, false},
		"frozen until right before it":                {mark{effect: sidecarFrozen, who: "a", from: at(990), to: at(999)}, true},
		"frozen until long before it":                 {mark{effect: sidecarFrozen, who: "a", from: at(990), to: at(-1010)}, false},
		"frozen from before it until now":             {mark{effect: sidecarFrozen, who: "a", from: at(990)}, true},
		"its child was killed":                        {mark{effect: childKilled, pid: 7, from: at(1005), to: at(1005)}, true},
		"another child was":                           {mark{effect: childKilled, pid: 8, from: at(1005), to: at(1005)}, false},
		"FPM was gone":                                {mark{effect: fpmGone, from: at(1005), to: at(1100)}, true},
		"Redis was away from both":                    {mark{effect: redisAway, from: at(1005), to: at(1100)}, true},
		"Redis was away from the other one":           {mark{effect: redisAway, who: "b", from: at(1005), to: at(1100)}, false},
		"nothing known of an effect explains nothing": {mark{who: "a", from: at(1005), to: at(1100)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.mark.explains(r); got != test.want {
				t.Errorf("explains = %t, want %t", got, test.want)
			}
			byOld := r
			byOld.who = old
			if test.mark.explains(byOld) {
				t.Error("it explains a run of the old consumer's, which no fault of ours is to excuse")
			}
		})
	}
}

func TestOutagesThatNobodyCouldBreatheBetweenAreOne(t *testing.T) {
	for name, test := range map[string]struct {
		outages [][2]int // from, to
		from    int      // of the last series
		takes   bool
	}{
		"a short one":               {[][2]int{{0, 400}}, 0, false},
		"a long one":                {[][2]int{{0, 1000}}, 0, true},
		"short ones close together": {[][2]int{{0, 400}, {600, 900}, {1100, 1500}}, 0, true},
		"two that are not enough":   {[][2]int{{0, 300}, {500, 900}}, 0, false},
		"time to renew in between":  {[][2]int{{0, 400}, {1150, 1500}}, 1150, false},
		"within one another":        {[][2]int{{100, 300}, {0, 400}}, 100, false},
	} {
		t.Run(name, func(t *testing.T) {
			var got series
			for _, o := range test.outages {
				got = got.with(at(o[0]), at(o[1]))
			}
			if !got.from.Equal(at(test.from)) || got.takesLeases() != test.takes {
				t.Errorf("the series begins at %s and takes leases %t, want %s and %t", got.from, got.takesLeases(), at(test.from), test.takes)
			}
		})
	}
}

func TestTheLedgerPairsStartsAndEnds(t *testing.T) {
	dir := t.TempDir()
	l := newLedger(t, dir+"/ledger", dir+"/old")
	write := func(name, text string) { appendTo(t, dir+"/"+name, text) }
	write("ledger", "S j a 7 1000 0 0\nS k b 8 1500 1 0\nE j a 7 10")
	if open := l.running(); len(open) != 0 { // they are of 1970
		t.Errorf("running: %v", open)
	}
	write("ledger", "00 2000 done\nS j b 8 5000 0 1\n")
	write("old.11", "S j 3.5 0 11\nE j 4.5 11\nS k 9.0 0 11\n")
	runs := l.byJob()
	if len(runs["j"]) != 3 || len(runs["k"]) != 2 {
		t.Fatalf("runs %v", runs)
	}
	first, second, third := runs["j"][0], runs["j"][1], runs["j"][2]
	if !first.done() || first.who != "a" || first.end.Sub(first.start) != time.Millisecond {
		t.Errorf("the first run is %+v", first)
	}
	if !second.done() || second.who != old || third.verdict != "" || third.who != "b" {
		t.Errorf("the others are %+v and %+v", second, third)
	}
	if at, ok := l.firstStart("b", time.UnixMicro(1600)); !ok || !at.Equal(time.UnixMicro(5000)) {
		t.Errorf("first start of b after 1.6 ms: %v, %t", at, ok)
	}
	if _, ok := l.firstStart("a", time.UnixMicro(1000)); ok {
		t.Error("a starts nothing after 1 ms")
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
