package faults

import (
	"fmt"
	"slices"
	"strings"
)

// evidence is all that is known at the end of a run of the harness.
type evidence struct {
	written   map[string]job   // by uuid
	runs      map[string][]run // by uuid, in the order of their starts
	dead      map[string]int   // records in dead, by uuid
	left      map[string]bool  // in pool, ready or running, by uuid
	forgotten map[string]bool  // by Redis, by uuid
	marks     []mark
	oldLoses  bool // the old scripts lose jobs without a trace under this fault
}

// account is what became of the jobs of one kind of fault.
type account struct {
	Jobs      int            `json:"jobs"`      // written for certain, or seen
	Runs      int            `json:"runs"`      // of the sidecars
	Done      int            `json:"done"`      // jobs that were done, at least once
	Dead      int            `json:"dead"`      // jobs in dead that belong there
	Lost      int            `json:"lost"`      // jobs in no key that nobody reported done
	Doubled   int            `json:"doubled"`   // jobs that were done more than once, or have more than one dead record
	Explained map[string]int `json:"explained"` // of these, by what explains them
	Forgotten int            `json:"forgotten"` // jobs that Redis forgot and nobody had run

	OldRuns int `json:"old_runs"` // runs of the old consumer, on the topic it shares
	OldLost int `json:"old_lost"` // jobs it had last, or its scripts lost
	OldTwo  int `json:"old_doubled"`

	Faults []string `json:"faults,omitempty"` // what must not be: each loss, each double that nothing explains, each job in the wrong place
}

// settleAccounts tells for every job what became of it.
func settleAccounts(e evidence) account {
	a := account{Explained: make(map[string]int)}
	for _, runs := range e.runs {
		for _, r := range runs {
			if r.who == old {
				a.OldRuns++
			} else {
				a.Runs++
			}
		}
	}
	for uuid, j := range e.written {
		a.add(e, j, e.runs[uuid], e.dead[uuid])
	}
	for _, uuid := range strangers(e) {
		a.fault("%s: was never written", uuid)
	}
	slices.Sort(a.Faults)
	return a
}

func (a *account) fault(format string, args ...any) {
	a.Faults = append(a.Faults, fmt.Sprintf(format, args...))
}

// add accounts for one job.
func (a *account) add(e evidence, j job, runs []run, dead int) {
	done := slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return !r.done() })
	if !j.sure && len(runs) == 0 && dead == 0 && !e.left[j.uuid] {
		return // it never reached Redis
	}
	a.Jobs++
	switch {
	case len(done) > 0 && dead > 0 && slices.ContainsFunc(done, func(r run) bool { return r.who == old }):
		a.Done++ // its ZREM failed, which it took for a failure of the job
		a.OldTwo++
	case len(done) > 0 && dead > 0:
		a.fault("%s is done and in dead: %s", j.uuid, history(runs))
	case len(done) > 0:
		a.Done++
		a.doubles(e, j, done, runs)
	case dead > 0 && j.dies():
		a.Dead++
		a.records(e, j, dead, runs)
	case dead > 0:
		a.fault("%s is in dead, wanted done: %s", j.uuid, history(runs))
	case e.left[j.uuid]:
		a.fault("%s was left in the keys: %s", j.uuid, history(runs))
	case e.forgotten[j.uuid]:
		a.Forgotten++
	default:
		a.lost(e, j, runs)
	}
}

// lost tells whose loss it is. The old consumer loses what fails between two commands; then its run is the last.
func (a *account) lost(e evidence, j job, runs []run) {
	if j.topic == topicShared && (e.oldLoses || len(runs) > 0 && runs[len(runs)-1].who == old) {
		a.OldLost++
		return
	}
	a.Lost++
	a.fault("%s is lost: %s", j.uuid, history(runs))
}

// doubles has every end but the last explained by what hit the one who ran it.
func (a *account) doubles(e evidence, j job, ends, runs []run) {
	if len(ends) < 2 {
		return
	}
	why := ""
	for _, r := range ends[:len(ends)-1] {
		if r.who == old { // it settles without looking at leases, and forgets what it has done
			a.OldTwo++
			return
		}
		i := slices.IndexFunc(e.marks, func(m mark) bool { return m.explains(r) })
		if i < 0 {
			a.Doubled++
			a.fault("%s ended %d times and nothing explains it: %s", j.uuid, len(ends), history(runs))
			return
		}
		why = e.marks[i].effect.String()
	}
	a.Doubled++
	a.Explained[why]++
}

// records accounts for a job with more dead records than one: each but the last needs a run, and that an explanation.
func (a *account) records(e evidence, j job, dead int, runs []run) {
	ends := buried(runs)
	switch {
	case dead == 1:
	case dead > len(ends):
		a.Doubled++
		a.fault("%s is in dead %d times and nothing explains it: %s", j.uuid, dead, history(runs))
	default:
		a.doubles(e, j, ends, runs)
	}
}

// buried are the runs after which a job goes to dead.
func buried(runs []run) []run {
	var last []run
	for _, r := range runs {
		if r.verdict == "rejected" || r.verdict == "failed" && r.retry >= lastTry {
			last = append(last, r)
		}
	}
	return last
}

// strangers are the jobs that have a run or a record and that nobody wrote.
func strangers(e evidence) []string {
	var list []string
	for uuid := range e.runs {
		if _, ok := e.written[uuid]; !ok {
			list = append(list, uuid)
		}
	}
	for uuid := range e.dead {
		if _, ok := e.written[uuid]; !ok {
			list = append(list, uuid)
		}
	}
	return list
}

// history is the runs of a job in one line.
func history(runs []run) string {
	if len(runs) == 0 {
		return "never ran"
	}
	parts := make([]string, len(runs))
	for i, r := range runs {
		end := "never ended"
		if r.verdict != "" {
			end = r.verdict + " after " + r.end.Sub(r.start).String()
		}
		parts[i] = fmt.Sprintf("%s %s pid %d retry %d %s", r.start.Format("15:04:05.000"), r.who, r.pid, r.retry, end)
	}
	return strings.Join(parts, "; ")
}
